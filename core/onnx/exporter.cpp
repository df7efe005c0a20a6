#include "core/onnx/exporter.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/ir/formula.h"
#include "core/onnx/captures.h"
#include "core/onnx/lower.h"
#include "core/onnx/node_notes.h"
#include "core/onnx/runtime_forms.h"
#include "core/onnx/tensors.h"

namespace reverie::proto {
namespace {

onnx::NodeProto opaque_node(const Graph& graph, NodeId id) {
  onnx::NodeProto node;
  REVERIE_CHECK(node.ParseFromString(graph.attributes(id).text("proto")));
  return node;
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// IR version that came with each opset (ONNX's table of versions).
int64_t ir_version_for(int opset) {
  if (opset <= 9) return 4;
  if (opset <= 11) return opset - 5;
  if (opset <= 14) return 7;
  if (opset <= 18) return 8;
  return opset <= 20 ? 9 : std::max(10, opset - 12);
}

bool is_stored_as_fill(const Weight& weight, int opset) {
  return weight.is_fill() && !weight.is_small() && opset >= 9 &&
         weight.type().dtype != DType::kBFloat16;
}

bool is_stored_as_expand(const Weight& weight, int opset) {
  const int since = weight.type().dtype == DType::kBFloat16 ? 13 : 8;
  return is_formula(weight) && weight.is_fill() && opset >= since &&
         weight.type().bytes() > kLargestStoredFill;
}

/// Takes back the symbols among them that are to be kept.
void restore_symbols(const onnx::ValueInfoProto& declared, const std::set<std::string>& symbols,
                     onnx::TensorShapeProto* shape) {
  const std::vector<std::string> named = dimension_symbols(declared);
  for (int i = 0; i < std::min(static_cast<int>(named.size()), shape->dim_size()); ++i)
    if (symbols.contains(named[static_cast<size_t>(i)]))
      *shape->mutable_dim(i) = declared.type().tensor_type().shape().dim(i);
}

Tensor element_of(const Weight& fill, const Shape& shape) {
  return Weight::constant({fill.type().dtype, shape}, fill.fill_value())->materialize();
}

}  // namespace

Exporter::Exporter(const Graph& graph, const ModelInfo& info, const Language& language,
                   const std::set<std::string>& symbols)
    : graph_(graph),
      info_(info),
      language_(language),
      symbols_(symbols),
      names_(static_cast<size_t>(graph.value_capacity())) {}

ModelSkeleton Exporter::run() {
  for (const auto& [name, number] : info_.data_extents)
    if (!symbols_.contains(name))
      throw InputError(
          "extent '{}' depends on data, and {} only stands for it: the graph cannot be written "
          "with it",
          name, number);
  name_values();
  write_header();
  write_interface();
  write_constants();
  write_nodes();
  write_outputs();
  skeleton_.is_symbolic = !symbols_.empty();
  return std::move(skeleton_);
}

std::string Exporter::fresh_name(const std::string& stem) {
  while (true) {
    const std::string name = fmt::format("{}_{}", stem, next_number_[stem]++);
    if (claim(name)) return name;
  }
}

/// Inputs and outputs keep their names, then weights where they can; other values avoid the names
/// inside of untouched subgraphs, since a name means one thing throughout a model.
void Exporter::name_values() {
  for (const NodeId input : graph_.inputs()) {
    names_[static_cast<size_t>(graph_.output(input).index)] = graph_.input_name(input);
    claim(graph_.input_name(input));
  }
  std::map<std::string, ValueId> listed;  // ONNX allows an output to be listed again
  for (const GraphOutput& output : graph_.outputs()) {
    const auto [known, first] = listed.emplace(output.name, output.value);
    if (!first && known->second == output.value) continue;
    std::string& name = names_[static_cast<size_t>(output.value.index)];
    const WeightPtr& weight = graph_.weight(graph_.producer(output.value));
    const bool renames_fill = weight != nullptr && is_stored_as_fill(*weight, language_.opset) &&
                              weight->name() != output.name;
    const bool is_free = claim(output.name);
    if (!is_free && name != output.name)
      throw InputError("output '{}' has the name of another value", output.name);
    if (name.empty() && !renames_fill) name = output.name;
  }
  for (const NodeId id : graph_.nodes())
    if (&graph_.op(id) == &opaque_op()) taken_.merge(local_names(opaque_node(graph_, id)));
  name_constants();
  restore_names();
  for (const NodeId id : graph_.topological_order())
    for (const ValueId value : graph_.outputs(id)) {
      std::string& name = names_[static_cast<size_t>(value.index)];
      if (name.empty()) name = fresh_name(operator_stem(id));
    }
}

/// What has a name in the original keeps it.
void Exporter::restore_names() {
  for (const NodeId id : graph_.topological_order()) {
    if (graph_.names(id) == nullptr) continue;
    const std::vector<std::string>& own = graph_.names(id)->outputs;
    for (size_t i = 0; i < std::min(own.size(), graph_.outputs(id).size()); ++i) {
      std::string& name = names_[static_cast<size_t>(graph_.outputs(id)[i].index)];
      if (name.empty() && !own[i].empty() && claim(own[i])) name = own[i];
    }
  }
}

/// For names of what has none.
std::string Exporter::operator_stem(NodeId node) const {
  const bool is_opaque = &graph_.op(node) == &opaque_op();
  return lower_case(is_opaque ? graph_.attributes(node).text("op") : graph_.op(node).name);
}

/// Nodes have names of their own kind.
std::string Exporter::node_name(NodeId node, std::string own) {
  if (graph_.names(node) != nullptr) own = graph_.names(node)->node;
  if (!own.empty() && node_names_.insert(own).second) return own;
  const std::string stem = "node_" + operator_stem(node);
  while (true) {
    std::string name = fmt::format("{}_{}", stem, next_node_number_[stem]++);
    if (node_names_.insert(name).second) return name;
  }
}

void Exporter::name_constants() {
  for (const bool fills : {true, false})
    for (const NodeId id : graph_.topological_order()) {
      const WeightPtr& weight = graph_.weight(id);
      if (weight == nullptr || is_stored_as_fill(*weight, language_.opset) != fills) continue;
      std::string& name = names_[static_cast<size_t>(graph_.output(id).index)];
      if (!name.empty()) continue;
      std::string own = weight->name();
      if (own.empty() && graph_.names(id) != nullptr && !graph_.names(id)->outputs.empty())
        own = graph_.names(id)->outputs[0];
      name = !own.empty() && claim(own) ? own : fresh_name(own.empty() ? "weight" : own);
    }
}

std::vector<std::string> Exporter::names_of(std::span<const ValueId> values) const {
  std::vector<std::string> names;
  for (const ValueId value : values)
    names.push_back(value.valid() ? name_of_value(value) : std::string());
  return names;
}

void Exporter::write_header() {
  onnx::ModelProto& model = skeleton_.model;
  int64_t ir_version = std::max(info_.ir_version, ir_version_for(language_.opset));
  if (!info_.functions.empty()) ir_version = std::max<int64_t>(ir_version, 8);
  model.set_ir_version(ir_version);
  for (const auto& [domain, version] : info_.opset_imports) {
    auto* import = model.add_opset_import();
    import->set_domain(domain);
    import->set_version(domain.empty() ? language_.opset : version);
  }
  if (!info_.opset_imports.contains("")) model.add_opset_import()->set_version(language_.opset);
  model.set_producer_name(info_.producer_name);
  model.set_producer_version(info_.producer_version);
  model.set_domain(info_.domain);
  model.set_model_version(info_.model_version);
  model.set_doc_string(info_.doc_string);
  for (const auto& [key, value] : info_.metadata) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  for (const std::string& function : info_.functions)
    REVERIE_CHECK(model.add_functions()->ParseFromString(function));
  model.mutable_graph()->set_name(info_.graph_name.empty() ? "graph" : info_.graph_name);
  model.mutable_graph()->set_doc_string(info_.graph_doc_string);
}

/// Outputs that had no shape have none while there are symbols, on which it may depend.
onnx::ValueInfoProto Exporter::value_info(const std::string& name, const TensorType& type,
                                          bool is_output) const {
  onnx::ValueInfoProto value;
  const auto original = info_.value_infos.find(name);
  if (original != info_.value_infos.end()) REVERIE_CHECK(value.ParseFromString(original->second));
  value.set_name(name);
  if (type.known()) {
    const onnx::ValueInfoProto declared = value;
    const bool is_without_shape =
        declared.type().has_tensor_type() && !declared.type().tensor_type().has_shape();
    value.clear_type();
    set_tensor_type(type, value.mutable_type());
    copy_denotations(declared.type(), value.mutable_type());
    auto* tensor = value.mutable_type()->mutable_tensor_type();
    restore_symbols(declared, symbols_, tensor->mutable_shape());
    if (is_without_shape && is_output && !symbols_.empty()) tensor->clear_shape();
  }
  return value;
}

void Exporter::write_interface() {
  onnx::GraphProto& graph = *skeleton_.model.mutable_graph();
  for (const NodeId input : graph_.inputs())
    *graph.add_input() =
        value_info(graph_.input_name(input), graph_.type(graph_.output(input)), false);
  for (const GraphOutput& output : graph_.outputs())
    *graph.add_output() = value_info(output.name, graph_.type(output.value), true);
}

void Exporter::write_constants() {
  for (const NodeId id : graph_.topological_order()) {
    const WeightPtr& weight = graph_.weight(id);
    if (weight == nullptr) continue;
    const std::string& name = name_of_value(graph_.output(id));
    in_scope_.insert(name);
    if (is_stored_as_fill(*weight, language_.opset)) {
      write_fill(name, *weight);
    } else if (is_stored_as_expand(*weight, language_.opset)) {
      write_expand(name, *weight);
    } else {
      skeleton_.weights.push_back({name, weight});
    }
  }
}

void Exporter::write_fill(const std::string& name, const Weight& weight) {
  onnx::GraphProto& graph = *skeleton_.model.mutable_graph();
  Target target = {&graph, language_, [&](const std::string& stem) { return fresh_name(stem); }};
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("ConstantOfShape");
  node.add_input(target.add_integers(weight.type().shape, name + "_shape"));
  node.add_output(name);
  auto* attribute = node.add_attribute();
  attribute->set_name("value");
  attribute->set_type(onnx::AttributeProto::TENSOR);
  write_tensor(element_of(weight, {1}), "", attribute->mutable_t());
}

void Exporter::write_expand(const std::string& name, const Weight& weight) {
  onnx::GraphProto& graph = *skeleton_.model.mutable_graph();
  Target target = {&graph, language_, [&](const std::string& stem) { return fresh_name(stem); }};
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Expand");
  node.add_input(target.add_constant(element_of(weight, {}), name + "_value"));
  node.add_input(target.add_integers(weight.type().shape, name + "_shape"));
  node.add_output(name);
}

/// Values around a subgraph that its own names would hide: outputs of the graph, which keep theirs.
std::map<std::string, std::string> Exporter::other_local_names(const onnx::NodeProto& node) {
  std::map<std::string, std::string> renamed;
  for (const std::string& name : local_names(node))
    if (in_scope_.contains(name)) renamed.emplace(name, fresh_name(name));
  return renamed;
}

void Exporter::write_opaque(NodeId id) {
  onnx::NodeProto node = opaque_node(graph_, id);
  node.set_name(node_name(id, node.name()));
  rename_local(&node, other_local_names(node));
  const std::vector<std::string> inputs = names_of(graph_.inputs(id));
  const auto name_at = [&](size_t index) { return index < inputs.size() ? inputs[index] : ""; };
  const auto own = static_cast<size_t>(node.input_size());
  for (size_t i = 0; i < own; ++i) node.set_input(static_cast<int>(i), name_at(i));
  for (int i = 0; i < node.output_size(); ++i)
    if (!node.output(i).empty()) node.set_output(i, name_of_value(graph_.output(id, i)));
  const std::vector<std::string> captured = captured_names(node);
  std::map<std::string, std::string> renamed;
  for (size_t i = 0; i < captured.size(); ++i) renamed.emplace(captured[i], name_at(own + i));
  rename_captured(&node, renamed);
  add_notes(id, &node);
  *skeleton_.model.mutable_graph()->add_node() = std::move(node);
}

void Exporter::add_notes(NodeId id, onnx::NodeProto* node) const {
  if (graph_.names(id) != nullptr) set_notes(graph_.names(id)->notes, node);
}

/// Before it is written.
OpaqueNode Exporter::described_opaque(NodeId id) const {
  OpaqueNode node = {skeleton_.model.graph().node_size(), {}, {}};
  for (const ValueId input : graph_.inputs(id)) {
    if (!input.valid()) continue;
    KnownValue& known = node.inputs.emplace_back(name_of_value(input));
    if (graph_.type(input).known()) set_tensor_type(graph_.type(input), &known.type);
  }
  for (const ValueId output : graph_.outputs(id)) node.outputs.push_back(graph_.type(output));
  return node;
}

/// Of values whose type only the original tells.
void Exporter::write_declared_types(const std::vector<std::string>& values) {
  const auto is_output = [&](const std::string& name) {
    return std::ranges::any_of(graph_.outputs(),
                               [&](const GraphOutput& output) { return output.name == name; });
  };
  for (const std::string& name : values) {
    const auto declared = info_.value_infos.find(name);
    if (declared == info_.value_infos.end() || is_output(name)) continue;
    onnx::ValueInfoProto value;
    REVERIE_CHECK(value.ParseFromString(declared->second));
    const bool has_type = value.type().value_case() != onnx::TypeProto::VALUE_NOT_SET;
    if (has_type) *skeleton_.model.mutable_graph()->add_value_info() = std::move(value);
  }
}

void Exporter::write_nodes() {
  Target target = {skeleton_.model.mutable_graph(), language_,
                   [&](const std::string& stem) { return fresh_name(stem); }, !symbols_.empty()};
  for (const NodeId id : graph_.topological_order()) {
    if (!is_operation(graph_, id)) continue;
    const std::vector<std::string> outputs = names_of(graph_.outputs(id));
    if (&graph_.op(id) == &opaque_op()) {
      skeleton_.opaque_nodes.push_back(described_opaque(id));
      write_opaque(id);
      write_declared_types(outputs);
    } else {
      write_operation(id, outputs, target);
    }
    in_scope_.insert(outputs.begin(), outputs.end());
  }
}

void Exporter::write_operation(NodeId id, const std::vector<std::string>& outputs, Target& target) {
  OpaqueNode described = described_opaque(id);
  write_node(graph_, id, node_name(id), names_of(graph_.inputs(id)), outputs, target);
  onnx::ModelProto& model = skeleton_.model;
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node()->rbegin();
  add_notes(id, &node);
  if (!speaks_runtime(node, language_.opset)) return;
  skeleton_.opaque_nodes.push_back(std::move(described));
  const auto is_its = [&](const auto& import) { return import.domain() == node.domain(); };
  if (node.domain().empty() || std::ranges::any_of(model.opset_import(), is_its)) return;
  auto* import = model.add_opset_import();
  import->set_domain(node.domain());
  import->set_version(1);
}

/// An output whose value has another name (an input, or a value that is two outputs).
void Exporter::write_outputs() {
  std::set<std::string> written;
  for (const GraphOutput& output : graph_.outputs()) {
    const std::string& name = name_of_value(output.value);
    if (name == output.name || !written.insert(output.name).second) continue;
    onnx::NodeProto& node = *skeleton_.model.mutable_graph()->add_node();
    node.set_op_type("Identity");
    node.add_input(name);
    node.add_output(output.name);
  }
}

}  // namespace reverie::proto
