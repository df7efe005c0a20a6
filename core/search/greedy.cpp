#include <algorithm>
#include <utility>

#include "core/search/algorithms.h"

namespace reverie {
namespace {

/// Every move that gains, the one that gains most first.
std::vector<Move> gaining_moves(Walk& walk, SearchRun& run) {
  std::vector<std::pair<double, Move>> found;
  const bool all = for_each_candidate(walk.state(), run, [&](const Move& move) {
    const double change = walk.change(move);
    if (change < 0) found.emplace_back(change, move);
  });
  if (!all) return {};
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Move> moves;
  for (const auto& [change, move] : found) moves.push_back(move);
  return moves;
}

/// Whether the move does not lead from a state that may be a result to one that may not.
bool keeps_feasible(const Problem& state, const Move& move) {
  if (!state.may_be_infeasible() || !state.feasible()) return true;
  const std::unique_ptr<Problem> next = state.copy();
  return !next->apply(move) || next->feasible();
}

/// Takes the first that can be taken of moves in their order, as far as they gain; whether there
/// was one. Counts the candidates that it looked at.
bool take_best(RankedMoves& moves, Walk& walk, SearchRun& run) {
  while (!run.out_of_time()) {
    const std::optional<RatedMove> best = moves.next();
    if (!best) return false;
    run.count_candidate();
    if (!(best->change < 0)) return false;
    if (keeps_feasible(walk.state(), best->move) && walk.take(best->move)) return true;
  }
  return false;
}

/// The same, by a look at every candidate.
bool take_best(Walk& walk, SearchRun& run) {
  const std::vector<Move> moves = gaining_moves(walk, run);
  return std::any_of(moves.begin(), moves.end(), [&](const Move& move) {
    return keeps_feasible(walk.state(), move) && walk.take(move);
  });
}

}  // namespace

void descend(Walk& walk, SearchRun& run) {
  for (bool moved = true; moved && !run.out_of_time();) {
    run.count_expansion();
    const std::unique_ptr<RankedMoves> ranked = walk.state().ranked();
    moved = ranked != nullptr ? take_best(*ranked, walk, run) : take_best(walk, run);
  }
  run.keep_if_best(walk.state(), walk.path());
}

void search::Greedy::operator()(SearchRun& run) const { begin_greedily(run); }

SearchOutcome solve(std::shared_ptr<const Problem> start, const SearchOptions& options,
                    const Search& search) {
  SearchRun run(std::move(start), options);
  search(run);
  return run.finish();
}

}  // namespace reverie
