#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reverie {

/// The most regions that the graph of a state is cut into.
inline constexpr int kMaxRegions = 64;

/// What an environment looks like from outside; constant over its life.
struct EnvSpec {
  std::string name;
  int node_types = 0;       ///< vocabulary of GraphFeatures::node_types
  int node_features = 0;    ///< columns of GraphFeatures::nodes
  int edge_features = 0;    ///< columns of GraphFeatures::edges
  int global_features = 0;  ///< columns of GraphFeatures::globals
  /// Features per primary action (for rewriting: the best relative cost change that the rule
  /// offers, in percent of the initial cost, positive when it gains).
  int action_features = 0;
  /// Names of the primary actions; the last is "NO-OP", always valid, which ends the episode.
  std::vector<std::string> actions;
  int max_secondary = 1;  ///< upper bound of a count in a mask, at most 32767
  int horizon = 0;        ///< steps after which an episode is truncated
  int start_states = 1;   ///< start graphs that `reset` chooses from
  bool deterministic = true;
  /// Valid secondary choices are 0 .. count - 1. Otherwise masks carry explicit lists.
  bool prefix_masks = true;
  /// S: regions that the graph of a state is cut into, at most kMaxRegions; 1: not cut. More than 1
  /// only with prefix_masks. An action changes one region and what borders on it.
  int regions = 1;
  /// Names what the actions mean (for rewriting: the rule set); data and checkpoints of another
  /// fingerprint are refused.
  uint64_t fingerprint = 0;
  std::string cost_source;  ///< "roofline:t4", "cpu", "none"

  int primary_actions() const { return static_cast<int>(actions.size()); }
  int no_op() const { return primary_actions() - 1; }
  bool operator==(const EnvSpec&) const = default;
};

/// A graph as plain arrays; row-major.
struct GraphFeatures {
  std::vector<int32_t> node_types;   ///< [nodes], each below EnvSpec::node_types
  std::vector<float> nodes;          ///< [nodes, node_features]
  std::vector<int32_t> senders;      ///< [edges], index of a node
  std::vector<int32_t> receivers;    ///< [edges]
  std::vector<float> edges;          ///< [edges, edge_features]
  std::vector<float> globals;        ///< [global_features]
  std::vector<float> node_targets;   ///< [nodes]: share of the total cost, sums to 1 or is all 0
  std::vector<int32_t> node_regions; ///< [nodes], each below EnvSpec::regions; empty where that is 1

  int node_count() const { return static_cast<int>(node_types.size()); }
  int edge_count() const { return static_cast<int>(senders.size()); }
  bool operator==(const GraphFeatures&) const = default;
};

/// How many secondary choices each primary action has; 0 where it is not valid. NO-OP has 1.
struct ActionMask {
  std::vector<uint16_t> counts;  ///< [primary actions]
  /// Only where EnvSpec::prefix_masks is false: the valid secondary choices of each primary action,
  /// ascending, as many as its count.
  std::vector<std::vector<uint16_t>> choices;
  /// [primary actions, regions], empty where EnvSpec::regions is 1: how many of an action's choices
  /// lie in each region; rows sum to `counts`. Secondary choices are numbered region by region. That
  /// of NO-OP lies in region 0.
  std::vector<uint16_t> region_counts;

  bool operator==(const ActionMask&) const = default;
};

struct Action {
  int primary = 0;
  int secondary = 0;
  bool operator==(const Action&) const = default;
};

/// Whether the mask allows the action.
bool allows(const ActionMask& mask, const Action& action);
/// The i-th valid secondary choice of a primary action, i below its count.
int secondary_choice(const ActionMask& mask, int primary, int index);

/// A secondary choice as the region that it lies in and its number among those of the region.
struct RegionChoice {
  int region = 0;
  int index = 0;
  bool operator==(const RegionChoice&) const = default;
};

/// [regions]: how many choices of a primary action lie in each region; all in the one where `regions` is 1.
std::span<const uint16_t> choices_by_region(const ActionMask& mask, int primary, int regions);
/// Where a valid secondary choice lies. `regions` is EnvSpec::regions; where it is 1 all lie in
/// region 0.
RegionChoice region_choice(const ActionMask& mask, int primary, int secondary, int regions);
/// The other way: the secondary choice that is number `index` of a region, below the region's count.
int secondary_choice(const ActionMask& mask, int primary, RegionChoice choice, int regions);
/// [regions]: the greatest of the gains of an action's choices in each region, 0 where there are none.
/// `gains`: one for each choice.
std::vector<float> best_by_region(const ActionMask& mask, int primary, int regions,
                                  std::span<const double> gains);

/// A function of the state alone, so that a state met twice is stored and encoded once. What belongs
/// to the episode (steps left, best cost so far) is no part of it: its reader has the step number,
/// the horizon and the costs.
struct Observation {
  GraphFeatures graph;
  ActionMask mask;
  std::vector<float> action_features;  ///< [primary actions, action_features]
  /// [primary actions, regions, action_features], empty where EnvSpec::regions is 1: the action
  /// features of the choices in each region, 0 where there are none.
  std::vector<float> region_features;
  /// Names the state; equal states have equal keys, and equal keys stand for equal observations
  /// (for rewriting: the graph's structural hash and the start graph, not the time).
  uint64_t state_key = 0;

  bool operator==(const Observation&) const = default;
};

struct StepInfo {
  double cost_ms = 0;       ///< of the state now reached, by the environment's cost source
  double best_cost_ms = 0;  ///< lowest of the episode so far, the start included
};

struct StepResult {
  double reward = 0;
  bool terminated = false;  ///< NO-OP, or nothing is left to do
  bool truncated = false;   ///< the horizon was reached
  StepInfo info;
};

/// Work done since construction. Sample efficiency is reported in these.
struct EnvCounters {
  int64_t resets = 0;
  int64_t steps = 0;
  int64_t cost_lookups = 0;
  int64_t measurements = 0;
  int64_t capped_states = 0;  ///< states reached that had more secondary choices than are offered

  EnvCounters& operator+=(const EnvCounters& other);
};

/// A sequential decision problem whose states are graphs. Not safe for concurrent use; `fork` gives
/// another instance for another thread. Every implementation passes the conformance suite in
/// tests/env/conformance.h.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const EnvSpec& spec() const = 0;

  /// Starts an episode. Must come before any use of the state. Equal seeds give equal episodes under equal actions where the environment
  /// is deterministic. The seed also chooses the start state: seed % start_states.
  virtual void reset(uint64_t seed) = 0;
  /// InputError, and no change, when the mask does not allow the action or the episode is over.
  /// NO-OP leaves the state as it is.
  virtual StepResult step(const Action& action) = 0;

  // The current state. Computed on demand; a caller that does not look pays nothing.
  virtual Observation observe() const = 0;
  virtual ActionMask mask() const = 0;
  virtual StepInfo info() const = 0;
  /// Gain of each valid secondary choice of a primary action, in percent of the initial cost
  /// (positive gains); empty where the environment cannot look ahead cheaply. Used by the mixed
  /// collecting agent and by greedy baselines.
  virtual std::vector<double> gains(int primary) const = 0;

  /// Whether `measured_gain` can be asked for, from whichever start.
  virtual bool measurable() const { return false; }
  /// Percent of the start's run time that the best state of the episode saves, both measured end to end on
  /// hardware (positive gains). Counts as measurements what it took. InputError where the environment is not
  /// measurable.
  virtual double measured_gain() const;

  virtual const EnvCounters& counters() const = 0;
  /// An independent instance in the same state, its counters at zero.
  virtual std::unique_ptr<Environment> fork() const = 0;
};

}  // namespace reverie
