#include "controller/validate/validation.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of one number per episode, on each of so many start graphs in turn.
Gains gains_of(const std::vector<double>& values, int starts) {
  Gains gains{mean_of(values), {values.begin(), values.begin() + starts}};
  for (size_t i = 0; i < values.size(); ++i) {
    double& best = gains.best[i % gains.best.size()];
    best = std::max(best, values[i]);
  }
  return gains;
}

ValidationScore score_of(const EnvSpec& spec, const Gains& greedy, const Gains& sampled) {
  const double average = (greedy.mean + sampled.mean) / 2;
  if (spec.stochastic) return {average, average};
  Gains both = greedy;
  for (size_t i = 0; i < both.best.size(); ++i)
    both.best[i] = std::max(both.best[i], sampled.best[i]);
  return {both.mean_of_best(), average};
}

}  // namespace

double Gains::mean_of_best() const { return mean_of(best); }

RealEpisodes play_for_real(const Environment& environment, std::shared_ptr<Encoder> encoder,
                           std::shared_ptr<WorldModel> world, Policy& policy, bool greedy,
                           int64_t episodes_per_start, bool measure, Rng& rng,
                           EnvCounters& counters) {
  const int starts = environment.spec().start_states();
  const auto batch = static_cast<int>(episodes_per_start) * starts;
  LiveLatentEnvironment live(environment, std::move(encoder), std::move(world), batch);
  // Seed b of a batch is the first plus b: a multiple of the start graphs visits each in turn.
  const uint64_t seed = rng.below(uint64_t{1} << 32) * static_cast<uint64_t>(starts);
  const LatentObservation start = live.reset(seed);
  const EnvSpec& spec = environment.spec();
  std::vector<double> first;
  for (int b = 0; b < batch; ++b) first.push_back(live.environment(b).info().objective(spec));
  const Rollout rollout = play_from(live, start, policy, greedy, rng);

  std::vector<double> gains, measured;
  for (int b = 0; b < batch; ++b) {
    const Environment& played = live.environment(b);
    gains.push_back(spec.improvement_percent(first[static_cast<size_t>(b)], played.info().best));
    if (measure) measured.push_back(played.measured_gain());
  }
  RealEpisodes result;
  result.improvement = gains_of(gains, starts);
  if (measure) result.measured = gains_of(measured, starts);
  result.mean_return = rollout.returns().mean().item<double>();
  counters += live.counters();
  return result;
}

RealJudge::RealJudge(std::shared_ptr<Environment> environment, std::shared_ptr<Encoder> encoder,
                     std::shared_ptr<WorldModel> world, const ValidationConfig& config,
                     uint64_t seed, bool in_grey_box)
    : environment_(std::move(environment)),
      encoder_(std::move(encoder)),
      world_(std::move(world)),
      config_(config),
      seed_(seed),
      in_grey_box_(in_grey_box) {
  if (config_.measure == Measuring::kAlways && !environment_->spec().measurable)
    throw InputError(
        "validation.measure=always: the environment '{}' has nothing that can be measured end to "
        "end",
        environment_->spec().name);
}

bool RealJudge::measures() const {
  if (config_.measure == Measuring::kAuto)
    return !environment_->spec().deterministic && environment_->spec().measurable;
  return config_.measure == Measuring::kAlways;
}

Validation RealJudge::validate(Policy& policy, int64_t update) {
  Rng rng = Rng(seed_).fork(static_cast<uint64_t>(update));
  const RealEpisodes greedy =
      play_for_real(*environment_, encoder_, world_, policy, true, 1, measures(), rng, counters_);
  const EnvSpec& spec = environment_->spec();
  const auto judged_by = measures() ? &RealEpisodes::measured : &RealEpisodes::improvement;
  Validation result{
      score_of(spec, greedy.*judged_by, greedy.*judged_by),
      {{"greedy_improvement", greedy.improvement.mean}, {"greedy_return", greedy.mean_return}}};
  if (measures()) result.metrics.emplace_back("greedy_measured", greedy.measured.mean);
  if (config_.sampled > 0) {
    const RealEpisodes sampled = play_for_real(*environment_, encoder_, world_, policy, false,
                                               config_.sampled, measures(), rng, counters_);
    result.score = score_of(spec, greedy.*judged_by, sampled.*judged_by);
    result.metrics.emplace_back("sampled_return", sampled.mean_return);
    result.metrics.emplace_back("sampled_improvement", sampled.improvement.mean);
    result.metrics.emplace_back("sampled_best_improvement", sampled.improvement.mean_of_best());
    if (measures()) {
      result.metrics.emplace_back("sampled_measured", sampled.measured.mean);
      result.metrics.emplace_back("sampled_best_measured", sampled.measured.mean_of_best());
    }
  }
  if (config_.dreams == 0) return result;
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < config_.dreams; ++i) seeds.push_back(static_cast<uint64_t>(i));
  const DreamCheck check = check_dream(*encoder_, *world_, policy, *environment_, seeds, false,
                                       config_.temperature, rng, counters_, in_grey_box_);
  for (const auto& metric : check.metrics()) result.metrics.push_back(metric);
  return result;
}

PolicyJudge RealJudge::judge() {
  return {[this](Policy& policy, int64_t update) { return validate(policy, update); },
          [this] { return counters_; }};
}

}  // namespace reverie
