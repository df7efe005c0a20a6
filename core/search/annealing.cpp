#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/search/search_run.h"

namespace reverie {
namespace {

/// How many locations each rule has, for drawing one of all.
class LocationTable {
 public:
  void count(const RewriteState& state) {
    counts_.clear();
    total_ = 0;
    for (int rule = 0; rule < state.rules().size(); ++rule) {
      counts_.push_back(state.location_count(rule));
      total_ += counts_.back();
    }
  }
  int64_t total() const { return total_; }
  RewriteStep draw(Rng& rng) const {
    auto left = static_cast<int64_t>(rng.below(static_cast<uint64_t>(total_)));
    int rule = 0;
    while (left >= counts_[static_cast<size_t>(rule)])
      left -= counts_[static_cast<size_t>(rule++)];
    return {rule, static_cast<int>(left)};
  }

 private:
  std::vector<int> counts_;
  int64_t total_ = 0;
};

struct Schedule {
  double hot = 0;  ///< picoseconds
  double cooling = 0;
  int64_t moves = 0;
  double temperature(int64_t move) const {
    return hot * std::exp(cooling * static_cast<double>(move));
  }
};

Schedule schedule_for(const SearchRun& run) {
  const AnnealingOptions& options = run.options().annealing;
  LocationTable table;
  table.count(run.start());
  Schedule schedule;
  schedule.hot = options.hot * static_cast<double>(mean_gain(run).count);
  schedule.moves =
      static_cast<int64_t>(std::ceil(options.sweeps * static_cast<double>(table.total())));
  schedule.cooling = std::log(options.cold / options.hot) /
                     static_cast<double>(std::max<int64_t>(schedule.moves - 1, 1));
  return schedule;
}

void anneal(Walk& walk, SearchRun& run, const Schedule& schedule, Rng& rng) {
  LocationTable table;
  table.count(walk.state());
  run.count_expansion();
  for (int64_t move = 0; move < schedule.moves && table.total() > 0; ++move) {
    if (run.out_of_time()) return;
    const RewriteStep step = table.draw(rng);
    const auto change = static_cast<double>(walk.change(step).count);
    if (change > 0 && rng.uniform() >= std::exp(-change / schedule.temperature(move))) continue;
    if (!walk.take(step)) continue;
    table.count(walk.state());
    run.count_expansion();
  }
}

}  // namespace

SearchResult annealing_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  if (options.budget > 0) begin_greedily(run);
  const Schedule schedule = schedule_for(run);
  const std::vector<RewriteStep> path = run.best_path();
  const Rng seeds(options.seed);
  run_walks(run, options.budget - 1, [&](SearchRun& part, int64_t i) {
    Rng rng = seeds.fork(static_cast<uint64_t>(i));
    Walk walk(part);
    if (i % 2 == 1) walk.follow(std::span(path).first(rng.below(path.size() + 1)));
    anneal(walk, part, schedule, rng);
    descend(walk, part);
  });
  if (!run.out_of_time()) run.out_of_budget();
  return run.finish();
}

}  // namespace reverie
