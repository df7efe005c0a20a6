#include "core/onnx/shape_code.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/base/error.h"
#include "core/base/sort_unique.h"
#include "core/onnx/auto_pad.h"
#include "core/onnx/lower.h"
#include "core/onnx/node_notes.h"
#include "core/onnx/opaque_node.h"
#include "core/onnx/sampled_terms.h"
#include "core/onnx/tensors.h"
#include "core/onnx/write_node.h"

namespace reverie::proto {
namespace {

constexpr int kDeepest = 500;
constexpr int64_t kLongestList = 16;

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

/// Products whose attributes vary as ONNX has them, and ids without gaps.
Graph with_spelled_products(Graph graph) {
  for (const NodeId node : graph.topological_order()) {
    const OpSchema& op = graph.op(node);
    if (!op.is("Conv") || !graph.attributes(node).varies() || carried_nodes(graph, node) == 0)
      continue;
    const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end());
    const ValueId value = spell_product(graph, op, inputs, graph.attributes(node)).value;
    graph.replace_all_uses(graph.output(node), value);
    graph.erase_if_dead(node);
  }
  return graph.compacted();
}

class ShapeCode {
 public:
  ShapeCode(const SampledFile& file, const Graph& graph, ExtentCode code)
      : file_(file),
        sampled_(with_spelled_products(graph)),
        graph_(sampled_.sample(0)),
        is_short_(code == ExtentCode::kShort) {}

  Graph run() {
    const std::vector<NodeId> nodes = sampled_.topological_order();
    for (const NodeId node : nodes) index(node);
    note_extents(nodes);
    for (const NodeId node : nodes)
      if (sampled_.weight(node) != nullptr && sampled_.weight(node)->varies())
        restore_constant(node);
    for (const NodeId node : nodes)
      if (graph_.alive(node) && sampled_.attributes(node).varies()) restore_node(node);
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
    if (file_.has_type(name, sampled_type(value))) live_[file_.first(name)->value] = value;
  }

  const TensorType& sampled_type(ValueId value) const {
    const auto origin = origins_.find(value);
    if (origin != origins_.end()) return sampled_.type(origin->second);
    const bool is_new = value.index >= sampled_.value_capacity();  // shape code
    return is_new ? graph_.type(value) : sampled_.type(value);
  }

  /// No constant that depends on symbols.
  std::optional<ValueId> live(const std::string& name) const {
    const auto at = live_.find(file_.first(name)->value);
    if (at == live_.end() || !graph_.alive(graph_.producer(at->second))) return std::nullopt;
    if (file_.constant_depends(name)) return std::nullopt;
    return at->second;
  }

  void restore_constant(NodeId node) {
    const auto& names = graph_.names(node);
    if (names == nullptr || names->outputs.empty()) return;
    const std::string& name = names->outputs[0];
    const Observed* seen = file_.first(name);
    if (seen == nullptr || seen->weight == nullptr || !file_.constant_depends(name)) return;
    if (seen->weight->identity() != graph_.weight(node)->identity()) return;
    set_reader(first_user(graph_.output(node)));
    const auto code = code_of(name, 0);
    if (code && !reads_users_of(*code, node)) graph_.replace_all_uses(graph_.output(node), *code);
  }

  bool reads_users_of(ValueId code, NodeId node) const {
    const std::vector<NodeId> order = graph_.topological_order({&code, 1});
    return std::ranges::any_of(graph_.users(graph_.output(node)), [&](NodeId user) {
      return std::ranges::find(order, user) != order.end();
    });
  }

  /// Invalid where an output of the graph alone reads it.
  NodeId first_user(ValueId value) const {
    const auto before = [&](NodeId a, NodeId b) { return position(a) < position(b); };
    const auto users = graph_.users(value);
    return users.empty() ? NodeId{} : *std::ranges::min_element(users, before);
  }

  /// Code is written for `reader` now: what could not be written for another may be.
  void set_reader(NodeId reader) {
    reader_ = reader;
    std::erase_if(written_, [](const auto& entry) { return !entry.second; });
  }

  size_t position(NodeId node) const { return positions_[static_cast<size_t>(node.index)]; }

  /// Where each varying extent stands, in topological order.
  void note_extents(const std::vector<NodeId>& order) {
    positions_.resize(static_cast<size_t>(sampled_.node_capacity()));
    for (size_t i = 0; i < order.size(); ++i) {
      positions_[static_cast<size_t>(order[i].index)] = i;
      for (const ValueId output : sampled_.outputs(order[i])) {
        const TensorType& type = sampled_.type(output);
        for (int axis = 0; type.varies() && axis < type.rank(); ++axis) {
          const Sampled extents = extents_of(type, axis);
          if (!is_fixed(extents) && !sampled_.is_constant(output))
            places_[extents].push_back({output, axis});
        }
      }
    }
  }

