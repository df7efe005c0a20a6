#include "core/onnx/lower.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/fold_constants.h"
#include "core/onnx/proto.h"

namespace reverie {
namespace {

class Lowering {
 public:
  Lowering(const Graph& graph, bool fold)
      : graph_(graph), fold_(fold), image_(static_cast<size_t>(graph.value_capacity())) {
    for (const NodeId node : graph.nodes())
      if (const WeightPtr& weight = graph.weight(node)) names_.insert(weight->name());
    if (!fold_) return;
    for (const NodeId node : graph.nodes()) keep_if_second_copy(node);
  }

  Graph run() {
    for (const NodeId input : graph_.inputs())
      set(input, 0, result_.add_input(graph_.input_name(input), graph_.type(graph_.output(input))));
    for (const NodeId node : graph_.topological_order())
      if (is_operation(graph_, node) && !is_folded(node)) lower_node(node);
    for (const GraphOutput& output : graph_.outputs())
      result_.add_output(output.name, mapped(output.value));
    return result_.compacted();
  }

 private:
  bool is_folded(NodeId node) const {
    return fold_ && graph_.is_constant(node) && !kept_.contains(node);
  }

  /// What is not computed from constants, or an output.
  bool needs(ValueId value) const {
    const auto users = graph_.users(value);
    return graph_.is_output(value) ||
           std::ranges::any_of(users, [&](NodeId user) { return !graph_.is_constant(user); });
  }

  /// Elements of a large weight, moved, where the weight itself stays in the file, too: tied
  /// embeddings.
  void keep_if_second_copy(NodeId node) {
    constexpr int64_t kLarge = 1 << 12;  // bytes
    const auto is_stored = [&](ValueId value) {
      return graph_.weight(graph_.producer(value)) != nullptr;
    };
    if (!is_operation(graph_, node) || !graph_.is_constant(node) || graph_.inputs(node).empty())
      return;
    const ValueId value = graph_.output(node);
    const int64_t bytes = graph_.type(value).bytes();
    if (bytes < kLarge || !needs(value) || !is_only_moved(graph_, value)) return;
    ValueId source = value;
    std::vector<NodeId> chain;
    while (!is_stored(source)) {
      chain.push_back(graph_.producer(source));
      source = graph_.inputs(chain.back())[0];
    }
    if (needs(source) && graph_.type(source).bytes() == bytes)
      kept_.insert(chain.begin(), chain.end());
  }

  void set(NodeId node, int output, ValueId value) {
    image_[static_cast<size_t>(graph_.output(node, output).index)] = value;
  }

  ValueId mapped(ValueId value) {
    if (!value.valid()) return {};
    ValueId& image = image_[static_cast<size_t>(value.index)];
    if (!image.valid()) image = constant(value);
    return image;
  }

  ValueId constant(ValueId value) {
    REVERIE_CHECK(graph_.is_constant(value));
    const WeightPtr& stored = graph_.weight(graph_.producer(value));
    const ValueId added =
        shared(stored != nullptr ? stored : fold_constant(graph_, value, fresh_name()));
    if (stored != nullptr && result_.names(result_.producer(added)) == nullptr)
      result_.set_names(result_.producer(added), graph_.names(graph_.producer(value)));
    return added;
  }

  ValueId shared(const WeightPtr& weight) {
    const auto [known, added] = constants_.try_emplace(weight->identity());
    if (added) known->second = result_.add_constant(weight);
    return known->second;
  }

  std::string fresh_name() {
    while (true) {
      const std::string name = fmt::format("folded_{}", next_name_++);
      if (names_.insert(name).second) return name;
    }
  }

  void lower_node(NodeId node) {
    const OpSchema& op = graph_.op(node);
    if (&op == &opaque_op()) return copy(node, graph_.shared_attributes(node));
    if (passes_on(node)) return set(node, 0, mapped(graph_.inputs(node)[0]));
    if (op.is("Shape")) return lower_shape(node);
    if (op.is("Conv") || op.is("MatMul") || op.is("Gemm")) return lower_product(node);
    copy(node, std::make_shared<const Attributes>(rounded(graph_.attributes(node), node)));
  }

  /// Identities; among them those that ONNX cannot write, since it takes no empty list.
  bool passes_on(NodeId node) const {
    const OpSchema& op = graph_.op(node);
    const Attributes& attributes = graph_.attributes(node);
    const auto lists_nothing = [&](const char* name) { return attributes.integers(name).empty(); };
    if (op.is("Transpose")) return lists_nothing("perm");
    if (op.is("Squeeze") || op.is("Unsqueeze")) return lists_nothing("axes");
    return op.is("Identity") || op.is("Dropout");
  }

