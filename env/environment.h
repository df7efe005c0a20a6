#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reverie {

/// A number that an environment tells of each state.
struct Metric {
  std::string name;  ///< "run time"
  std::string unit;  ///< "ms"; empty where it has none
  bool operator==(const Metric&) const = default;
};

/// "run time 0.1234 ms", for a person.
std::string text_of(const Metric& metric, double value);

/// What V is asked to predict beside the graph itself.
enum class TargetLevel : uint8_t { kNode, kGraph };
/// share: of the whole graph, at least 0, summing to 1 or all 0; by the divergence of a softmax.
/// regression: any number, by its squared error. binary: 0 or 1, by its cross entropy.
enum class TargetLoss : uint8_t { kShare, kRegression, kBinary };

/// At a node shares alone, of a graph regression or binary.
struct Target {
  std::string name;
  TargetLevel level = TargetLevel::kGraph;
  TargetLoss loss = TargetLoss::kRegression;
  bool operator==(const Target&) const = default;
};

/// A state that episodes begin at.
struct StartState {
  std::string name;
  uint64_t fingerprint = 0;  ///< of its content
  bool operator==(const StartState&) const = default;
};

/// What an environment looks like from outside; constant over its life. Everything has a name:
/// names decide whether data and checkpoints fit an environment (env/translated.h).
struct EnvSpec {
  std::string name;
  std::vector<std::string> node_types;  ///< vocabulary of GraphFeatures::node_types
  std::string other_type;  ///< stands for types that a reader does not know; may be empty
  std::vector<std::string> node_features;    ///< columns of GraphFeatures::nodes
  std::vector<std::string> edge_features;    ///< columns of GraphFeatures::edges
  std::vector<std::string> action_features;  ///< of a primary action at an entity
  std::vector<std::string> actions;  ///< primary; the last is "NO-OP", which ends the episode
  std::vector<Target> targets;       ///< those of nodes first
  std::vector<Metric> metrics;
  int objective = 0;           ///< the metric that episodes are judged by
  bool less_is_better = true;  ///< of the objective
  int max_choices = 1;         ///< upper bound of a count in a mask, at most 32767
  int horizon = 0;             ///< steps after which an episode is truncated
  std::vector<StartState> starts;
  std::string source;         ///< where the metrics come from: "roofline:t4", "cpu", "none"
  bool deterministic = true;  ///< equal seeds and actions give equal episodes
  /// The seed decides more than the start state: equal actions come to something else under another
  /// one. Then the best of several episodes is luck in part.
  bool stochastic = false;
  bool looks_ahead = false;        ///< `gains` answers
  bool measurable = false;         ///< `measured_gain` answers
  bool may_be_infeasible = false;  ///< StepInfo::feasible can be false
  bool reward_at_end = false;      ///< all rewards but that of an episode's last step are 0
  bool knows_dynamics = false;     ///< `known` answers
  /// Targets of graphs that only a real step tells; node features of these names, too. Where there
  /// are none and dynamics are known, rewards are computed as well.
  std::vector<std::string> learned;

  int primary_actions() const { return static_cast<int>(actions.size()); }
  int no_op() const { return primary_actions() - 1; }
  int start_states() const { return static_cast<int>(starts.size()); }
  int target_count(TargetLevel level) const;
  const Metric& objective_metric() const { return metrics[static_cast<size_t>(objective)]; }
  /// Whether objective a is better than b.
  bool better(double a, double b) const { return less_is_better ? a < b : a > b; }
  /// The objective that every other one is better than: plus or minus infinity.
  double worst() const;
  /// How much better objective `to` is than `from`, in percent of `from`; 0 where that is 0 or not
  /// finite.
  double improvement_percent(double from, double to) const;
  bool operator==(const EnvSpec&) const = default;
};

/// A graph as plain arrays; row-major. Its nodes belong to entities: what an action can address.
struct GraphFeatures {
  std::vector<int32_t> node_types;     ///< [nodes], each below the number of EnvSpec::node_types
  std::vector<float> nodes;            ///< [nodes, node_features]
  std::vector<int32_t> node_entities;  ///< [nodes], each below ActionMask::entities
  std::vector<int32_t> senders;        ///< [edges], index of a node
  std::vector<int32_t> receivers;      ///< [edges]
  std::vector<float> edges;            ///< [edges, edge_features]
  std::vector<float> node_targets;     ///< [nodes, targets of nodes]
  std::vector<float> graph_targets;    ///< [targets of graphs]

  int node_count() const { return static_cast<int>(node_types.size()); }
  int edge_count() const { return static_cast<int>(senders.size()); }
  bool operator==(const GraphFeatures&) const = default;
};

/// What to do, to which entity, and which of its equal choices there. Where choices have an
/// identity each has an entity of its own.
struct Action {
  int primary = 0;
  int entity = 0;
  int index = 0;  ///< below the mask's count
  bool operator==(const Action&) const = default;
};

/// How many choices each primary action has at each entity; 0 where it is not valid. NO-OP has one
/// choice, at entity 0. Start states differ in their number of entities; within an episode the
/// number is the same and an entity keeps its number, as M carries what it knows of each along.
struct ActionMask {
  int entities = 1;
  std::vector<uint16_t> counts;  ///< [primary actions, entities]

