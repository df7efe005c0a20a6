#include "controller/evaluate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/train/rollout.h"
#include "core/base/stopwatch.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

constexpr char kSampled[] = "policy (sampled)";
constexpr int64_t kEpisodesAtOnce = 16;

/// One run of a policy.
class PolicyRun {
 public:
  PolicyRun(const EvaluationCase& start, const TrainedPolicy& policy, uint64_t seed)
      : start_(start), policy_(policy), environment_(start.make()), rng_(seed) {
    result_.best = environment_->spec().worst();
  }

  MethodResult play(bool greedy, int64_t episodes) {
    for (int64_t left = episodes; left > 0; left -= kEpisodesAtOnce)
      play_batch(static_cast<int>(std::min(left, kEpisodesAtOnce)), greedy);
    result_.candidates = result_.work.steps;
    result_.seconds = watch_.seconds();
    return std::move(result_);
  }

 private:
  void play_batch(int batch, bool greedy) {
    torch::NoGradGuard no_grad;
    LiveLatentEnvironment live(*environment_, policy_.encoder, policy_.world, batch, 1);
    LatentObservation observation = live.reset(rng_.bits() >> 1);
    auto ended = torch::zeros({batch}, torch::kBool);
    const Environment* best = look(live, ended, nullptr);
    while (!ended.all().item<bool>()) {
      const LatentStep step = live.step(policy_.policy->act(observation, greedy, rng_).actions);
      observation = live.observe();
      best = look(live, ended, best);
      ended = (step.terminated | step.truncated).to(torch::kCPU);
    }
    if (best != nullptr) result_.solution = start_.solution(*best);
    result_.work += live.counters();
  }

  /// Looks at the episodes that had not ended. The one that holds the best state, once it is of
  /// this batch.
  const Environment* look(const LiveLatentEnvironment& live, const torch::Tensor& ended,
                          const Environment* best) {
    const EnvSpec& spec = environment_->spec();
    for (int b = 0; b < live.batch(); ++b) {
      if (ended[b].item<bool>()) continue;
      const StepInfo info = live.environment(b).info();
      if (!info.feasible || !spec.better(info.objective(spec), result_.best)) continue;
      result_.best = info.objective(spec);
      result_.metrics = info.metrics;
      result_.trace.push_back({watch_.seconds(), result_.best});
      best = &live.environment(b);
    }
    return best;
  }

  Stopwatch watch_;
  const EvaluationCase& start_;
  const TrainedPolicy& policy_;
  std::unique_ptr<Environment> environment_;
  Rng rng_;
  MethodResult result_;
};

EvaluationMethod no_op(const EvaluationCase& start) {
  EvaluationMethod method;
  method.name = "no-op";
  method.run = [&start](const MethodLimits& limits) {
    const std::unique_ptr<Environment> environment = start.make();
    environment->reset(limits.seed);
    const StepInfo info = environment->info();
    MethodResult result;
    result.best = info.best;
    if (info.feasible) result.metrics = info.metrics;
    result.solution = start.solution(*environment);
    return result;
  };
  return method;
}

std::vector<EvaluationMethod> methods_on(const EvaluationCase& start,
                                         const std::vector<EvaluationMethod>& further,
                                         const TrainedPolicy& policy, int64_t samples) {
  std::vector<EvaluationMethod> all = {no_op(start), policy_episodes(start, policy, true, 1),
                                       policy_episodes(start, policy, false, samples)};
  all.insert(all.end(), further.begin(), further.end());
  const std::vector<EvaluationMethod> baselines = start.baselines();
  all.insert(all.end(), baselines.begin(), baselines.end());
  return all;
}

/// The evaluation of one start state under way.
class StartEvaluation {
 public:
  StartEvaluation(const EvaluationCase& start, const EvaluationInputs& inputs,
                  const EvaluationConfig& config)
      : start_(start), inputs_(inputs), config_(config) {
    const std::unique_ptr<Environment> environment = start.make();
    environment->reset(0);
    spec_ = environment->spec();
    report_.name = spec_.starts.front().name;
    report_.metrics = environment->info().metrics;
    report_.initial = environment->info().objective(spec_);
  }

  StartReport run(const std::vector<EvaluationMethod>& methods) {
    for (const EvaluationMethod& method : methods) compete(method);
    for (size_t i = 0; i < solutions_.size(); ++i) verify_and_write(i);
    if (config_.measure) measure();
    describe();
    return std::move(report_);
  }

