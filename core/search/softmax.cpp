#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/search/algorithms.h"

namespace reverie {
namespace {

struct Candidates {
  std::vector<Move> moves;
  std::vector<double> changes;
};

/// Nothing when the time is over.
Candidates candidates_of(Walk& walk, SearchRun& run) {
  Candidates found;
  const bool all = for_each_candidate(walk.state(), run, [&](const Move& move) {
    found.moves.push_back(move);
    found.changes.push_back(walk.change(move));
  });
  return all ? found : Candidates{};
}

size_t draw(const std::vector<double>& weights, double sum, Rng& rng) {
  double left = rng.uniform() * sum;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return last;
}

/// Draws until a step is allowed; whether one was.
bool take_one(Walk& walk, const Candidates& candidates, double temperature, Rng& rng) {
  if (candidates.moves.empty()) return false;
  const double least = *std::min_element(candidates.changes.begin(), candidates.changes.end());
  std::vector<double> weights;
  for (const double change : candidates.changes)
    weights.push_back(std::exp((least - change) / temperature));
  for (;;) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum <= 0) return false;
    const size_t drawn = draw(weights, sum, rng);
    if (walk.take(candidates.moves[drawn])) return true;
    weights[drawn] = 0;
  }
}

void sample(SearchRun& run, size_t steps, double temperature, Rng rng) {
  Walk walk(run);
  for (size_t i = 0; i < steps && !run.out_of_time(); ++i) {
    run.count_expansion();
    if (!take_one(walk, candidates_of(walk, run), temperature, rng)) break;
  }
  descend(walk, run);
}

}  // namespace

void run_softmax(SearchRun& run) {
  const SearchOptions& options = run.options();
  if (options.budget > 0) begin_greedily(run);
  const size_t steps = walk_length(run);
  const double temperature = options.softmax.temperature * mean_gain(run);
  const Rng rng(options.seed);
  run_walks(run, options.budget - 1, [&](SearchRun& part, int64_t i) {
    sample(part, steps, temperature, rng.fork(static_cast<uint64_t>(i)));
  });
  if (!run.out_of_time()) run.out_of_budget();
}

}  // namespace reverie