  const onnx::NodeProto* original_of(NodeId node) const {
    if (graph_.names(node) == nullptr) return nullptr;
    const std::vector<std::string>& names = graph_.names(node)->outputs;
    const auto named =
        std::ranges::find_if(names, [](const std::string& name) { return !name.empty(); });
    if (named == names.end()) return nullptr;
    const onnx::NodeProto* original = file_.producer(*named);
    const bool is_same = original != nullptr && is_standard_domain(original->domain()) &&
                         original->op_type() == graph_.op(node).name &&
                         original->input_size() >= static_cast<int>(graph_.inputs(node).size()) &&
                         original->output_size() == static_cast<int>(graph_.outputs(node).size());
    return is_same ? original : nullptr;
  }

  void restore_node(NodeId node) {
    set_reader(node);
    if (is_short_ && restore_relative(node)) return;
    if (!restore_original(node)) restore_anew(node);
  }

  /// A Reshape with 0 for an extent that stays as it is, and one -1.
  bool restore_relative(NodeId node) {
    if (!graph_.op(node).is("Reshape")) return false;
    const TensorType& from = sampled_type(graph_.inputs(node)[0]);
    const TensorType& to = sampled_.type(graph_.output(node));
    Shape shape;
    for (int axis = 0; axis < to.rank(); ++axis) {
      const Sampled extents = extents_of(to, axis);
      if (is_fixed(extents) && extents[0] > 0)
        shape.push_back(extents[0]);
      else if (axis < from.rank() && extents == extents_of(from, axis))
        shape.push_back(0);
      else if (std::ranges::find(shape, -1) == shape.end())
        shape.push_back(-1);
      else
        return false;
    }
    onnx::NodeProto restored = plain_node("Reshape", 2);
    restored.set_name(name_of(node));
    replace(node, restored, {graph_.inputs(node)[0], graph_.add_constant(integers(shape))});
    return true;
  }

  /// As it stands in the file.
  bool restore_original(NodeId node) {
    const onnx::NodeProto* original = original_of(node);
    if (original == nullptr) return false;
    std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
    for (int i = static_cast<int>(inputs.size()); i < original->input_size(); ++i) {
      const auto input = input_code(original->input(i), node);
      if (!input) return false;
      inputs.push_back(*input);
    }
    replace(node, *original, inputs);
    return true;
  }

  /// As a new node with attributes that ONNX has as inputs.
  bool restore_anew(NodeId node) {
    const Language language{std::max(standard_opset(file_.model()), kOldestWritten)};
    if (!can_write(graph_, node, language)) return false;
    onnx::GraphProto scratch;
    Target target{&scratch, language, [](const std::string& stem) { return stem; }};
    std::map<std::string, ValueId> values;
    std::vector<std::string> inputs, outputs;
    for (const ValueId output : graph_.outputs(node))
      outputs.push_back(fmt::format("y{}", output.index));
    for (const ValueId input : graph_.inputs(node)) {
      inputs.push_back(input.valid() ? fmt::format("x{}", input.index) : "");
      values[inputs.back()] = input;
    }
    write_node(graph_, node, name_of(node), inputs, outputs, target);
    for (const onnx::TensorProto& tensor : scratch.initializer()) {
      const auto value = moved_attribute(node, tensor);
      if (!value) return false;
      values[tensor.name()] = *value;
    }
    std::vector<ValueId> all;
    for (const std::string& name : scratch.node(0).input()) all.push_back(values[name]);
    const bool is_same = pad_automatically(node, scratch.mutable_node(0));
    if (!is_same && !all_moved(node, scratch)) return false;
    replace(node, scratch.node(0), all);
    return true;
  }

  /// Replaces pads that vary by what gives these at every sample; false where nothing does.
  bool pad_automatically(NodeId node, onnx::NodeProto* proto) const {
    auto& written = *proto->mutable_attribute();
    const auto named = [&](const char* name) {
      return std::ranges::find_if(written,
                                  [&](const auto& attribute) { return attribute.name() == name; });
    };
    const auto pads = named("pads"), kernel = named("kernel_shape");
    if (pads == written.end() || kernel == written.end()) return false;
    const std::vector<int64_t> window(kernel->ints().begin(), kernel->ints().end());
    for (const bool upper : {true, false}) {
      if (!pads_are_same(node, window, upper)) continue;
      pads->Clear();
      pads->set_name("auto_pad");
      pads->set_type(onnx::AttributeProto::STRING);
      pads->set_s(upper ? "SAME_UPPER" : "SAME_LOWER");
      return true;
    }
    return false;
  }

