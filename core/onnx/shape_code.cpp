#include "core/onnx/shape_code.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/onnx/importer.h"
#include "core/onnx/opaque_node.h"

namespace reverie::proto {
namespace {

constexpr int kDeepest = 500;
constexpr int64_t kLongestList = 16;

/// Operators with attributes that follow from the extents of what they read.
bool follows_extents(const onnx::NodeProto& node) {
  static const std::set<std::string_view> operators = {"Expand",  "Pad",  "Reshape", "Resize", "Slice",
                                                       "Split",   "Tile", "TopK",    "Upsample"};
  if (operators.contains(node.op_type())) return true;
  return std::ranges::any_of(node.attribute(), [](const auto& attribute) {
    return attribute.name() == "auto_pad" && attribute.s().starts_with("SAME");
  });
}

onnx::NodeProto plain_node(const std::string& op, int inputs) {
  static const std::string input = "x", output = "y";
  onnx::NodeProto node;
  node.set_op_type(op);
  for (int i = 0; i < inputs; ++i) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::NodeProto node_along_front(const std::string& op, int inputs) {
  onnx::NodeProto node = plain_node(op, inputs);
  auto* axis = node.add_attribute();
  static const std::string name = "axis";
  axis->set_name(name);
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(0);
  return node;
}

WeightPtr integers(const std::vector<int64_t>& values, bool scalar = false) {
  const Shape shape = scalar ? Shape{} : Shape{static_cast<int64_t>(values.size())};
  return Weight::dense(Tensor::of<int64_t>(shape, values));
}

class ShapeCode {
 public:
  ShapeCode(const ObservedFile& file, const Graph& graph, ExtentCode code)
      : file_(file), graph_(graph), is_short_(code == ExtentCode::kShort) {}

  Graph run() {
    const std::vector<NodeId> nodes = graph_.topological_order();
    for (const NodeId node : nodes) index(node);
    for (const NodeId node : nodes)
      if (graph_.weight(node) != nullptr) restore_constant(node);
    for (const NodeId node : nodes)
      if (graph_.alive(node) && graph_.names(node) != nullptr) restore_node(node);
    graph_.erase_dead();
    return graph_.compacted();
  }

 private:
  /// Values of the file that the graph still has.
  void index(NodeId node) {
    if (&graph_.op(node) == &input_op()) remember(graph_.input_name(node), graph_.output(node));
    if (graph_.weight(node) != nullptr) remember(graph_.weight(node)->name(), graph_.output(node));
    if (graph_.names(node) == nullptr) return;
    const std::vector<std::string>& names = graph_.names(node)->outputs;
    for (size_t i = 0; i < std::min(names.size(), graph_.outputs(node).size()); ++i)
      remember(names[i], graph_.outputs(node)[i]);
  }

  void remember(const std::string& name, ValueId value) {
    const Observed* seen = file_.bound(name);
    if (seen != nullptr && seen->type == graph_.type(value)) live_[seen->value] = value;
  }

  /// No constant that depends on symbols.
  std::optional<ValueId> live(const std::string& name) const {
    const auto at = live_.find(file_.bound(name)->value);
    if (at == live_.end() || !graph_.alive(graph_.producer(at->second))) return std::nullopt;
    if (file_.constant_depends(name)) return std::nullopt;
    return at->second;
  }

  void restore_constant(NodeId node) {
    const auto& names = graph_.names(node);
    if (names == nullptr || names->outputs.empty()) return;
    const std::string& name = names->outputs[0];
    const Observed* seen = file_.bound(name);
    if (seen == nullptr || seen->weight == nullptr || !file_.constant_depends(name)) return;
    if (seen->weight->identity() != graph_.weight(node)->identity()) return;
    const auto code = code_of(name, 0);
    if (code) graph_.replace_all_uses(graph_.output(node), *code);
  }

  const onnx::NodeProto* original_of(NodeId node) const {
    const std::vector<std::string>& names = graph_.names(node)->outputs;
    const auto named = std::ranges::find_if(names, [](const std::string& name) { return !name.empty(); });
    if (named == names.end()) return nullptr;
    const onnx::NodeProto* original = file_.producer(*named);
    const bool is_same = original != nullptr && is_standard_domain(original->domain()) &&
                         original->op_type() == graph_.op(node).name &&
                         original->input_size() >= static_cast<int>(graph_.inputs(node).size()) &&
                         original->output_size() == static_cast<int>(graph_.outputs(node).size());
    return is_same ? original : nullptr;
  }

  bool may_depend(const onnx::NodeProto& original, size_t own_inputs) const {
    const auto type_depends = [&](const std::string& name) { return file_.type_depends(name); };
    if (follows_extents(original) && (std::ranges::any_of(original.input(), type_depends) ||
                                      std::ranges::any_of(original.output(), type_depends)))
      return true;
    const auto first = original.input().begin() + static_cast<int>(own_inputs);
    return std::any_of(first, original.input().end(),
                       [&](const std::string& name) { return file_.constant_depends(name); });
  }

  void restore_node(NodeId node) {
    if (graph_.op(node).is("Reshape") && restore_part(node)) return;
    const onnx::NodeProto* original = original_of(node);
    if (original == nullptr || !may_depend(*original, graph_.inputs(node).size())) return;
    onnx::NodeProto restored = *original;
    std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
    if (const auto shape = relative_shape(*original)) {
      restored = plain_node("Reshape", 2);
      restored.set_name(original->name());
      inputs.push_back(graph_.add_constant(integers(*shape)));
    } else {
      for (int i = static_cast<int>(inputs.size()); i < original->input_size(); ++i) {
        const auto input = input_code(original->input(i), node);
        if (!input) return;
        inputs.push_back(*input);
      }
    }
    replace(node, restored, inputs);
  }

  /// A Reshape that another operator of the file ends with, such as Softmax before opset 13.
  bool restore_part(NodeId node) {
    const std::vector<std::string>& names = graph_.names(node)->outputs;
    const onnx::NodeProto* original = names.empty() ? nullptr : file_.producer(names[0]);
    if (original == nullptr || original->op_type() == "Reshape" || !file_.type_depends(names[0]))
      return false;
    std::vector<std::vector<int64_t>> extents;
    for (int axis = 0; axis < graph_.type(graph_.output(node)).rank(); ++axis)
      extents.push_back(file_.extents(names[0], axis));
    const auto shape = list_of(extents, false);
    if (!shape) return false;
    replace(node, plain_node("Reshape", 2), {graph_.inputs(node)[0], *shape});
    return true;
  }

  void replace(NodeId node, const onnx::NodeProto& restored, const std::vector<ValueId>& inputs) {
    const NodeId added = add(restored, inputs, output_types(graph_, node));
    graph_.set_names(added, graph_.names(node));
    const std::vector<ValueId> old(graph_.outputs(node).begin(), graph_.outputs(node).end());
    for (size_t i = 0; i < old.size(); ++i)
      graph_.replace_all_uses(old[i], graph_.output(added, static_cast<int>(i)));
    index(added);
    graph_.erase_if_dead(node);
  }

  /// nullopt where it is not known how, or where the graph would get a cycle.
  std::optional<ValueId> input_code(const std::string& name, NodeId user) {
    if (name.empty()) return ValueId{};
    const auto code = code_of(name, 0);
    if (!code) return std::nullopt;
    const std::vector<NodeId> order = graph_.topological_order({&*code, 1});
    if (std::ranges::find(order, user) != order.end()) return std::nullopt;
    return code;
  }

  /// With 0 for an extent that stays as it is, and one -1.
  std::optional<Shape> relative_shape(const onnx::NodeProto& node) const {
    if (!is_short_ || node.op_type() != "Reshape") return std::nullopt;
    Shape result;
    const int rank = file_.bound(node.output(0))->type.rank();
    for (int axis = 0; axis < rank; ++axis) {
      const auto to = file_.extents(node.output(0), axis);
      if (to.empty()) return std::nullopt;
      const bool is_fixed = std::ranges::all_of(to, [&](int64_t extent) { return extent == to[0]; });
      if (is_fixed && to[0] > 0) result.push_back(to[0]);
      else if (to == file_.extents(node.input(0), axis)) result.push_back(0);
      else if (std::ranges::find(result, -1) == result.end()) result.push_back(-1);
      else return std::nullopt;
    }
    return result;
  }

  /// A value of the file in this graph.
  std::optional<ValueId> code_of(const std::string& name, int depth) {
    const auto known = written_.find(name);
    if (known != written_.end()) return known->second;
    written_[name] = std::nullopt;
    const auto code = new_code(name, depth);
    written_[name] = code;
    return code;
  }

  std::optional<ValueId> new_code(const std::string& name, int depth) {
    const Observed* seen = file_.bound(name);
    if (seen == nullptr || depth > kDeepest) return std::nullopt;
    if (const auto value = live(name)) return value;
    if (seen->weight == nullptr) return std::nullopt;
    if (!file_.constant_depends(name)) return graph_.add_constant(seen->weight);
    if (const auto value = from_graph_inputs(name)) return value;
    const onnx::NodeProto* node = file_.producer(name);
    if (node == nullptr || node->output_size() != 1) return std::nullopt;
    std::vector<ValueId> inputs;
    for (const auto& input : node->input()) {
      const auto code = input.empty() ? ValueId{} : code_of(input, depth + 1);
      if (!code) return std::nullopt;
      inputs.push_back(*code);
    }
    const NodeId added = add(*node, inputs, {&seen->type, 1});
    graph_.set_names(added, std::make_shared<const NodeNames>(NodeNames{name_or_output(*node), {name}}));
    return graph_.output(added);
  }

  /// A short list of numbers and extents of graph inputs.
  std::optional<ValueId> from_graph_inputs(const std::string& name) {
    const TensorType& type = file_.bound(name)->type;
    if (!is_short_ || type.dtype != DType::kInt64 || type.rank() > 1 || type.elements() > kLongestList ||
        file_.type_depends(name))
      return std::nullopt;
    std::vector<std::vector<int64_t>> elements;
    for (int64_t i = 0; i < type.elements(); ++i) elements.push_back(file_.elements(name, i));
    return list_of(elements, type.rank() == 0);
  }

  /// Each of `elements` by binding.
  std::optional<ValueId> list_of(const std::vector<std::vector<int64_t>>& elements, bool scalar) {
    if (elements.empty()) return std::nullopt;
    std::vector<ValueId> parts;
    for (const std::vector<int64_t>& element : elements) {
      if (element.empty()) return std::nullopt;
      const bool is_fixed = std::ranges::all_of(element, [&](int64_t e) { return e == element[0]; });
      const auto axis = is_fixed ? std::nullopt : file_.input_axis(element);
      if (!is_fixed && !(axis && live(axis->input))) return std::nullopt;
      parts.push_back(is_fixed ? graph_.add_constant(integers({element[0]}, scalar)) : extent(*axis, scalar));
    }
    if (parts.size() == 1) return parts[0];
    const TensorType type = {DType::kInt64, {static_cast<int64_t>(parts.size())}};
    return graph_.output(add(node_along_front("Concat", static_cast<int>(parts.size())), parts, {&type, 1}));
  }

  ValueId extent(const InputAxis& axis, bool scalar) {
    const auto [known, added] = extents_.try_emplace({axis.input, axis.axis, scalar});
    if (!added) return known->second;
    const ValueId input = *live(axis.input);
    const auto [shape, is_new] = shapes_.try_emplace(axis.input);
    if (is_new) {
      const TensorType type = {DType::kInt64, {graph_.type(input).rank()}};
      shape->second = graph_.output(add(plain_node("Shape", 1), {&input, 1}, {&type, 1}));
    }
    const TensorType type = {DType::kInt64, scalar ? Shape{} : Shape{1}};
    const std::vector<ValueId> with = {shape->second, graph_.add_constant(integers({axis.axis}, scalar))};
    return known->second = graph_.output(add(node_along_front("Gather", 2), with, {&type, 1}));
  }

  NodeId add(const onnx::NodeProto& node, std::span<const ValueId> inputs,
             std::span<const TensorType> types) {
    return graph_.add_node(opaque_op(), inputs,
                           std::make_shared<const Attributes>(opaque_attributes(node, file_.model())),
                           types);
  }

  const ObservedFile& file_;
  Graph graph_;
  bool is_short_;
  std::map<ValueId, ValueId> live_;  // by the value that the first import made of it
  std::map<std::string, std::optional<ValueId>> written_;
  std::map<std::string, ValueId> shapes_;
  std::map<std::tuple<std::string, int, bool>, ValueId> extents_;
};

}  // namespace

Graph with_shape_code(const ObservedFile& original, const Graph& graph, ExtentCode code) {
  return original.has_others() ? ShapeCode(original, graph, code).run() : graph;
}

}  // namespace reverie::proto
