#include "controller/validate/validation.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

/// Of one number per episode, on each of so many start graphs in turn.
Gains gains_of(const std::vector<double>& values, int starts) {
  Gains gains{values, mean(values), {values.begin(), values.begin() + starts}};
  for (size_t i = 0; i < values.size(); ++i) {
    double& best = gains.best[i % gains.best.size()];
    best = std::max(best, values[i]);
  }
  return gains;
}

}  // namespace

double Gains::mean_of_best() const { return reverie::mean(best); }

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
  if (measure) {
    result.measured = gains_of(measured, starts);
    for (size_t i = 0; i < static_cast<size_t>(starts); ++i) {
      size_t fastest = i;
      for (size_t b = i; b < measured.size(); b += static_cast<size_t>(starts))
        if (measured[b] > measured[fastest]) fastest = b;
      result.fastest.push_back(live.environment(static_cast<int>(fastest)).fork());
    }
  }
  result.mean_return = rollout.returns().mean().item<double>();
  counters += live.counters();
  return result;
}

RealJudge::RealJudge(std::shared_ptr<Environment> environment, std::shared_ptr<Encoder> encoder,
                     std::shared_ptr<WorldModel> world, const ValidationConfig& config,
                     uint64_t seed, std::shared_ptr<const Environment> known)
    : environment_(std::move(environment)),
      encoder_(std::move(encoder)),
      world_(std::move(world)),
      config_(config),
      seed_(seed),
      known_(std::move(known)) {
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

ValidationScore RealJudge::score_of(const RealEpisodes& greedy, const RealEpisodes& sampled) {
  const auto judged_by = measures() ? &RealEpisodes::measured : &RealEpisodes::improvement;
  const Gains& one = greedy.*judged_by;
  const Gains& other = sampled.*judged_by;
  ValidationScore score;
  score.average = (one.mean + other.mean) / 2;
  if (environment_->spec().stochastic) {
    score.repeats = one.episodes;
    score.repeats.insert(score.repeats.end(), other.episodes.begin(), other.episodes.end());
    score.found = score.average;
    return score;
  }
  Gains both = one;
  for (size_t i = 0; i < both.best.size(); ++i)
    both.best[i] = std::max(both.best[i], other.best[i]);
  score.found = both.mean_of_best();
  if (!measures()) return score;
  score.repeats = measured_anew(greedy, sampled);
  score.found = median(score.repeats);
  return score;
}

std::vector<double> RealJudge::measured_anew(const RealEpisodes& greedy,
                                             const RealEpisodes& sampled) {
  std::vector<double> repeats(kRepeats, 0);
  for (size_t i = 0; i < greedy.fastest.size(); ++i) {
    const bool by_sampled = sampled.measured.best[i] > greedy.measured.best[i];
    const Environment& fastest = *(by_sampled ? sampled : greedy).fastest[i];
    const std::vector<double> gains = fastest.measured_gains(kRepeats);
    for (size_t k = 0; k < repeats.size(); ++k)
      repeats[k] += gains[k] / static_cast<double>(greedy.fastest.size());
    counters_ += fastest.counters();
  }
  return repeats;
}

Validation RealJudge::validate(Policy& policy, int64_t update) {
  const EnvSpec& spec = environment_->spec();
  Rng rng = Rng(seed_).fork(spec.stochastic ? 0 : static_cast<uint64_t>(update));
  const auto play = [&](bool greedily, int64_t episodes) {
    return play_for_real(*environment_, encoder_, world_, policy, greedily, episodes, measures(),
                         rng, counters_);
  };
  const RealEpisodes greedy = play(true, 1);
  Validation result{
      {}, {{"greedy_improvement", greedy.improvement.mean}, {"greedy_return", greedy.mean_return}}};
  if (measures()) result.metrics.emplace_back("greedy_measured", greedy.measured.mean);
  std::optional<RealEpisodes> sampled;
  if (config_.sampled > 0) {
    sampled = play(false, config_.sampled);
    result.metrics.emplace_back("sampled_return", sampled->mean_return);
    result.metrics.emplace_back("sampled_improvement", sampled->improvement.mean);
    result.metrics.emplace_back("sampled_best_improvement", sampled->improvement.mean_of_best());
    if (measures()) {
      result.metrics.emplace_back("sampled_measured", sampled->measured.mean);
      result.metrics.emplace_back("sampled_best_measured", sampled->measured.mean_of_best());
    }
  }
  result.score = score_of(greedy, sampled ? *sampled : greedy);
  if (config_.dreams == 0) return result;
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < config_.dreams; ++i) seeds.push_back(static_cast<uint64_t>(i));
  const DreamCheck check = check_dream(*encoder_, *world_, policy, *environment_, seeds, false,
                                       config_.temperature, rng, counters_, known_.get());
  for (const auto& metric : check.metrics()) result.metrics.push_back(metric);
  return result;
}

PolicyJudge RealJudge::judge() {
  return {[this](Policy& policy, int64_t update) { return validate(policy, update); },
          [this] { return counters_; }};
}

}  // namespace reverie