  bool pads_are_same(NodeId node, const std::vector<int64_t>& window, bool upper) const {
    const TensorType& input = sampled_type(graph_.inputs(node)[0]);
    if (input.rank() != static_cast<int>(window.size()) + 2) return false;
    const std::vector<int64_t> ones(window.size(), 1);
    for (size_t sample = 0; sample < file_.samples(); ++sample) {
      const Attributes attributes = sampled_.attributes(node).at(sample);
      const Shape pads = same_pads(std::span(input.shape_at(sample)).subspan(2), window,
                                   attributes.integers("strides", ones),
                                   attributes.integers("dilations", ones), upper);
      if (pads != attributes.integers("pads", {})) return false;
    }
    return true;
  }

  std::string name_of(NodeId node) const {
    return graph_.names(node) == nullptr ? "" : graph_.names(node)->node;
  }

  /// Whether each attribute that varies is an input.
  bool all_moved(NodeId node, const onnx::GraphProto& scratch) const {
    const Attributes& attributes = sampled_.attributes(node);
    return std::ranges::all_of(attributes.entries(), [&](const Attributes::Entry& entry) {
      return is_fixed_attribute(attributes, entry) ||
             std::ranges::any_of(scratch.initializer(),
                                 [&](const auto& tensor) { return tensor.name() == entry.first; });
    });
  }

  static bool is_fixed_attribute(const Attributes& attributes, const Attributes::Entry& entry) {
    for (size_t sample = 1; sample < attributes.samples(); ++sample) {
      const AttrValue* other = attributes.find(entry.first, sample);
      if (other == nullptr || *other != entry.second) return false;
    }
    return true;
  }

  /// An attribute as the tensor that ONNX has for it.
  std::optional<ValueId> moved_attribute(NodeId node, const onnx::TensorProto& tensor) {
    static ExternalFiles no_files{std::filesystem::path()};
    const Attributes& attributes = sampled_.attributes(node);
    const AttrValue* value = attributes.find(tensor.name());
    if (value == nullptr || is_fixed_attribute(attributes, {tensor.name(), *value}))
      return graph_.add_constant(Weight::dense(read_tensor(tensor, no_files)));
    std::vector<Sampled> elements;
    for (size_t sample = 0; sample < attributes.samples(); ++sample) {
      const AttrValue* at = attributes.find(tensor.name(), sample);
      const Shape numbers = at == nullptr ? Shape{} : integers_of(*at);
      elements.resize(std::max(elements.size(), numbers.size()));
      for (size_t i = 0; i < numbers.size(); ++i) elements[i].push_back(numbers[i]);
    }
    return list_of(elements, tensor.dims_size() == 0, false);
  }

  static Shape integers_of(const AttrValue& value) {
    if (const auto* one = std::get_if<int64_t>(&value)) return {*one};
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    return list != nullptr ? *list : Shape{};
  }

