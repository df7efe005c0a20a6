#include "controller/evaluate/policy_solver.h"

#include <algorithm>
#include <utility>

#include "core/base/stopwatch.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

constexpr int64_t kEpisodesAtOnce = 16;

/// One run of a policy.
class PolicyRun {
 public:
  PolicyRun(const Task& task, const TrainedPolicy& policy, uint64_t seed)
      : task_(task), policy_(policy), environment_(task.environment()), rng_(seed) {
    result_.best = environment_->spec().worst();
  }

  Result play(bool greedy, const SearchOptions& limits) {
    for (int64_t left = greedy ? 1 : limits.budget; left > 0 && !is_over(limits);
         left -= kEpisodesAtOnce)
      play_batch(static_cast<int>(std::min(left, kEpisodesAtOnce)), greedy, limits);
    result_.candidates = result_.work.steps;
    result_.seconds = watch_.seconds();
    return std::move(result_);
  }

 private:
  void play_batch(int batch, bool greedy, const SearchOptions& limits) {
    LiveLatentEnvironment live(*environment_, policy_.encoder, policy_.world, batch, 1);
    const Environment* best = nullptr;
    play_episodes(
        live, *policy_.policy, greedy, rng_,
        [&](const Environment& environment) { look(environment, best); },
        [&] { return is_over(limits); });
    if (best != nullptr) result_.solution = task_.solution(*best);
    result_.work += live.counters();
  }

  /// Keeps the one that holds the best state, once it is of this batch.
  void look(const Environment& environment, const Environment*& best) {
    const EnvSpec& spec = environment_->spec();
    const StepInfo info = environment.info();
    if (!info.feasible || !spec.better(info.objective(spec), result_.best)) return;
    result_.best = info.objective(spec);
    result_.metrics = info.metrics;
    result_.trace.push_back({watch_.seconds(), result_.best});
    best = &environment;
  }

  bool is_over(const SearchOptions& limits) const {
    return limits.stop.requested() ||
           (limits.time_limit > 0 && watch_.seconds() >= limits.time_limit);
  }

  Stopwatch watch_;
  const Task& task_;
  const TrainedPolicy& policy_;
  std::unique_ptr<Environment> environment_;
  Rng rng_;
  Result result_;
};

}  // namespace

bool play_episodes(LiveLatentEnvironment& live, Policy& policy, bool greedy, Rng& rng,
                   const std::function<void(const Environment&)>& look,
                   const std::function<bool()>& must_stop) {
  torch::NoGradGuard no_grad;
  LatentObservation observation = live.reset(rng.bits() >> 1);
  auto ended = torch::zeros({live.batch()}, torch::kBool);
  const auto look_at_all = [&] {
    for (int b = 0; b < live.batch(); ++b)
      if (!ended[b].item<bool>()) look(live.environment(b));
  };
  look_at_all();
  while (!ended.all().item<bool>()) {
    if (must_stop()) return false;
    const LatentStep step = live.step(policy.act(observation, greedy, rng).actions);
    observation = live.observe();
    look_at_all();
    ended = (step.terminated | step.truncated).to(torch::kCPU);
  }
  return true;
}

Result PolicySolver::run(const Task& task, const SearchOptions& limits,
                         const SolverSettings&) const {
  return PolicyRun(task, policy_, limits.seed).play(greedy_, limits);
}

}  // namespace reverie
