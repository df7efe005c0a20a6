#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "core/rules/pattern.h"

namespace reverie {

/// An input of a new node: output `index` of new node `node`, or, where `node` is -1, entry `index`
/// of Binding::values (-1: absent).
struct Operand {
  int32_t node = -1;
  int32_t index = -1;
  bool absent() const { return node < 0 && index < 0; }
  bool operator==(const Operand&) const = default;
};

struct NewNode {
  const OpSchema* op = nullptr;
  std::vector<Operand> inputs;
  std::shared_ptr<const Attributes> attributes;
  std::vector<TensorType> types;
  WeightPtr weight;
  bool constant = false;
  Cost cost;                ///< zero for work on constants
  uint64_t local_hash = 0;  ///< as local_hash of the node once it stands in a graph
};

/// The target of a rule for matches that agree in attributes, types and constancy: attributes
/// computed, types inferred, costs looked up.
struct Instance {
  std::vector<NewNode> nodes;  ///< producers first
  /// Entry of Binding::values whose uses move, and where to.
  std::vector<std::pair<int32_t, Operand>> outputs;
  /// Some variable of the match is no input of the new nodes: what computes it may die.
  bool drops_inputs = false;
  /// New weights of 16 bits come from weights whose content decides whether they fit.
  bool narrow = false;
};

/// Nothing when a condition does not hold, an attribute has no value, types do not fit, an output
/// would change its type or become constant, or values would not be kept (value_policy.h).
/// Conditions on uses are not looked at. What the cost model throws passes through.
std::shared_ptr<const Instance> instantiate(const RulePattern& pattern, const Graph& graph,
                                            const Binding& binding, CostModel& cost_model);
/// Whether the conditions on uses hold.
bool uses_hold(const RulePattern& pattern, const Graph& graph, const Binding& binding);

/// Instances by what decides them. Shared by copies of a state and safe for several threads.
class InstanceCache {
 public:
  struct Entry {
    std::shared_ptr<const Instance> instance;  ///< null: the rule does not apply
  };
  /// nullptr when nothing is known of the key yet.
  const Entry* find(uint64_t key) const;
  const Entry* insert(uint64_t key, std::shared_ptr<const Instance> instance);
  /// Whether the new weights of 16 bits fit their type, with the weights of this match. `key` is
  /// that of its instance.
  bool fits(uint64_t key, const Instance& instance, const Graph& graph, const Binding& binding);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uint64_t, Entry> entries_;  // references stay valid
  std::unordered_map<uint64_t, bool> fits_;      // by key and weights
};

}  // namespace reverie
