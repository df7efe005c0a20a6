#include "tools/policy/policy_method.h"

#include <algorithm>
#include <cmath>

#include "controller/evaluate/policy_solver.h"
#include "core/search/algorithms.h"
#include "env/environment_problem.h"
#include "env/rewrite/search/rewrite_problem.h"
#include "env/translated.h"
#include "tools/policy/policy_prior.h"

namespace reverie {
namespace {

/// Where a policy searches from `start`.
RewriteEnvironment environment_at(const RewriteState& start,
                                  const std::shared_ptr<const RuleSet>& rules,
                                  const std::shared_ptr<CostModel>& cost,
                                  const PolicySearchConfig& config) {
  const auto with = [&](const RewriteEnvConfig& how) {
    return RewriteEnvironment({{"graph", start.graph()}}, rules, cost, how);
  };
  RewriteEnvironment usual = with(config.env);
  if (config.guided.horizons == 1) return usual;
  RewriteEnvConfig longer = config.env;
  longer.horizon = static_cast<int>(std::lround(config.guided.horizons * usual.spec().horizon));
  return with(longer);
}

const RewriteEnvironment& rewriting(const Environment& environment) {
  return dynamic_cast<const RewriteEnvironment&>(environment.unwrapped());
}

/// One search by episodes.
class PolicySearch {
 public:
  PolicySearch(const TrainedPolicy& trained, const std::shared_ptr<const RuleSet>& rules,
               const std::shared_ptr<CostModel>& cost, const PolicySearchConfig& config,
               const RewriteState& start, const RewriteSearchOptions& options)
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
    LiveLatentEnvironment live(environment_, trained_.encoder, trained_.world,
                               static_cast<int>(batch), run_.options().threads);
    int64_t steps = 0;
    const auto look = [&](const Environment& played) {
      for (; steps < live.counters().steps; ++steps) count_step();
      if (steps > 0) look_at(played);  // the start is known
    };
    return play_episodes(live, *trained_.policy, greedy, rng_, look,
                         [&] { return run_.out_of_time(); });
  }

  void count_step() {
    run_.count_step();
    run_.count_candidate();
    run_.count_expansion();
  }

  void look_at(const Environment& played) {
    const RewriteEnvironment& environment = rewriting(played);
    const RewriteState& state = environment.state();
    if (run_.allows_weights(state.graph().weight_bytes())) run_.note(state, environment.path());
  }

  const TrainedPolicy& trained_;
  RewriteRun run_;
  RewriteEnvironment environment_;
  Rng rng_;
};

/// A beam over an environment's actions, as a part of a run over rewrites from the same start.
class GuidedBeam {
 public:
  GuidedBeam(RewriteRun& run, const RewriteSearchOptions& options, const Environment& start)
      : run_(run),
        options_(options_within(run, options)),
        on_state_(options.on_state),
        bounded_(options.max_weight_growth > 0),
        beam_(std::make_shared<const EnvironmentProblem>(start, bound()), options_,
              [this](const Problem& state, const Path&) {
                note(rewriting(environment_problem(state).environment()));
              }) {}

  void search(const search::Beam& beam, const search::BeamGuide& guide) {
    search::run_guided_beam(beam_, beam, guide);
    static_cast<SearchReport&>(found_) = beam_.report();
    found_.trace = std::move(trace_);
    run_.merge(std::move(found_));
    run_.stopped(beam_.report().stopped_by);
  }

 private:
  /// The run begins greedily and ends so.
  SearchOptions options_within(const RewriteRun& run, const SearchOptions& given) {
    SearchOptions options = given;
    if (options.time_limit > 0)
      options.time_limit = std::max(options.time_limit - run.elapsed(), 1e-9);
    if (options.on_progress)
      options.on_progress = [this, before = run.report().expansions,
                             tell = options.on_progress](SearchProgress now) {
        now.expansions += before;
        now.best = best_cost();
        tell(now);
      };
    return options;
  }

  EnvironmentProblem::Allowed bound() const {
    if (!bounded_) return nullptr;
    return [limit = weight_limit(run_)](const Environment& state) {
      return rewriting(state).state().graph().weight_bytes() <= limit;
    };
  }

  double best_cost() const {
    return found_.improvements.empty() ? run_.best_cost() : found_.improvements.back().cost;
  }

  void note(const RewriteEnvironment& reached) {
    const RewriteState& state = reached.state();
    const auto cost = static_cast<double>(state.cost().runtime.count);
    if (cost < best_cost()) {
      found_.improvements.push_back(
          {cost, path_of(reached.path()),
           std::make_shared<const GraphSnapshot>(state.graph(), state.cost())});
      trace_.push_back(
          {beam_.elapsed(), beam_.report().expansions, beam_.report().candidates, cost});
    }
    if (on_state_) on_state_(state, reached.path());
  }

  RewriteRun& run_;
  SearchOptions options_;
  std::function<void(const RewriteState&, std::span<const RewriteStep>)> on_state_;
  bool bounded_;
  SearchRun beam_;
  SearchOutcome found_;
  std::vector<SearchProgress> trace_;
};

SearchResult guided_search(const TrainedPolicy& trained, const RewriteState& start,
                           const RewriteSearchOptions& options,
                           const std::shared_ptr<const RuleSet>& rules,
                           const std::shared_ptr<CostModel>& cost,
                           const PolicySearchConfig& config) {
  RewriteRun run(start, options);
  const auto environment =
      translated(environment_at(start, rules, cost, config).fork(), trained.spec());
  const PolicyPrior prior(trained, environment->spec(), config.guided.actions);
  const GuideOptions& how = config.guided;
  if (how.greedy_first) begin_greedily(run);
  GuidedBeam(run, options, *environment)
      .search({.width = how.width, .greedy_first = false, .finish = false},
              {.prior = prior, .gain_weight = how.gain_weight, .batch = how.batch});
  if (how.finish && !run.out_of_time()) finish_greedily(run);
  return run.finish();
}

}  // namespace

SearchMethod policy_method(TrainedPolicy policy, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost, const PolicySearchConfig& config) {
  return [=](const RewriteState& start, const RewriteSearchOptions& options) {
    if (config.guided.search != PolicySearchKind::kEpisodes)
      return guided_search(policy, start, options, rules, cost, config);
    return PolicySearch(policy, rules, cost, config, start, options).run(config);
  };
}

}  // namespace reverie
