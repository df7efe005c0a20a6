#include "controller/policy_method.h"

#include <algorithm>
#include <chrono>

#include "controller/trainer_config.h"
#include "core/base/error.h"
#include "worldmodel/live.h"

namespace reverie {
namespace {

/// One search by episodes.
class PolicySearch {
 public:
  PolicySearch(const TrainedPolicy& trained, std::shared_ptr<const RuleSet> rules,
               std::shared_ptr<CostModel> cost, const PolicySearchConfig& config,
               const RewriteState& start, const SearchOptions& options)
      : trained_(trained),
        options_(options),
        environment_({{"graph", start.graph()}}, std::move(rules), std::move(cost), config.env),
        rng_(options.seed) {
    if (options.max_weight_growth > 0)
      throw InputError("a policy cannot bound the growth of weights; choose another method");
    result_.best = start.graph();
    result_.initial_cost = result_.best_cost = start.cost();
    result_.trace.push_back(now());
  }

  SearchResult run(const PolicySearchConfig& config) {
    if (config.greedy) play(1, true);
    int64_t left = config.episodes < 0 ? options_.budget : config.episodes;
    while (left > 0 && !out_of_time()) {
      const int64_t batch = std::min(left, config.batch);
      play(batch, false);
      left -= batch;
    }
    if (result_.stopped_by == StoppedBy::kExhausted) result_.stopped_by = StoppedBy::kBudget;
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  void play(int64_t batch, bool greedy) {
    LiveLatentEnvironment live(environment_, trained_.encoder, trained_.world,
                               static_cast<int>(batch));
    LatentObservation observation = live.reset(rng_.bits() >> 1);
    auto ended = torch::zeros({batch}, torch::kBool);
    while (!ended.all().item<bool>() && !out_of_time()) {
      const LatentStep step =
          live.step(trained_.policy->act(observation, greedy, rng_).actions);
      observation = live.observe();
      count(live.counters());
      ended = (step.terminated | step.truncated).to(torch::kCPU);
      if (options_.on_progress) options_.on_progress(now());
    }
    before_ = result_.steps;
    for (int b = 0; b < static_cast<int>(batch); ++b) take_best(live.environment(b));
  }

  void count(const EnvCounters& counters) {
    result_.steps = before_ + counters.steps;
    result_.expansions = result_.candidates = result_.steps;
  }

  void take_best(const Environment& played) {
    const auto& environment = dynamic_cast<const RewriteEnvironment&>(played);
    const RewriteState best = environment.best_state();
    if (!(best.cost().runtime < result_.best_cost.runtime)) return;
    result_.best = best.graph();
    result_.best_cost = best.cost();
    result_.rewrites = environment.best_path();
    result_.trace.push_back(now());
  }

  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  SearchProgress now() const {
    SearchProgress progress;
    progress.seconds = elapsed();
    progress.expansions = result_.expansions;
    progress.candidates = result_.candidates;
    progress.best = result_.best_cost;
    return progress;
  }

  bool out_of_time() {
    if (options_.stop.requested()) result_.stopped_by = StoppedBy::kInterrupt;
    else if (options_.time_limit > 0 && elapsed() >= options_.time_limit)
      result_.stopped_by = StoppedBy::kTimeLimit;
    return result_.stopped_by != StoppedBy::kExhausted;
  }

  const TrainedPolicy& trained_;
  const SearchOptions& options_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  RewriteEnvironment environment_;
  Rng rng_;
  int64_t before_ = 0;
  SearchResult result_;
};

}  // namespace

TrainedPolicy load_trained_policy(const std::string& path, torch::Device device) {
  return with_context(path, [&] {
    const Checkpoint checkpoint = load_checkpoint(path, "policy");
    TrainedPolicy trained;
    trained.encoder = load_encoder(checkpoint);
    trained.world = load_world_model(checkpoint);
    trained.encoder->to_device(device);
    trained.world->to_device(device);
    trained.policy = load_policy(checkpoint, trained.world->spec(), device);
    return trained;
  });
}

SearchMethod policy_method(TrainedPolicy policy, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost, const PolicySearchConfig& config) {
  return [=](const RewriteState& start, const SearchOptions& options) {
    return PolicySearch(policy, rules, cost, config, start, options).run(config);
  };
}

}  // namespace reverie
