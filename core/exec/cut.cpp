#include "core/exec/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace reverie {
namespace {

class Cutter {
 public:
  explicit Cutter(const Graph& graph)
      : graph_(graph),
        moved_(static_cast<size_t>(graph.value_capacity())),
        label_(static_cast<size_t>(graph.value_capacity())) {}

  CutGraph cut() {
    for (const NodeId input : graph_.inputs())
      moved(graph_.output(input)) =
          result_.graph.add_input(graph_.input_name(input), graph_.type(graph_.output(input)));
    for (const NodeId node : graph_.topological_order()) {
      if (&graph_.op(node) == &opaque_op()) {
        remove(node);
      } else if (&graph_.op(node) != &input_op()) {
        copy(node);
      }
    }
    for (const GraphOutput& output : graph_.outputs()) use(output.value, output.name);
    std::sort(result_.seams.begin(), result_.seams.end());
    return std::move(result_);
  }

 private:
  ValueId& moved(ValueId value) { return moved_[static_cast<size_t>(value.index)]; }

  /// Makes `value` an output called `name`, or a seam where its type is unknown.
  void use(ValueId value, const std::string& name) {
    if (graph_.type(value).known()) {
      result_.graph.add_output(name, moved(value));
    } else {
      result_.seams.push_back(name + " is " + label_[static_cast<size_t>(value.index)]);
    }
  }

  void remove(NodeId node) {
    const uint64_t hash = graph_.attributes(node).hash();
    const std::string label = fmt::format("{} {:016x}.{}", graph_.attributes(node).text("op"), hash,
                                          seen_[hash]++);
    ++result_.opaque_nodes;
    result_.seams.push_back(label);
    const auto inputs = graph_.inputs(node);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].valid()) use(inputs[i], fmt::format("input {} of {}", i, label));
    const auto outputs = graph_.outputs(node);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const std::string name = fmt::format("output {} of {}", i, label);
      label_[static_cast<size_t>(outputs[i].index)] = name;
      if (graph_.type(outputs[i]).known())
        moved(outputs[i]) = result_.graph.add_input(name, graph_.type(outputs[i]));
    }
  }

  void copy(NodeId node) {
    if (graph_.weight(node)) {
      moved(graph_.output(node)) = result_.graph.add_constant(graph_.weight(node));
      return;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : graph_.inputs(node))
      inputs.push_back(input.valid() ? moved(input) : ValueId{});
    const NodeId added = result_.graph.add_node(
        graph_.op(node), inputs, graph_.shared_attributes(node), output_types(graph_, node));
    for (size_t i = 0; i < graph_.outputs(node).size(); ++i)
      moved(graph_.outputs(node)[i]) = result_.graph.output(added, static_cast<int>(i));
  }

  const Graph& graph_;
  CutGraph result_;
  std::vector<ValueId> moved_;      // by value of the uncut graph
  std::vector<std::string> label_;  // of outputs of opaque nodes
  std::unordered_map<uint64_t, int> seen_;
};

}  // namespace

CutGraph cut_at_opaque(const Graph& graph) { return Cutter(graph).cut(); }

}  // namespace reverie
