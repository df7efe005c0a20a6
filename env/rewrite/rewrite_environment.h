#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/cost/relative_times.h"
#include "core/rules/rewrite_state.h"
#include "env/environment.h"
#include "env/rewrite/features.h"
#include "env/rewrite/regions.h"
#include "env/rewrite/reward.h"
#include "env/rewrite/search/search.h"

namespace reverie {

struct RewriteEnvConfig {
  RewardKind reward = RewardKind::kRuntime;
  int max_locations = 500;
  int measure_every = 10;
  int region_nodes = 8;
  int max_regions = 64;
  RewardWeights weights;
  int horizon = 0;  ///< no setting of its own, but env.horizon
  /// Whether `measure` runs opaque nodes too: no setting, but what the machine can
  /// (Machine::runs_files).
  bool measures_opaque_nodes = false;
  /// Whether `measure` computes what it says, so that no step is real work: no setting.
  bool computes_measurements = false;

  template <class V>
  void fields(V& v) {
    v.field("reward", reward, "What a step is worth, in percent of the start's run time");
    v.field("max_locations", max_locations, "Locations offered per rule", between(1, 32767));
    v.field("measure_every", measure_every, "Steps between measurements (measured_every_k)",
            at_least(1));
    v.field("region_nodes", region_nodes,
            "Work nodes in a region of the graph, which is an entity; 0: the graph is one",
            at_least(0));
    v.field("max_regions", max_regions,
            "Regions of a graph, at most; larger graphs have larger ones", at_least(1));
    v.section("weights", weights, "Weights of the reward `weighted`");
  }
};

struct StartGraph {
  std::string name;
  Graph graph;
};

/// What a rewritten graph takes beside its original, measured end to end on hardware (`anew`: as
/// by RelativeTimes::of).
using MeasureGraph =
    std::function<RelativeTime(const Graph& original, const Graph& graph, bool anew)>;

/// Rewrites tensor programs. Primary action: a rule of the set, in its order. An entity is a region
/// of the graph (Regions), one for the whole graph where `region_nodes` is 0. Of each rule the
/// first `max_locations` locations in canonical order are offered, each as a choice at the region
/// that Regions::place says; choices of a region are numbered by how far they reach, then in
/// canonical order. Where the cap on locations bites, a step anywhere brings others behind it to
/// light, which no model of regions foresees.
///
/// An episode ends by NO-OP, when no rule matches any more, or at the horizon: twice greedy's
/// depth, at least one step for four operators, and at least 8, where none is given.
///
/// Texts name nodes as the file does, those that a rewrite brought by their operator, and end in
/// the number that RewriteStep::location is.
///
/// An observation is a function of the graph, its regions and its start graph alone. Action
/// feature: the best gain of the rule at the region, in percent of the initial cost, 0 where it has
/// no choices.
///
/// Counters: a cost look-up is one difference in cost that was asked for (one per rewrite taken,
/// one per location that `observe` and `gains` look at); measurements are end-to-end measurements
/// and what the cost model measured meanwhile.
class RewriteEnvironment : public Environment {
 public:
  /// `measure` is needed for the reward `measured_every_k` (InputError without it) and
  /// `measured_gain`, and is called from whichever thread steps.
  RewriteEnvironment(std::vector<StartGraph> starts, std::shared_ptr<const RuleSet> rules,
                     std::shared_ptr<CostModel> cost, RewriteEnvConfig config,
                     MeasureGraph measure = nullptr);

  const EnvSpec& spec() const override;
  void reset(uint64_t seed) override;
  StepResult step(const Action& action) override;
  Observation observe() const override;
  ActionMask mask() const override;
  StepInfo info() const override;
  std::vector<double> gains(int primary) const override;
  double measured_gain() const override;
  std::vector<double> measured_gains(int times) const override;
  std::string describe() const override;
  std::string describe(const Action& action) const override;
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override;
  std::unique_ptr<Environment> with_actions(const std::vector<std::string>& names) const override;

  const RewriteState& state() const { return state_; }
  const Cost& initial_cost() const;
  /// The steps that lead to state(). Rules are numbered as in the set that the first environment
  /// was made with, whatever `with_actions` left of it.
  std::vector<RewriteStep> path() const { return steps(path_.size()); }
  /// The cheapest state of the episode so far, built by replaying its steps.
  RewriteState best_state() const;
  /// The steps that lead to best_state(), likewise.
  std::vector<RewriteStep> best_path() const { return steps(best_length_); }

 private:
  struct Start {
    std::string name;
    RewriteState state;
    Regions regions;
    int64_t weight_bytes = 0;
    NodeRows rows;
  };
  /// The choices of a rule, from state to state while they are the same matches.
  struct Offers {
    std::shared_ptr<const std::vector<Match>> matches;  ///< in canonical order
    std::vector<MatchPlace> places;                     ///< likewise
    std::vector<int> order;     ///< of each choice, by region, its number in canonical order
    std::vector<double> gains;  ///< in canonical order; empty until they are asked for
  };
  struct Shared {
    RewriteEnvConfig config;
    EnvSpec spec;
    MeasureGraph measure;
    std::vector<Start> starts;
    std::vector<int> rule_numbers;  ///< of each rule in the first environment's set
  };
  struct Counted;

  static std::shared_ptr<const Shared> share(std::vector<StartGraph> starts,
                                             std::shared_ptr<const RuleSet> rules,
                                             std::shared_ptr<CostModel> cost,
                                             RewriteEnvConfig config, MeasureGraph measure);
  const Start& start() const { return shared_->starts[start_]; }
  std::vector<RewriteStep> steps(size_t count) const;
  int offered(int rule) const;
  bool cut() const { return regions_.count() > 1; }
  MatchPlace place_of(const Match& match) const;
  Offers& offers(int rule) const;
  const Offers& priced_offers(int rule) const;
  int canonical_number(const Action& action) const;
  void count(int rule, ActionMask& mask) const;
  void show_offers(int rule, FeatureContext* context, Observation* observation) const;
  void check_allowed(const Action& action) const;
  bool anything_left();
  void rewrite(const Action& action);
  double reward(const Cost& before);
  double measured_reward();
  double relative_time(const Graph& graph, bool anew = false) const;

  std::shared_ptr<const Shared> shared_;
  size_t start_ = 0;
  RewriteState state_;
  Regions regions_;
  int64_t weight_bytes_ = 0;
  std::vector<RewriteStep> path_;
  size_t best_length_ = 0;
  Cost best_;
  int steps_ = 0;
  bool over_ = false;
  double last_measured_ = 1;  ///< relative time
  size_t measured_length_ = 0;
  mutable std::vector<Offers> offers_;  ///< of each rule
  mutable NodeRows rows_;               ///< of the state before `changed_`
  mutable std::vector<NodeId> changed_;
  mutable EnvCounters counters_;
};

}  // namespace reverie
