#include "tools/policy/policy_method.h"

#include <algorithm>
#include <cmath>

#include "core/search/search_run.h"
#include "tools/policy/policy_search.h"
#include "worldmodel/live.h"

namespace reverie {
namespace {

/// Where a policy searches from `start`.
RewriteEnvironment environment_at(const RewriteState& start, const std::shared_ptr<const RuleSet>& rules,
                                  const std::shared_ptr<CostModel>& cost, const PolicySearchConfig& config) {
  const auto with = [&](const RewriteEnvConfig& how) {
    return RewriteEnvironment({{"graph", start.graph()}}, rules, cost, how);
  };
  RewriteEnvironment usual = with(config.env);
  if (config.guided.horizons == 1) return usual;
  RewriteEnvConfig longer = config.env;
  longer.horizon = static_cast<int>(std::lround(config.guided.horizons * usual.spec().horizon));
  return with(longer);
}

/// One search by episodes.
class PolicySearch {
 public:
  PolicySearch(const TrainedPolicy& trained, const std::shared_ptr<const RuleSet>& rules,
               const std::shared_ptr<CostModel>& cost, const PolicySearchConfig& config,
               const RewriteState& start, const SearchOptions& options)
      : trained_(trained),
        run_(start, options),
        environment_(environment_at(start, rules, cost, config)),
        rng_(options.seed) {}

  SearchResult run(const PolicySearchConfig& config) {
    bool in_time = !config.greedy || play(1, true);
    int64_t left = config.episodes < 0 ? run_.options().budget : config.episodes;
    int64_t batch = run_.options().time_limit > 0 ? 1 : config.batch;
    while (in_time && left > 0) {
      in_time = play(std::min(left, batch), false);
      left -= batch;
      batch = std::min(2 * batch, config.batch);
    }
    if (in_time) run_.out_of_budget();
    return run_.finish();
  }

 private:
  /// Whether the episodes could be played to their ends.
  bool play(int64_t batch, bool greedy) {
    LiveLatentEnvironment live(environment_, trained_.encoder, trained_.world, static_cast<int>(batch),
                               run_.options().threads);
    LatentObservation observation = live.reset(rng_.bits() >> 1);
    auto ended = torch::zeros({batch}, torch::kBool);
    int64_t steps = live.counters().steps;
    while (!ended.all().item<bool>()) {
      if (run_.out_of_time()) return false;
      const LatentStep step = live.step(trained_.policy->act(observation, greedy, rng_).actions);
      observation = live.observe();
      for (; steps < live.counters().steps; ++steps) count_step();
      for (int b = 0; b < static_cast<int>(batch); ++b)
        if (!ended[b].item<bool>()) look_at(live.environment(b));
      ended = (step.terminated | step.truncated).to(torch::kCPU);
    }
    return true;
  }

  void count_step() {
    run_.count_step();
    run_.count_candidate();
    run_.count_expansion();
  }

  void look_at(const Environment& played) {
    const auto& environment = dynamic_cast<const RewriteEnvironment&>(played.unwrapped());
    const RewriteState& state = environment.state();
    if (!run_.allows_weights(state.graph().weight_bytes())) return;
    if (run_.improves(state.cost())) run_.improve(state.cost(), environment.path());
    run_.reached(state, environment.path());
  }

  const TrainedPolicy& trained_;
  SearchRun run_;
  RewriteEnvironment environment_;
  Rng rng_;
};

SearchResult guided_search(const TrainedPolicy& trained, const RewriteState& start,
                           const SearchOptions& options, const std::shared_ptr<const RuleSet>& rules,
                           const std::shared_ptr<CostModel>& cost, const PolicySearchConfig& config) {
  SearchRun run(start, options);
  const RewriteEnvironment environment = environment_at(start, rules, cost, config);
  const PolicyGuide guide(trained, environment.spec(), config.guided.actions);
  const auto search = config.guided.search == PolicySearchKind::kBeam ? policy_beam : policy_mcts;
  search(run, guide, environment, config.guided);
  return run.finish();
}

}  // namespace

SearchMethod policy_method(TrainedPolicy policy, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost, const PolicySearchConfig& config) {
  return [=](const RewriteState& start, const SearchOptions& options) {
    if (config.guided.search != PolicySearchKind::kEpisodes)
      return guided_search(policy, start, options, rules, cost, config);
    return PolicySearch(policy, rules, cost, config, start, options).run(config);
  };
}

}  // namespace reverie