  ActionMask() = default;
  ActionMask(int primary_actions, int entities);

  int primary_actions() const { return static_cast<int>(counts.size()) / entities; }
  uint16_t& at(int primary, int entity) { return counts[cell(primary, entity)]; }
  int at(int primary, int entity) const { return counts[cell(primary, entity)]; }
  /// [entities]: the counts of a primary action.
  std::span<const uint16_t> of(int primary) const;
  /// Choices of a primary action at all entities together.
  int total(int primary) const;
  bool allows(const Action& action) const;
  /// The n-th choice of a primary action, n below its total: entity by entity, then by index.
  Action choice(int primary, int n) const;
  /// The other way: the number of an action that the mask allows.
  int number(const Action& action) const;
  bool operator==(const ActionMask&) const = default;

 private:
  size_t cell(int primary, int entity) const {
    return static_cast<size_t>(primary) * static_cast<size_t>(entities) +
           static_cast<size_t>(entity);
  }
};

/// The greatest value at each entity, 0 where there is none. `values`: one for each choice of a
/// primary action, in the order of ActionMask::choice.
std::vector<float> best_by_entity(const ActionMask& mask, int primary,
                                  std::span<const double> values);

/// A function of the state alone, so that a state met twice is stored and encoded once. What
/// belongs to the episode (steps left, the best so far) is no part of it.
struct Observation {
  GraphFeatures graph;
  ActionMask mask;
  std::vector<float>
      action_features;  ///< [primary actions, entities, action_features], 0 where the mask is
  /// Names the state; equal states have equal keys, and equal keys stand for equal observations.
  uint64_t state_key = 0;

  bool operator==(const Observation&) const = default;
};

struct StepInfo {
  std::vector<double> metrics;  ///< of the state now reached, as EnvSpec::metrics
  bool feasible = true;         ///< whether this state may be an episode's result
  /// The best objective of the episode's feasible states so far, the start included;
  /// EnvSpec::worst() where there was none.
  double best = 0;

  double objective(const EnvSpec& spec) const {
    return metrics[static_cast<size_t>(spec.objective)];
  }
  bool operator==(const StepInfo&) const = default;
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
  int64_t capped_states = 0;  ///< states reached that had more choices than are offered

  EnvCounters& operator+=(const EnvCounters& other);
};

class KnownDynamics;

/// A sequential decision problem whose states are graphs. Not safe for concurrent use; `fork` gives
/// another instance for another thread. Every implementation passes the conformance suite in
/// tests/env/conformance.h.
class Environment {
 public:
  virtual ~Environment() = default;
  virtual const EnvSpec& spec() const = 0;

  /// Starts an episode. Must come before any use of the state. Equal seeds give equal episodes
  /// under equal actions where the environment is deterministic. The seed also chooses the start
  /// state: seed % start_states.
  virtual void reset(uint64_t seed) = 0;
  /// InputError, and no change, when the mask does not allow the action or the episode is over.
  /// NO-OP leaves the state as it is.
  virtual StepResult step(const Action& action) = 0;

  // The current state. Computed on demand; a caller that does not look pays nothing.
  virtual Observation observe() const = 0;
  virtual ActionMask mask() const = 0;
  virtual StepInfo info() const = 0;
  /// Gain of each choice of a primary action, in the order of ActionMask::choice, in percent of the
  /// start's objective (positive gains). Empty where the environment does not look ahead.
  virtual std::vector<double> gains(int primary) const;

  /// Percent that the best state of the episode gains over the start, both measured end to end on
  /// hardware (positive gains). Counts as measurements what it took. InputError where the
  /// environment is not measurable.
  virtual double measured_gain() const;
  /// The same, measured so many times independently of each other and of what is known.
  virtual std::vector<double> measured_gains(int times) const;

  virtual const EnvCounters& counters() const = 0;
  /// An independent instance in the same state, its counters at zero.
  virtual std::unique_ptr<Environment> fork() const = 0;
  /// The future of the current state, as far as it is known without real steps
  /// (env/known_dynamics.h). Null where the environment does not know its dynamics; a fork where it
  /// does and its steps are no real work.
  virtual std::unique_ptr<KnownDynamics> known() const;

  /// Where features depend on which actions are offered: another with these primary actions alone
  /// (names of `spec()`, NO-OP last), in this order, to be reset before use. Null elsewhere.
  virtual std::unique_ptr<Environment> with_actions(const std::vector<std::string>&) const {
    return nullptr;
  }
  /// The environment itself, where this one only shows another in a different way.
  virtual const Environment& unwrapped() const { return *this; }

  /// The current state for a person, in one line.
  virtual std::string describe() const;
  /// What an action does in the current state, for a person: "deepen conv1 at 0.003". Actions of
  /// one state that differ have texts that differ. InputError when the mask does not allow it.
  virtual std::string describe(const Action& action) const;
};

/// Throws the InputError of `Environment::step` for an action that the mask does not allow.
void require_allowed(const EnvSpec& spec, const ActionMask& mask, const Action& action);

}  // namespace reverie
