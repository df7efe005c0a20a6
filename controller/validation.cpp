#include "controller/validation.h"

#include <algorithm>

#include "worldmodel/live.h"

namespace reverie {
namespace {

double improvement_percent(const StepInfo& start, const StepInfo& end) {
  return start.cost_ms > 0 ? 100 * (1 - end.best_cost_ms / start.cost_ms) : 0;
}

}  // namespace

RealEpisodes play_for_real(const Environment& environment, std::shared_ptr<Encoder> encoder,
                           std::shared_ptr<WorldModel> world, Policy& policy, bool greedy,
                           int64_t episodes_per_start, Rng& rng, EnvCounters& counters) {
  const int starts = environment.spec().start_states;
  const auto batch = static_cast<int>(episodes_per_start) * starts;
  LiveLatentEnvironment live(environment, std::move(encoder), std::move(world), batch);
  // Seed b of a batch is the first plus b: a multiple of the start graphs visits each in turn.
  const uint64_t seed = rng.below(uint64_t{1} << 32) * static_cast<uint64_t>(starts);
  const LatentObservation start = live.reset(seed);
  std::vector<StepInfo> first;
  for (int b = 0; b < batch; ++b) first.push_back(live.environment(b).info());
  const Rollout rollout = play_from(live, start, policy, greedy, rng);

  RealEpisodes result;
  std::vector<double> best(static_cast<size_t>(starts), -1e300);
  for (int b = 0; b < batch; ++b) {
    const double gain = improvement_percent(first[static_cast<size_t>(b)], live.environment(b).info());
    result.mean_improvement += gain / batch;
    double& of_start = best[static_cast<size_t>(b % starts)];
    of_start = std::max(of_start, gain);
  }
  for (const double gain : best) result.best_improvement += gain / starts;
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

Validation RealJudge::validate(Policy& policy, int64_t update) {
  Rng rng = Rng(seed_).fork(static_cast<uint64_t>(update));
  const RealEpisodes greedy =
      play_for_real(*environment_, encoder_, world_, policy, true, 1, rng, counters_);
  Validation result{greedy.mean_improvement,
                    {{"greedy_improvement", greedy.mean_improvement},
                     {"greedy_return", greedy.mean_return}}};
  if (config_.sampled > 0) {
    const RealEpisodes sampled = play_for_real(*environment_, encoder_, world_, policy, false,
                                               config_.sampled, rng, counters_);
    result.score = (greedy.mean_improvement + sampled.mean_improvement) / 2;
    result.metrics.emplace_back("sampled_return", sampled.mean_return);
    result.metrics.emplace_back("sampled_improvement", sampled.mean_improvement);
    result.metrics.emplace_back("sampled_best_improvement", sampled.best_improvement);
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
