#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/exec/device/builder.h"
#include "core/exec/device/fuse.h"
#include "core/exec/device/rebuild.h"

namespace reverie::device {
namespace {

constexpr int kNone = -1;
/// As what a BatchNormalization is computed, and of what besides its first input.
constexpr int kNormalizationSteps = 2, kNormalizationInputs = 2;

/// A tree of nodes; it grows from its root towards what that is computed from.
struct Group {
  std::vector<NodeId> members;  ///< users before producers
  std::vector<ValueId> inputs;  ///< each once; without those that normalizations become
  int steps = 0;
  int normalizations = 0;
};

bool is_normalization(const Graph& graph, NodeId node) {
  return graph.op(node).is("BatchNormalization");
}

/// The inputs that stay when the node is an instruction.
std::span<const ValueId> operands(const Graph& graph, NodeId node) {
  const auto inputs = graph.inputs(node);
  return is_normalization(graph, node) ? inputs.first(1) : inputs;
}

bool is_computed_by_element(const Graph& graph, NodeId node) {
  const auto inputs = graph.inputs(node);
  if (is_normalization(graph, node))
    return std::all_of(inputs.begin() + 1, inputs.end(),
                       [&](ValueId input) { return graph.is_constant(input); });
  const Function* function = find_function(graph.op(node));
  return function != nullptr && *function != Function::kIdentity;
}

/// Whether the node can be a part of a tree.
bool fits(const Graph& graph, NodeId node) {
  if (!graph.is_work(node) || graph.attributes(node).varies() ||
      !is_computed_by_element(graph, node))
    return false;
  const TensorType& type = graph.type(graph.output(node));
  const auto inputs = graph.inputs(node);
  return is_device_float(type.dtype) && type.rank() <= kMaxAxes && type.elements() > 0 &&
         std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
           return input.valid() && graph.type(input).dtype == type.dtype;
         });
}

class Grouping {
 public:
  explicit Grouping(const Graph& graph)
      : graph_(graph), of_node_(static_cast<size_t>(graph.node_capacity()), kNone) {
    const std::vector<NodeId> order = graph.topological_order();
    for (size_t i = order.size(); i-- > 0;)
      if (fits(graph, order[i])) place(order[i]);
  }

  /// Of more than one node; nullptr where the node is in none.
  const Group* of(NodeId node) const {
    const int group = of_node_[static_cast<size_t>(node.index)];
    return group == kNone || groups_[at(group)].members.size() < 2 ? nullptr : &groups_[at(group)];
  }
  bool finds_any() const {
    return std::ranges::any_of(groups_,
                               [](const Group& group) { return group.members.size() > 1; });
  }

 private:
  static size_t at(int group) { return static_cast<size_t>(group); }

  void place(NodeId node) {
    int group = only_user(node);
    if (group == kNone || !join(groups_[at(group)], node)) {
      group = static_cast<int>(groups_.size());
      groups_.emplace_back();
      const bool is_small = join(groups_.back(), node);
      REVERIE_CHECK(is_small, "a node that is too large by itself");
    }
    of_node_[static_cast<size_t>(node.index)] = group;
  }

  /// The group of all that uses the node's result, if it is of that result's type.
  int only_user(NodeId node) const {
    const ValueId value = graph_.output(node);
    const auto users = graph_.users(value);
    if (users.empty() || graph_.is_output(value)) return kNone;
    const int group = of_node_[static_cast<size_t>(users[0].index)];
    const bool same = std::ranges::all_of(
        users, [&](NodeId user) { return of_node_[static_cast<size_t>(user.index)] == group; });
    if (!same || group == kNone) return kNone;
    const NodeId root = groups_[at(group)].members.front();
    return graph_.type(graph_.output(root)) == graph_.type(value) ? group : kNone;
  }

  /// False where it would be too large with the node.
  bool join(Group& group, NodeId node) const {
    const bool normalizes = is_normalization(graph_, node);
    Group joined = group;
    joined.members.push_back(node);
    joined.steps += normalizes ? kNormalizationSteps : 1;
    joined.normalizations += normalizes ? 1 : 0;
    std::erase(joined.inputs, graph_.output(node));
    for (const ValueId input : operands(graph_, node))
      if (std::ranges::find(joined.inputs, input) == joined.inputs.end())
        joined.inputs.push_back(input);
    const size_t inputs =
        joined.inputs.size() + static_cast<size_t>(kNormalizationInputs * joined.normalizations);
    if (inputs > size_t{kMaxPointwiseOperands} || joined.steps > kMaxInstructions) return false;
    group = std::move(joined);
    return true;
  }

