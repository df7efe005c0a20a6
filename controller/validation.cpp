#include "controller/validation.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "worldmodel/live.h"

namespace reverie {
namespace {

double improvement_percent(const StepInfo& start, const StepInfo& end) {
  return start.cost_ms > 0 ? 100 * (1 - end.best_cost_ms / start.cost_ms) : 0;
}

/// Of one number per episode, on each of so many start graphs in turn: the mean, and the mean over start
/// graphs of the best episode's.
std::pair<double, double> mean_and_best(const std::vector<double>& values, int starts) {
  std::vector<double> best(values.begin(), values.begin() + starts);
  for (size_t i = 0; i < values.size(); ++i) {
    double& of_start = best[i % best.size()];
    of_start = std::max(of_start, values[i]);
  }
  const auto mean = [](const std::vector<double>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  };
  return {mean(values), mean(best)};
}

}  // namespace

RealEpisodes play_for_real(const Environment& environment, std::shared_ptr<Encoder> encoder,
                           std::shared_ptr<WorldModel> world, Policy& policy, bool greedy,
                           int64_t episodes_per_start, bool measure, Rng& rng,
                           EnvCounters& counters) {
  const int starts = environment.spec().start_states;
  const auto batch = static_cast<int>(episodes_per_start) * starts;
  LiveLatentEnvironment live(environment, std::move(encoder), std::move(world), batch);
  // Seed b of a batch is the first plus b: a multiple of the start graphs visits each in turn.
  const uint64_t seed = rng.below(uint64_t{1} << 32) * static_cast<uint64_t>(starts);
  const LatentObservation start = live.reset(seed);
  std::vector<StepInfo> first;
  for (int b = 0; b < batch; ++b) first.push_back(live.environment(b).info());
  const Rollout rollout = play_from(live, start, policy, greedy, rng);

  std::vector<double> gains, measured;
  for (int b = 0; b < batch; ++b) {
    const Environment& played = live.environment(b);
    gains.push_back(improvement_percent(first[static_cast<size_t>(b)], played.info()));
    if (measure) measured.push_back(played.measured_gain());
  }
  RealEpisodes result;
  std::tie(result.mean_improvement, result.best_improvement) = mean_and_best(gains, starts);
  if (measure) std::tie(result.mean_measured, result.best_measured) = mean_and_best(measured, starts);
  result.mean_return = rollout.returns().mean().item<double>();
  counters += live.counters();
  return result;
}

RealJudge::RealJudge(std::shared_ptr<Environment> environment, std::shared_ptr<Encoder> encoder,
                     std::shared_ptr<WorldModel> world, const ValidationConfig& config,
                     uint64_t seed)
    : environment_(std::move(environment)),
      encoder_(std::move(encoder)),
      world_(std::move(world)),
      config_(config),
      seed_(seed) {}

bool RealJudge::measures() const {
  if (config_.measure == MeasureValidation::kAuto)
    return !environment_->spec().deterministic && environment_->measurable();
  return config_.measure == MeasureValidation::kAlways;
}

Validation RealJudge::validate(Policy& policy, int64_t update) {
  Rng rng = Rng(seed_).fork(static_cast<uint64_t>(update));
  const RealEpisodes greedy =
      play_for_real(*environment_, encoder_, world_, policy, true, 1, measures(), rng, counters_);
  Validation result{measures() ? greedy.mean_measured : greedy.mean_improvement,
                    {{"greedy_improvement", greedy.mean_improvement},
                     {"greedy_return", greedy.mean_return}}};
  if (measures()) result.metrics.emplace_back("greedy_measured", greedy.mean_measured);
  if (config_.sampled > 0) {
    const RealEpisodes sampled = play_for_real(*environment_, encoder_, world_, policy, false,
                                               config_.sampled, measures(), rng, counters_);
    result.score = (result.score + (measures() ? sampled.mean_measured : sampled.mean_improvement)) / 2;
    result.metrics.emplace_back("sampled_return", sampled.mean_return);
    result.metrics.emplace_back("sampled_improvement", sampled.mean_improvement);
    result.metrics.emplace_back("sampled_best_improvement", sampled.best_improvement);
    if (measures()) {
      result.metrics.emplace_back("sampled_measured", sampled.mean_measured);
      result.metrics.emplace_back("sampled_best_measured", sampled.best_measured);
    }
  }
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < config_.dreams; ++i) seeds.push_back(static_cast<uint64_t>(i));
  const DreamCheck check = check_dream(*encoder_, *world_, policy, *environment_, seeds, false,
                                       config_.temperature, rng, counters_);
  for (const auto& metric : check.metrics()) result.metrics.push_back(metric);
  return result;
}

Judge RealJudge::judge() {
  return {[this](Policy& policy, int64_t update) { return validate(policy, update); },
          [this] { return counters_; }};
}

}  // namespace reverie
