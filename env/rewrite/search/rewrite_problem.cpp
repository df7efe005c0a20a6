#include "env/rewrite/search/rewrite_problem.h"

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "core/search/algorithms.h"

namespace reverie {
namespace {

const RewriteProblem& rewriting(const Problem& problem) {
  const auto* known = dynamic_cast<const RewriteProblem*>(&problem);
  REVERIE_CHECK(known != nullptr, "a state of another problem");
  return *known;
}

class RankedRewrites : public RankedMoves {
 public:
  explicit RankedRewrites(const RewriteState& state) : next_(state.ranking()) {}

  std::optional<RatedMove> next() override {
    const std::optional<RankedLocation> found = next_();
    if (!found) return std::nullopt;
    return RatedMove{{found->rule, found->index}, static_cast<double>(found->change.count)};
  }

 private:
  std::function<std::optional<RankedLocation>()> next_;
};

SearchRun::OnState listener(const RewriteSearchOptions& options) {
  if (!options.on_state) return nullptr;
  return [&options](const Problem& state, const Path& path) {
    options.on_state(rewrite_state(state), steps_of(path));
  };
}

}  // namespace

int64_t most_weight_bytes(const Graph& original, double growth) {
  constexpr auto kNoLimit = std::numeric_limits<int64_t>::max();
  const double most = std::floor(static_cast<double>(original.weight_bytes()) * growth);
  return growth > 0 && most < static_cast<double>(kNoLimit) ? static_cast<int64_t>(most) : kNoLimit;
}

RewriteProblem::RewriteProblem(RewriteState start, const RewriteSearchOptions& options)
    : state_(std::move(start)),
      classes_(options.classes),
      bounded_(options.max_weight_growth > 0),
      weight_bytes_(state_.graph().weight_bytes()) {
  weight_limit_ = most_weight_bytes(state_.graph(), options.max_weight_growth);
}

/// Lists of matches stay behind: they may outlive the other's steps.
RewriteProblem::RewriteProblem(const RewriteProblem& other)
    : Problem(other),
      state_(other.state_),
      classes_(other.classes_),
      bounded_(other.bounded_),
      weight_limit_(other.weight_limit_),
      weight_bytes_(other.weight_bytes_) {}

std::unique_ptr<Problem> RewriteProblem::copy() const {
  return std::make_unique<RewriteProblem>(*this);
}

int RewriteProblem::candidates(int rule) const {
  listed_ = &state_.locations(rule);  // whoever asks wants to look at all of them
  listed_rule_ = rule;
  return classes_ ? static_cast<int>(state_.classes(rule).size())
                  : static_cast<int>(listed_->size());
}

Move RewriteProblem::candidate(int rule, int i) const {
  return {rule, classes_ ? state_.classes(rule)[static_cast<size_t>(i)].representative() : i};
}

Match RewriteProblem::match(const Move& move) const {
  return listed_rule_ == move.kind ? (*listed_)[static_cast<size_t>(move.index)]
                                   : state_.location(move.kind, move.index);
}

double RewriteProblem::change(const Move& move) const {
  return static_cast<double>(state_.cost_delta(match(move)).runtime.count);
}

std::unique_ptr<RankedMoves> RewriteProblem::ranked() const {
  return classes_ ? nullptr : std::make_unique<RankedRewrites>(state_);
}

bool RewriteProblem::allows(const Move& move) const {
  return !bounded_ ||
         weight_bytes_ + state_.propose(match(move)).weight_bytes_delta <= weight_limit_;
}

bool RewriteProblem::apply(const Move& move) {
  const Rewrite rewrite = state_.propose(match(move));
  if (weight_bytes_ + rewrite.weight_bytes_delta > weight_limit_) return false;
  listed_rule_ = -1;
  state_.commit(rewrite);
  weight_bytes_ += rewrite.weight_bytes_delta;
  return true;
}

std::shared_ptr<const Snapshot> RewriteProblem::snapshot() const {
  return std::make_shared<const GraphSnapshot>(state_.graph(), state_.cost());
}

bool RewriteProblem::is(const Snapshot& snapshot) const {
  return isomorphic(static_cast<const GraphSnapshot&>(snapshot).graph, state_.graph());
}

const RewriteState& rewrite_state(const Problem& problem) { return rewriting(problem).state(); }

std::vector<RewriteStep> steps_of(const Path& path) {
  std::vector<RewriteStep> steps;
  steps.reserve(path.size());
  for (const Move& move : path.moves()) steps.push_back({move.kind, move.index});
  return steps;
}

Path path_of(std::span<const RewriteStep> steps) {
  Path path;
  for (const RewriteStep& step : steps) path.push_back({step.rule, step.location});
  return path;
}

int64_t weight_limit(const SearchRun& run) { return rewriting(run.start()).weight_limit(); }

Graph best_graph(const SearchRun& run) {
  return static_cast<const GraphSnapshot&>(*run.best_state()).graph;
}

void improve_by(SearchRun& run, const Cost& cost, const Graph& graph) {
  run.improve({static_cast<double>(cost.runtime.count),
               {},
               std::make_shared<const GraphSnapshot>(graph, cost)});
}

RewriteRun::RewriteRun(const RewriteState& start, const RewriteSearchOptions& options)
    : SearchRun(std::make_shared<const RewriteProblem>(start, options), options, listener(options)),
      options_(options) {}

void RewriteRun::note(const RewriteState& state, std::span<const RewriteStep> path) {
  const auto cost = static_cast<double>(state.cost().runtime.count);
  if (improves(cost))
    improve(
        {cost, path_of(path), std::make_shared<const GraphSnapshot>(state.graph(), state.cost())});
  if (options_.on_state) options_.on_state(state, path);
}

SearchResult RewriteRun::finish() { return search_result(start(), SearchRun::finish()); }

SearchResult search_result(const Problem& start, SearchOutcome outcome) {
  const Cost initial = rewrite_state(start).cost();
  const auto& best = static_cast<const GraphSnapshot&>(*outcome.best.state);
  REVERIE_CHECK(picoseconds(outcome.best.cost) == best.cost.runtime,
                "the best path costs {} ps by difference, {} ps", outcome.best.cost,
                best.cost.runtime.count);
  SearchResult result{std::move(static_cast<SearchReport&>(outcome)), best.graph, initial,
                      best.cost, steps_of(outcome.best.path)};
  for (const BestState& found : outcome.improvements) {
    Improvement& improvement = result.improvements.emplace_back();
    improvement = {picoseconds(found.cost), found.path, {}};
    if (found.path.empty())
      improvement.graph = static_cast<const GraphSnapshot&>(*found.state).graph;
  }
  return result;
}

SearchResult search_rewrites(const RewriteState& start, const RewriteSearchOptions& options,
                             const Search& search) {
  RewriteRun run(start, options);
  search(run);
  return run.finish();
}

SearchMethod on_rewrites(Search search) {
  return
      [search = std::move(search)](const RewriteState& start, const RewriteSearchOptions& options) {
        return search_rewrites(start, options, search);
      };
}

SearchMethod method_named(const std::string& name, const SolverSettings& settings) {
  const auto* solver = dynamic_cast<const SearchSolver*>(&solver_named(name, "rewrite"));
  REVERIE_CHECK(solver != nullptr, "{} is no search over a Problem", name);
  return on_rewrites(solver->search(settings));
}

RewriteState replay(const RewriteState& start, std::span<const RewriteStep> path) {
  RewriteState state = start;
  for (const RewriteStep& step : path) {
    REVERIE_CHECK_LT(step.location, state.location_count(step.rule));
    state.commit(state.propose(state.location(step.rule, step.location)));
  }
  return state;
}

}  // namespace reverie
