#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/search/algorithms.h"

namespace reverie::search {
namespace {

/// How many moves of each kind there are, for drawing one of all.
class MoveTable {
 public:
  void count(const Problem& state) {
    counts_.clear();
    total_ = 0;
    for (int kind = 0; kind < state.kinds(); ++kind) {
      counts_.push_back(state.moves(kind));
      total_ += counts_.back();
    }
  }
  int64_t total() const { return total_; }
  Move draw(const Problem& state, Rng& rng) const {
    auto left = static_cast<int64_t>(rng.below(static_cast<uint64_t>(total_)));
    int kind = 0;
    while (left >= counts_[static_cast<size_t>(kind)]) left -= counts_[static_cast<size_t>(kind++)];
    return state.move(kind, static_cast<int>(left));
  }

 private:
  std::vector<int> counts_;
  int64_t total_ = 0;
};

struct Schedule {
  double hot = 0;  ///< in the unit of costs
  double cooling = 0;
  int64_t moves = 0;
  double temperature(int64_t move) const {
    return hot * std::exp(cooling * static_cast<double>(move));
  }
};

Schedule schedule_for(const SearchRun& run, const Annealing& options) {
  MoveTable table;
  table.count(run.start());
  Schedule schedule;
  schedule.hot = options.hot * mean_gain(run);
  schedule.moves =
      static_cast<int64_t>(std::ceil(options.sweeps * static_cast<double>(table.total())));
  schedule.cooling = std::log(options.cold / options.hot) /
                     static_cast<double>(std::max<int64_t>(schedule.moves - 1, 1));
  return schedule;
}

void anneal(Walk& walk, SearchRun& run, const Schedule& schedule, Rng& rng) {
  MoveTable table;
  table.count(walk.state());
  run.count_expansion();
  for (int64_t move = 0; move < schedule.moves && table.total() > 0; ++move) {
    if (run.out_of_time()) return;
    const Move drawn = table.draw(walk.state(), rng);
    const double change = walk.change(drawn);
    if (change > 0 && rng.uniform() >= std::exp(-change / schedule.temperature(move))) continue;
    if (!walk.take(drawn)) continue;
    table.count(walk.state());
    run.count_expansion();
  }
}

/// Of some moves of the state, the median size of those that change anything; 1 where none does.
double typical_change(Walk& walk, SearchRun& run, Rng& rng) {
  constexpr int kTypical = 64;
  MoveTable table;
  table.count(walk.state());
  std::vector<double> changes{1};
  for (int i = 0; i < kTypical && table.total() > 0 && !run.out_of_time(); ++i)
    if (const double change = walk.change(table.draw(walk.state(), rng)); change != 0)
      changes.push_back(std::abs(change));
  std::ranges::nth_element(changes, changes.begin() + std::ssize(changes) / 2);
  return changes[changes.size() / 2];
}

/// One chain that lasts as long as there is time.
void anneal_once(SearchRun& run, const Annealing& options) {
  if (run.options().time_limit <= 0)
    throw InputError("annealing.sweeps=0: one chain needs a time limit, which it lasts");
  Rng rng(run.options().seed);
  Walk walk(run);
  const double hot = options.hot * typical_change(walk, run, rng);
  MoveTable table;
  table.count(walk.state());
  while (!run.out_of_time() && table.total() > 0) {
    const double used = run.elapsed() / run.options().time_limit;
    const double temperature = hot * std::pow(options.cold / options.hot, used);
    const Move move = table.draw(walk.state(), rng);
    const double change = walk.change(move);
    if (change > 0 && rng.uniform() >= std::exp(-change / temperature)) continue;
    if (!walk.take(move)) continue;
    table.count(walk.state());
    run.count_expansion();
  }
}

}  // namespace

void Annealing::operator()(SearchRun& run) const {
  if (sweeps == 0) return anneal_once(run, *this);
  const SearchOptions& options = run.options();
  if (options.budget > 0) begin_greedily(run);
  const Schedule schedule = schedule_for(run, *this);
  const std::vector<Move> path = run.best_path().moves();
  const Rng seeds(options.seed);
  run_walks(run, options.budget - 1, [&](SearchRun& part, int64_t i) {
    Rng rng = seeds.fork(static_cast<uint64_t>(i));
    Walk walk(part);
    if (i % 2 == 1) walk.follow(std::span(path).first(rng.below(path.size() + 1)));
    anneal(walk, part, schedule, rng);
    descend(walk, part);
  });
  if (!run.out_of_time()) run.out_of_budget();
}

}  // namespace reverie::search