 private:
  void compete(const EvaluationMethod& method) {
    const int64_t seeds = method.draws ? config_.seeds : 1;
    for (int64_t i = 0; i < seeds; ++i) {
      const uint64_t seed = inputs_.seed + static_cast<uint64_t>(i);
      inputs_.say(fmt::format("{}: {}, seed {}", report_.name, method.name, seed));
      MethodResult result = run_once(method, seed);
      if (i > 0 && !spec_.better(result.best, report_.best.back().best)) continue;
      if (i == 0) {
        report_.best.emplace_back();
        solutions_.emplace_back();
      }
      MethodBest& best = report_.best.back();
      best.method = method.name;
      best.budget = method.budget;
      best.seed = seed;
      best.best = result.best;
      best.metrics = std::move(result.metrics);
      solutions_.back() = std::move(result.solution);
    }
  }

  MethodResult run_once(const EvaluationMethod& method, uint64_t seed) {
    const std::optional<EnvCounters> before = start_.shared_counters();
    MethodResult result =
        method.run({seed, method.equal_time ? std::max(1e-3, policy_seconds_) : 0});
    if (before) {
      const EnvCounters after = *start_.shared_counters();
      result.work.cost_lookups = after.cost_lookups - before->cost_lookups;
      result.work.measurements = after.measurements - before->measurements;
    }
    if (method.name == kSampled) policy_seconds_ = std::max(policy_seconds_, result.seconds);
    report_.runs.push_back(
        {.method = method.name,
         .seed = seed,
         .best = result.best,
         .improvement_percent = spec_.improvement_percent(report_.initial, result.best),
         .seconds = result.seconds,
         .steps = result.work.steps,
         .candidates = result.candidates,
         .cost_lookups = result.work.cost_lookups,
         .measurements = result.work.measurements,
         .trace = result.trace});
    return result;
  }

  /// The first method that ended at an equal solution.
  size_t first_equal(size_t index) const {
    size_t first = 0;
    while (first < index &&
           !(solutions_[first] != nullptr && start_.equal(*solutions_[first], *solutions_[index])))
      ++first;
    return first;
  }

  /// The start state's own solution is that of method 0.
  void verify_and_write(size_t index) {
    if (index == 0 || solutions_[index] == nullptr) return;
    MethodBest& best = report_.best[index];
    if (const size_t twin = first_equal(index); twin < index) {
      best.artifact = report_.best[twin].artifact;
      return;
    }
    inputs_.say(fmt::format("{}: verify the result of {}", report_.name, best.method));
    best.artifact = start_.write(*solutions_[index], best.method, inputs_.directory);
  }

  /// Equal solutions once.
  void measure() {
    if (std::ranges::count(solutions_, nullptr) > 0) return;
    std::vector<std::shared_ptr<const Solution>> distinct;
    std::vector<size_t> place(solutions_.size());
    for (size_t i = 0; i < solutions_.size(); ++i) {
      const size_t first = first_equal(i);
      place[i] = first < i ? place[first] : distinct.size();
      if (first == i) distinct.push_back(solutions_[i]);
    }
    inputs_.say(fmt::format("{}: measure {} rounds", report_.name, config_.rounds));
    const Measurements measured = start_.measure(distinct, config_.rounds);
    if (!measured.refused.empty())
      inputs_.say(fmt::format("{}: not measured: {}", report_.name, measured.refused));
    if (measured.results.empty()) return;
    for (size_t i = 0; i < solutions_.size(); ++i)
      report_.best[i].measured = measured.results.at(place[i]);
  }

  void describe() {
    std::vector<FinishedMethod> finished;
    for (size_t i = 0; i < solutions_.size(); ++i)
      finished.push_back({report_.best[i].method, solutions_[i], report_.best[i].artifact});
    report_.described = start_.describe(finished);
  }

  const EvaluationCase& start_;
  const EvaluationInputs& inputs_;
  const EvaluationConfig& config_;
  EnvSpec spec_;
  double policy_seconds_ = 0;
  std::vector<std::shared_ptr<const Solution>> solutions_;  // of report_.best
  StartReport report_;
};

}  // namespace

EvaluationMethod policy_episodes(const EvaluationCase& start, const TrainedPolicy& policy,
                                 bool greedy, int64_t episodes) {
  EvaluationMethod method;
  method.name = greedy ? "policy (greedy)" : kSampled;
  if (!greedy) method.budget = fmt::format("the best of {} episodes", episodes);
  method.draws = !greedy;
  method.run = [&start, policy, greedy, episodes](const MethodLimits& limits) {
    return PolicyRun(start, policy, limits.seed).play(greedy, episodes);
  };
  return method;
}

StartReport evaluate_start(const EvaluationCase& start,
                           const std::vector<EvaluationMethod>& further,
                           const EvaluationInputs& inputs, const EvaluationConfig& config) {
  return StartEvaluation(start, inputs, config)
      .run(methods_on(start, further, inputs.policy, config.samples));
}

}  // namespace reverie
