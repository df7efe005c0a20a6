#include "core/exec/cut.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/hash.h"

namespace reverie {
namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const std::set<uint64_t>& others)
      : graph_(graph),
        others_(others),
        moved_(static_cast<size_t>(graph.value_capacity())),
        label_(static_cast<size_t>(graph.value_capacity())) {}

  CutGraph cut() {
    for (const NodeId input : graph_.inputs()) keep(input);
    for (const NodeId node : graph_.topological_order()) {
      if (&graph_.op(node) == &opaque_op() ||
          (graph_.is_work(node) && others_.contains(kind_of(graph_, node)))) {
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
  std::string& label(ValueId value) { return label_[static_cast<size_t>(value.index)]; }

  void keep(NodeId input) {
    const ValueId value = graph_.output(input);
    const TensorType& type = graph_.type(value);
    const std::string& name = graph_.input_name(input);
    label(value) = fmt::format("input '{}'", name);
    if (type.has_numbers()) {
      moved(value) = result_.graph.add_input(name, type);
    } else {
      result_.seams.push_back(fmt::format("{} of type {}", label(value), to_string(type)));
    }
  }

  /// Makes `value` an output called `name`, or a seam where it has no numbers.
  void use(ValueId value, const std::string& name) {
    if (graph_.type(value).has_numbers()) {
      result_.graph.add_output(name, moved(value));
    } else {
      result_.seams.push_back(name + " is " + label(value));
    }
  }

  void remove(NodeId node) {
    const uint64_t hash = kind_of(graph_, node);
    const std::string op = &graph_.op(node) == &opaque_op() ? graph_.attributes(node).text("op")
                                                            : graph_.op(node).name;
    const std::string seam = fmt::format("{} {:016x}.{}", op, hash, seen_[hash]++);
    ++result_.opaque_nodes;
    result_.seams.push_back(seam);
    const auto inputs = graph_.inputs(node);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].valid()) use(inputs[i], fmt::format("input {} of {}", i, seam));
    const auto outputs = graph_.outputs(node);
    for (size_t i = 0; i < outputs.size(); ++i) {
      label(outputs[i]) = fmt::format("output {} of {}", i, seam);
      if (graph_.type(outputs[i]).has_numbers())
        moved(outputs[i]) = result_.graph.add_input(label(outputs[i]), graph_.type(outputs[i]));
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
    result_.graph.set_names(added, graph_.names(node));
    for (size_t i = 0; i < graph_.outputs(node).size(); ++i)
      moved(graph_.outputs(node)[i]) = result_.graph.output(added, static_cast<int>(i));
  }

  const Graph& graph_;
  const std::set<uint64_t>& others_;
  CutGraph result_;
  std::vector<ValueId> moved_;      // by value of the uncut graph
  std::vector<std::string> label_;  // of graph inputs and of outputs of opaque nodes
  std::unordered_map<uint64_t, int> seen_;
};

}  // namespace

uint64_t kind_of(const Graph& graph, NodeId node) {
  if (&graph.op(node) == &opaque_op()) {
    Attributes meaning = graph.attributes(node);
    meaning.erase("opsets");  // a file may raise it where nothing changes
    return meaning.hash();
  }
  const uint64_t attributes = graph.attributes(node).hash();
  uint64_t kind = hash_combine(static_cast<uint64_t>(graph.op(node).id), attributes);
  for (const TensorType& type : output_types(graph, node)) kind = hash_combine(kind, hash_of(type));
  return kind;
}

CutGraph cut_at_opaque(const Graph& graph, const std::set<uint64_t>& others) {
  return Cutter(graph, others).cut();
}

}  // namespace reverie