  void copy(NodeId node, const std::shared_ptr<const Attributes>& attributes) {
    std::vector<ValueId> inputs;
    for (const ValueId input : graph_.inputs(node)) inputs.push_back(mapped(input));
    const NodeId added =
        result_.add_node(graph_.op(node), inputs, attributes, output_types(graph_, node));
    result_.set_names(added, graph_.names(node));
    for (size_t i = 0; i < graph_.outputs(node).size(); ++i)
      set(node, static_cast<int>(i), result_.output(added, static_cast<int>(i)));
  }

  void lower_shape(NodeId node) {
    const Shape& shape = graph_.type(graph_.inputs(node)[0]).shape;
    const Attributes& attributes = graph_.attributes(node);
    const auto start = shape.begin() + attributes.integer("start");
    const auto end = std::max(shape.begin() + attributes.integer("end"), start);
    const Shape part(start, end);
    const auto extent = static_cast<int64_t>(part.size());
    set(node, 0, shared(Weight::dense(Tensor::of<int64_t>({extent}, part))));
  }

  void lower_product(NodeId node) {
    const Attributes attributes = rounded(graph_.attributes(node), node);
    std::vector<ValueId> inputs;
    for (const ValueId input : graph_.inputs(node)) inputs.push_back(mapped(input));
    const SpelledProduct spelled = spell_product(result_, graph_.op(node), inputs, attributes);
    if (result_.output(spelled.product) == spelled.value)
      result_.set_names(spelled.product, graph_.names(node));
    set(node, 0, spelled.value);
  }

  /// Numbers as a file holds them: of single precision, except bounds and fills of tensors that are
  /// exacter.
  Attributes rounded(Attributes attributes, NodeId node) const {
    const DType dtype = graph_.type(graph_.inputs(node)[0]).dtype;
    const bool exact = (dtype == DType::kFloat64 || !is_floating(dtype)) &&
                       (graph_.op(node).is("Clip") || graph_.op(node).is("Pad"));
    if (exact) return attributes;
    const Attributes original = attributes;
    for (const auto& [name, value] : original.entries())
      if (const double* number = std::get_if<double>(&value))
        attributes.set(name, proto::decimal(static_cast<float>(*number)));
    return attributes;
  }

  const Graph& graph_;
  bool fold_;
  Graph result_;
  std::vector<ValueId> image_;
  std::unordered_map<uint64_t, ValueId> constants_;
  std::set<std::string> names_;
  std::unordered_set<NodeId> kept_;  // although computed from constants alone
  int next_name_ = 0;
};

}  // namespace

bool is_operation(const Graph& graph, NodeId node) {
  return graph.weight(node) == nullptr && &graph.op(node) != &input_op();
}

namespace {

size_t own_inputs(const OpSchema& product) { return product.is("MatMul") ? 2 : 3; }

}  // namespace

size_t carried_nodes(const Graph& graph, NodeId node) {
  const OpSchema& op = graph.op(node);
  if (!op.is("Conv") && !op.is("MatMul") && !op.is("Gemm")) return 0;
  size_t nodes = graph.attributes(node).text("activation") == "none" ? 0 : 1;
  for (size_t i = own_inputs(op); i < graph.inputs(node).size(); ++i)
    nodes += graph.inputs(node)[i].valid() ? 1 : 0;
  return nodes;
}

SpelledProduct spell_product(Graph& graph, const OpSchema& op, std::span<const ValueId> inputs,
                             Attributes attributes) {
  const std::string activation = attributes.text("activation");
  attributes.set("activation", std::string("none"));
  std::vector<ValueId> kept;
  std::vector<ValueId> added;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].valid()) (i < own_inputs(op) ? kept : added).push_back(inputs[i]);
  SpelledProduct result;
  result.product = graph.add_node(op, kept, attributes);
  result.value = graph.output(result.product);
  for (const ValueId term : added) result.value = graph.add("Add", {result.value, term});
  if (activation == "relu") result.value = graph.add("Relu", {result.value});
  if (activation == "sigmoid") result.value = graph.add("Sigmoid", {result.value});
  if (activation == "tanh") result.value = graph.add("Tanh", {result.value});
  return result;
}

Graph lower(const Graph& graph, bool fold) { return Lowering(graph, fold).run(); }

}  // namespace reverie