  const Graph& graph_;
  std::vector<Group> groups_;
  std::vector<int> of_node_;
};

/// The program of one group, and its inputs in another graph.
class Program {
 public:
  explicit Program(Rebuilding& rebuilding)
      : graph_(rebuilding.from()), target_(rebuilding.to()), rebuilding_(rebuilding) {}

  NodeId add(const Group& group) {
    for (size_t i = group.members.size(); i-- > 0;) add_steps(group.members[i], i == 0);
    const ValueId result = graph_.output(group.members.front());
    const OpSchema& op = op_named("Pointwise");
    return target_.add_node(op, inputs_,
                            std::make_shared<const Attributes>(Attributes{
                                {"program", fmt::format("{}", fmt::join(statements_, "; "))}}),
                            std::vector{graph_.type(result)});
  }

 private:
  void add_steps(NodeId node, bool is_last) {
    std::vector<std::string> arguments;
    for (const ValueId input : operands(graph_, node)) arguments.push_back(name(input));
    std::string result;
    if (is_normalization(graph_, node)) {
      const auto [factor, summand] = normalization(node);
      const std::string product = add_step("Mul", {arguments[0], input_name(factor)}, {}, false);
      result = add_step("Add", {product, input_name(summand)}, {}, is_last);
    } else {
      result = add_step(graph_.op(node).name, arguments, graph_.attributes(node), is_last);
    }
    names_.emplace_back(graph_.output(node), result);
  }

  std::string add_step(std::string_view op, const std::vector<std::string>& arguments,
                       const Attributes& attributes, bool is_last) {
    std::string name = is_last ? "y" : fmt::format("t{}", statements_.size());
    std::vector<std::string> shown;
    for (const auto& [key, value] : attributes.entries())
      shown.push_back(fmt::format("{}={}", key, to_string(value)));
    statements_.push_back(fmt::format("{} = {}({})", name, op, fmt::join(arguments, ", ")));
    if (!shown.empty()) statements_.back() += fmt::format(" {{{}}}", fmt::join(shown, ", "));
    return name;
  }

  std::string name(ValueId value) {
    const auto known =
        std::ranges::find(names_, value, [](const auto& entry) { return entry.first; });
    if (known != names_.end()) return known->second;
    names_.emplace_back(value, input_name(rebuilding_.at(value)));
    return names_.back().second;
  }

  std::string input_name(ValueId of_target) {
    inputs_.push_back(of_target);
    return fmt::format("x{}", inputs_.size() - 1);
  }

  /// x factor + summand = (x - mean) / sqrt(variance + epsilon) scale + shift: what the node makes
  /// of 1 without mean and shift, and what it makes of 0.
  std::pair<ValueId, ValueId> normalization(NodeId node) {
    const TensorType& type = graph_.type(graph_.output(node));
    Shape one_each(type.shape.size(), 1);
    one_each[1] = type.shape[1];
    const auto filled = [&](const Shape& shape, double value) {
      return target_.add_constant(Weight::constant({type.dtype, shape}, value));
    };
    const auto given = [&](size_t i) { return rebuilding_.at(graph_.inputs(node)[i]); };
    const ValueId none = filled({type.shape[1]}, 0);
    const auto of = [&](double x, ValueId shift, ValueId mean) {
      return target_.add("BatchNormalization",
                         {filled(one_each, x), given(1), shift, mean, given(4)},
                         graph_.attributes(node));
    };
    return {of(1, none, none), of(0, given(2), given(3))};
  }

  const Graph& graph_;
  Graph& target_;
  Rebuilding& rebuilding_;
  std::vector<std::pair<ValueId, std::string>> names_;
  std::vector<std::string> statements_;
  std::vector<ValueId> inputs_;
};

}  // namespace

Graph with_pointwise(const Graph& graph) {
  const Grouping groups(graph);
  if (!groups.finds_any()) return graph;
  return rebuilt(graph, [&](NodeId node, Rebuilding& rebuilding) {
    const Group* group = groups.of(node);
    if (group == nullptr) return false;
    if (group->members.front() == node)
      rebuilding.at(graph.output(node)) = rebuilding.to().output(Program(rebuilding).add(*group));
    return true;
  });
}

}  // namespace reverie::device