  void replace(NodeId node, const onnx::NodeProto& restored, const std::vector<ValueId>& inputs) {
    const NodeId added = add(restored, inputs, output_types(graph_, node));
    graph_.set_names(added, graph_.names(node));
    const std::vector<ValueId> old(graph_.outputs(node).begin(), graph_.outputs(node).end());
    for (size_t i = 0; i < old.size(); ++i) {
      const ValueId output = graph_.output(added, static_cast<int>(i));
      const auto origin = origins_.find(old[i]);
      origins_[output] = origin == origins_.end() ? old[i] : origin->second;
      replacements_[origins_[output]] = output;
      graph_.replace_all_uses(old[i], output);
    }
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

  Sampled extents_of(const TensorType& type, int axis) const {
    Sampled extents;
    for (size_t sample = 0; sample < file_.samples(); ++sample)
      extents.push_back(type.shape_at(sample)[static_cast<size_t>(axis)]);
    return extents;
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
    const Observed* seen = file_.first(name);
    if (seen == nullptr || depth > kDeepest) return std::nullopt;
    if (const auto value = live(name)) return value;
    if (seen->weight == nullptr) return std::nullopt;
    if (!file_.constant_depends(name)) return graph_.add_constant(seen->weight);
    if (is_short_)
      if (const auto value = from_numbers(name, true)) return value;
    const auto value = as_in_file(name, depth);
    return value ? value : from_numbers(name, false);
  }

  std::optional<ValueId> as_in_file(const std::string& name, int depth) {
    const onnx::NodeProto* node = file_.producer(name);
    if (node == nullptr || node->output_size() != 1) return std::nullopt;
    std::vector<ValueId> inputs;
    for (const auto& input : node->input()) {
      const auto code = input.empty() ? ValueId{} : code_of(input, depth + 1);
      if (!code) return std::nullopt;
      inputs.push_back(*code);
    }
    const NodeId added = add(*node, inputs, {&file_.first(name)->type, 1});
    graph_.set_names(added, std::make_shared<const NodeNames>(
                                NodeNames{name_or_output(*node), {name}, notes_of(*node)}));
    return graph_.output(added);
  }

  /// A short list of numbers.
  std::optional<ValueId> from_numbers(const std::string& name, bool short_only) {
    const TensorType& type = file_.first(name)->type;
    if (type.dtype != DType::kInt64 || type.rank() > 1 || type.elements() > kLongestList ||
        file_.type_depends(name))
      return std::nullopt;
    std::vector<Sampled> elements;
    for (int64_t i = 0; i < type.elements(); ++i) elements.push_back(file_.elements(name, i));
    return list_of(elements, type.rank() == 0, short_only);
  }

  std::optional<ValueId> list_of(const std::vector<Sampled>& elements, bool scalar,
                                 bool short_only) {
    if (elements.empty()) return std::nullopt;
    if (const auto whole = extents_of_one(elements, scalar); whole && !short_only) return whole;
    std::vector<ValueId> parts;
    for (const Sampled& element : elements) {
      if (element.size() != file_.samples()) return std::nullopt;
      const auto part = is_fixed(element) ? graph_.add_constant(integers({element[0]}, scalar))
                                          : number_code(element, scalar, short_only);
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    if (parts.size() == 1) return parts[0];
    const TensorType type = {DType::kInt64, {static_cast<int64_t>(parts.size())}};
    return graph_.output(
        add(node_along_front("Concat", static_cast<int>(parts.size())), parts, {&type, 1}));
  }

  /// Where all elements are extents of one value that the reader reads.
  std::optional<ValueId> extents_of_one(const std::vector<Sampled>& elements, bool scalar) {
    if (!reader_.valid()) return std::nullopt;
    const std::vector<ValueId> inputs(graph_.inputs(reader_).begin(), graph_.inputs(reader_).end());
    for (const ValueId input : inputs) {
      if (!input.valid() || graph_.is_constant(input)) continue;
      const TensorType& type = sampled_type(input);
      Shape axes;
      for (const Sampled& element : elements)
        for (int axis = 0; axis < type.rank(); ++axis)
          if (extents_of(type, axis) == element) {
            axes.push_back(axis);
            break;
          }
      if (axes.size() == elements.size()) return gathered(shape_of(input), axes, scalar);
    }
    return std::nullopt;
  }

  /// An extent of a graph input; unless `short_only` also that of a value before the reader, a
  /// number that the file computes, or what follows from two of these.
  std::optional<ValueId> number_code(const Sampled& number, bool scalar, bool short_only) {
    const auto input_axis = file_.input_axis(number);
    const auto input = input_axis ? live(input_axis->input) : std::nullopt;
    if (input) return extent(*input, input_axis->axis, scalar);
    if (short_only) return std::nullopt;
    const auto known = known_number(number, scalar);
    return known ? known : computed_number(number, scalar);
  }

  std::optional<ValueId> known_number(const Sampled& number, bool scalar) {
    const auto before = extent_before(number, scalar);
    return before ? before : file_number(number, scalar);
  }

  /// Of the value nearest to the reader.
  std::optional<ValueId> extent_before(const Sampled& number, bool scalar) {
    const auto places = places_.find(number);
    if (places == places_.end()) return std::nullopt;
    for (auto place = places->second.rbegin(); place != places->second.rend(); ++place) {
      if (reader_.valid() && position(sampled_.producer(place->value)) >= position(reader_))
        continue;
      const auto replaced = replacements_.find(place->value);
      const ValueId value = replaced == replacements_.end() ? place->value : replaced->second;
      if (graph_.alive(graph_.producer(value))) return extent(value, place->axis, scalar);
    }
    return std::nullopt;
  }

  std::optional<ValueId> file_number(const Sampled& number, bool scalar) {
    const auto element = file_.constant_element(number);
    if (!element) return std::nullopt;
    const auto constant =
        reader_.valid() ? input_code(element->constant, reader_) : code_of(element->constant, 0);
    if (!constant) return std::nullopt;
    const bool is_scalar = graph_.type(*constant).rank() == 0;
    return gathered(is_scalar ? reshaped(*constant, {1}) : *constant, {element->index}, scalar);
  }

  std::optional<ValueId> computed_number(const Sampled& number, bool scalar) {
    for (const SampledTerm& term : terms_of(number, numbers_at_hand()))
      if (const auto code = term_code(term, scalar)) return code;
    return std::nullopt;
  }

  /// Those of graph inputs, of what the reader reads, and of what the file computes.
  std::vector<Sampled> numbers_at_hand() const {
    std::vector<Sampled> found = file_.varying_elements();
    const auto add_from = [&](ValueId value) {
      const TensorType& type = sampled_type(value);
      for (int axis = 0; axis < type.rank(); ++axis)
        if (const Sampled extents = extents_of(type, axis); !is_fixed(extents))
          found.push_back(extents);
    };
    for (const NodeId input : sampled_.inputs()) add_from(sampled_.output(input));
    if (reader_.valid())
      for (const ValueId input : graph_.inputs(reader_))
        if (input.valid()) add_from(input);
    sort_unique(found);
    return found;
  }

  std::optional<ValueId> term_code(const SampledTerm& term, bool scalar) {
    const auto part = [&](const Sampled& number) -> std::optional<ValueId> {
      if (is_fixed(number)) return graph_.add_constant(integers({number[0]}, scalar));
      return known_number(number, scalar);
    };
    const auto x = part(term.a), y = part(term.b);
    if (!x || !y) return std::nullopt;
    const std::vector<ValueId> inputs = {*x, *y};
    const TensorType type = {DType::kInt64, scalar ? Shape{} : Shape{1}};
    return graph_.output(add(plain_node(term.op, 2), inputs, {&type, 1}));
  }

  ValueId extent(ValueId value, int axis, bool scalar) {
    const auto [known, added] = extents_.try_emplace({value, axis, scalar});
    if (added) known->second = gathered(shape_of(value), {axis}, scalar);
    return known->second;
  }

  ValueId shape_of(ValueId value) {
    const auto [shape, is_new] = shapes_.try_emplace(value);
    if (!is_new) return shape->second;
    const TensorType type = {DType::kInt64, {graph_.type(value).rank()}};
    return shape->second = graph_.output(add(plain_node("Shape", 1), {&value, 1}, {&type, 1}));
  }

  ValueId gathered(ValueId list, const Shape& indices, bool scalar) {
    const TensorType type = {DType::kInt64,
                             scalar ? Shape{} : Shape{static_cast<int64_t>(indices.size())}};
    const std::vector<ValueId> with = {list, graph_.add_constant(integers(indices, scalar))};
    return graph_.output(add(node_along_front("Gather", 2), with, {&type, 1}));
  }

  ValueId reshaped(ValueId value, const Shape& shape) {
    const TensorType type = {DType::kInt64, shape};
    const std::vector<ValueId> with = {value, graph_.add_constant(integers(shape))};
    return graph_.output(add(plain_node("Reshape", 2), with, {&type, 1}));
  }

  NodeId add(const onnx::NodeProto& node, std::span<const ValueId> inputs,
             std::span<const TensorType> types) {
    return graph_.add_node(
        opaque_op(), inputs,
        std::make_shared<const Attributes>(opaque_attributes(node, file_.model())), types);
  }

  const SampledFile& file_;
  Graph sampled_;
  Graph graph_;  ///< with the ids of `sampled_`, and new ones
  bool is_short_;
  std::map<ValueId, ValueId> origins_;       // of what took the place of a value of `sampled_`
  std::map<ValueId, ValueId> replacements_;  // the other way round
  struct Place {
    ValueId value;  ///< of `sampled_`
    int axis = 0;
  };
  std::map<Sampled, std::vector<Place>> places_;  // by extent
  std::vector<size_t> positions_;                 // by node of `sampled_`: in topological order
  NodeId reader_;  ///< for which code is written; invalid: for outputs of the graph
  std::map<ValueId, ValueId> live_;  // by the value that the first import made of it
  std::map<std::string, std::optional<ValueId>> written_;
  std::map<ValueId, ValueId> shapes_;
  std::map<std::tuple<ValueId, int, bool>, ValueId> extents_;
};

}  // namespace

Graph with_shape_code(const SampledFile& file, const Graph& graph, ExtentCode code) {
  return ShapeCode(file, graph, code).run();
}

}  // namespace reverie::proto
