#include "core/onnx/importer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "core/base/error.h"
#include "core/base/output.h"
#include "core/onnx/bind_shapes.h"
#include "core/onnx/captures.h"
#include "core/onnx/fold_constants.h"
#include "core/onnx/library.h"
#include "core/onnx/node_notes.h"
#include "core/onnx/opaque_node.h"
#include "core/onnx/read_model.h"
#include "core/onnx/runtime_forms.h"
#include "core/onnx/sampled_file.h"
#include "core/onnx/tensors.h"
#include "core/onnx/well_formed.h"

namespace reverie::proto {
namespace {

std::string name_in_table(const onnx::NodeProto& node) {
  const bool has_row = node.domain() == kRuntimeDomain && find_op(node.op_type()) != nullptr;
  return has_row ? node.op_type() : qualified_name(node);
}

bool is_set(const onnx::TypeProto& type) {
  return type.value_case() != onnx::TypeProto::VALUE_NOT_SET;
}

}  // namespace

Importer::Importer(const onnx::ModelProto& model, ExternalFiles files)
    : model_(model),
      opset_(standard_opset(model)),
      files_(std::move(files)),
      taken_(names_taken(model.graph())) {
  for (const auto& info : model.graph().value_info()) declared_[info.name()] = &info;
  for (const auto& info : model.graph().output()) declared_[info.name()] = &info;
  const auto& nodes = model.graph().node();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) declare_through_identity(*node);
}

/// Its input is the same value, which the graph then has under one name alone.
void Importer::declare_through_identity(const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain()) || node.op_type() != "Identity") return;
  if (node.input_size() != 1 || node.output_size() != 1) return;
  const auto declared = declared_.find(node.output(0));
  if (declared != declared_.end()) declared_.try_emplace(node.input(0), declared->second);
}

ImportedModel Importer::run(const ImportOptions& options, Observations* seen,
                            const Observations* before) {
  before_ = before;
  constexpr int kMostTrials = 64, kMostForTable = 12;
  for (table_decides_ = true;; table_decides_ = false) {
    Importer attempt = *this;
    try {
      return attempt.read(options, {}, seen);
    } catch (const InputError& objection) {
      if (!attempt.misfit_) throw;
      const auto misfit = [&](const Extents& extents) { return misfit_with(options, extents); };
      const auto fitting = find_fitting_extents(attempt.assumed_, *attempt.misfit_, misfit,
                                                table_decides_ ? kMostForTable : kMostTrials);
      if (fitting) return read(options, {*fitting}, seen);
      if (table_decides_) continue;
      if (attempt.has_given_) throw;
      const auto symbols = std::views::keys(attempt.assumed_);
      warnings_.push_back(
          fmt::format("no extents of {} were found that fit ({}), so that what follows their "
                      "inputs stays untouched; give them "
                      "with --dim {}=...",
                      fmt::join(symbols, ", "), objection.what(), symbols.front()));
      return read(options, {.leave_unknown = true}, seen);
    }
  }
}

std::optional<Misfit> Importer::misfit_with(const ImportOptions& options,
                                            const Extents& extents) const {
  Importer trial = *this;
  try {
    trial.read(options, {extents}, nullptr);
    return std::nullopt;
  } catch (const InputError&) {
    return trial.misfit_.value_or(Misfit());
  }
}

ImportedModel Importer::read(const ImportOptions& options, const Assumptions& assumptions,
                             Observations* seen) {
  add_inputs(options, assumptions);
  add_initializers();
  for (const auto& node : model_.graph().node()) {
    with_context(described(node), [&] { add_node(node); });
    ++nodes_read_;
  }
  add_outputs();
  warn_of_what_stays_out();
  if (seen != nullptr) observe(seen);
  graph_.erase_dead();
  ImportedModel result{graph_.compacted(), model_info(), model_.graph().node_size(),
                       live_untouched(), std::move(warnings_)};
  for (const auto& node : model_.graph().node()) ++result.operators[name_in_table(node)];
  return result;
}

void Importer::observe(Observations* seen) const {
  for (const auto& [name, id] : values_)
    (*seen)[name] = {graph_.type(id), graph_.weight(graph_.producer(id)), false, id};
  for (const auto& tensor : model_.graph().initializer())
    if (const auto at = seen->find(tensor.name()); at != seen->end())
      at->second.is_initializer = true;
}

void Importer::add_inputs(const ImportOptions& options, const Assumptions& assumptions) {
  std::set<std::string> constants;
  for (const auto& tensor : model_.graph().initializer()) constants.insert(tensor.name());
  for (const auto& tensor : model_.graph().sparse_initializer())
    constants.insert(tensor.values().name());
  BoundInputs bound = bind_inputs(model_.graph(), constants, options, assumptions);
  warnings_.insert(warnings_.end(), bound.warnings.begin(), bound.warnings.end());
  assumed_ = std::move(bound.assumed);
  has_given_ = bound.has_given;
  opaque_types_ = OpaqueTypes(options, std::move(bound.symbols));
  for (const auto& input : model_.graph().input()) {
    const auto type = bound.types.find(input.name());
    if (type == bound.types.end()) continue;
    const ValueId added = graph_.add_input(input.name(), type->second);
    values_[input.name()] = added;
    if (type->second.known()) continue;
    other_types_[added.index] = input.type();
    unknown_by_[added.index] = fmt::format("input '{}'", input.name());
  }
}

void Importer::add_initializers() {
  const auto weight_of = [&](const onnx::TensorProto& tensor) {
    const bool is_known = before_ != nullptr && before_->contains(tensor.name());
    const WeightPtr known = is_known ? before_->at(tensor.name()).weight : nullptr;
    return known != nullptr ? known : read_weight(tensor, files_);
  };
  for (const auto& tensor : model_.graph().initializer()) {
    if (!taken_.contains(tensor.name())) continue;
    if (tensor.data_type() == onnx::TensorProto::STRING ||
        size_of(dtype_of(tensor.data_type())) == 0) {
      onnx::NodeProto node;
      node.set_op_type("Constant");
      node.add_output(tensor.name());
      auto* attribute = node.add_attribute();
      attribute->set_name("value");
      attribute->set_type(onnx::AttributeProto::TENSOR);
      *attribute->mutable_t() = tensor;
      attribute->mutable_t()->clear_name();
      add_node(node);
    } else {
      const ValueId weight = graph_.add_constant(weight_of(tensor));
      values_[tensor.name()] = weight;
      stored_.insert(weight);
    }
  }
  for (const auto& tensor : model_.graph().sparse_initializer()) add_sparse_initializer(tensor);
}

void Importer::add_sparse_initializer(const onnx::SparseTensorProto& tensor) {
  const std::string& name = tensor.values().name();
  constexpr int kSparseConstantsSince = 11;
  if (opset_ < kSparseConstantsSince)
    throw InputError("sparse initializer '{}' needs opset {} or newer", name,
                     kSparseConstantsSince);
  onnx::NodeProto node;
  node.set_op_type("Constant");
  node.add_output(name);
  auto* attribute = node.add_attribute();
  attribute->set_name("sparse_value");
  attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *attribute->mutable_sparse_tensor() = tensor;
  attribute->mutable_sparse_tensor()->mutable_values()->clear_name();
  attribute->mutable_sparse_tensor()->mutable_indices()->clear_name();
  add_node(node);
}

void Importer::add_node(const onnx::NodeProto& node) {
  const int first = graph_.node_capacity();
  std::string reason = reason_against(node);
  std::optional<Values> outputs;
  if (reason.empty()) outputs = try_convert(node, &reason);
  if (outputs) fold(node, &*outputs);
  if (!outputs) outputs = add_opaque(node, reason);
  set_names(node, first, *outputs);
  for (int i = 0; i < node.output_size(); ++i)
    if (taken_.contains(node.output(i)))
      values_[node.output(i)] = outputs->at(static_cast<size_t>(i));
}

std::string Importer::reason_against(const onnx::NodeProto& node) const {
  constexpr const char* kNone = "no such operator in the table";
  if (node.op_type().empty()) throw InputError("it names no operator");
  const bool is_standard = is_standard_domain(node.domain());
  if (!is_standard && node.domain() != kRuntimeDomain) return kNone;
  for (const auto& function : model_.functions()) {
    const bool is_its =
        is_standard ? is_standard_domain(function.domain()) : function.domain() == kRuntimeDomain;
    if (is_its && function.name() == node.op_type()) return kNone;
  }
  if (is_standard)
    if (std::string reason = reason_against_form(node, opset_); !reason.empty()) return reason;
  if (node.op_type() == "Constant") return {};
  if (node.input_size() == 0 || node.input(0).empty() || node.output_size() == 0) return kNone;
  if (node.op_type() == "Identity") return {};
  for (int i = 0; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    const ValueId input = value(node.input(i));
    if (graph_.type(input).has_numbers()) continue;
    if (graph_.type(input).known()) return fmt::format("input {} holds no numbers", i);
    const auto origin = unknown_by_.find(input.index);
    const std::string of =
        origin == unknown_by_.end() ? std::string() : ": it depends on " + origin->second;
    return fmt::format("type of input {} is unknown{}", i, of);
  }
  return {};
}

std::optional<Values> Importer::try_convert(const onnx::NodeProto& node, std::string* reason) {
  Source source = {node, opset_, graph_, {}, {}, false, files_, taken_};
  for (const auto& input : node.input()) source.inputs.push_back(value(input));
  while (!source.inputs.empty() && !source.inputs.back().valid()) source.inputs.pop_back();
  source.attributes = read_attributes(node, &source.has_other_attributes);
  try {
    std::optional<Values> outputs = convert(source);
    *reason = source.obstacle.empty() ? "the table has no such form of it" : source.obstacle;
    return outputs;
  } catch (const WrongNode& objection) {
    refuse_if_wrong(node, objection, true);
    *reason = objection.what();
  } catch (const InputError& objection) {
    refuse_if_wrong(node, objection, false);
    *reason = objection.what();
  }
  return std::nullopt;
}

/// Either the node is wrong, or ONNX allows what the table does not, or extents that depend on data
/// are others.
void Importer::refuse_if_wrong(const onnx::NodeProto& node, const InputError& objection,
                               bool is_wrong) {
  if (!opaque_types_.data_extents().empty()) return;
  try {
    if (is_wrong || (table_decides_ && !assumed_.empty())) throw objection;
    infer_outputs(node, known_inputs(node), model_, true);
  } catch (const LibraryCrash&) {
    note_misfit(node);
    throw objection;
  } catch (const InputError&) {
    note_misfit(node);
    throw;
  }
}

void Importer::note_misfit(const onnx::NodeProto& node) {
  if (assumed_.empty()) return;
  constexpr int64_t kLongestShape = 16;
  misfit_ = {nodes_read_, {}};
  std::vector<int64_t> extents;
  for (const std::string& name : node.input()) {
    const ValueId input = value(name);
    if (!input.valid()) continue;
    const TensorType& type = graph_.type(input);
    extents.insert(extents.end(), type.shape.begin(), type.shape.end());
    const WeightPtr& weight = graph_.weight(graph_.producer(input));
    if (weight == nullptr || is_floating(type.dtype) || type.elements() > kLongestShape) continue;
    const std::vector<int64_t> numbers = weight->materialize().to_integers();
    misfit_->hints.insert(misfit_->hints.end(), numbers.begin(), numbers.end());
  }
  misfit_->hints.insert(misfit_->hints.end(), extents.begin(), extents.end());
}

Values Importer::add_opaque(const onnx::NodeProto& original, const std::string& reason) {
  onnx::NodeProto node = original;
  embed_external_data(&node, files_);
  node.set_name(name_or_output(original));
  const std::vector<std::string> captured = captured_names(node);
  Values inputs;
  for (const auto& input : node.input()) inputs.push_back(value(input));
  for (const std::string& name : captured) inputs.push_back(value(name));
  const std::vector<onnx::TypeProto> inferred =
      infer_outputs(node, known_inputs(node), model_, false);
  std::vector<TensorType> types;
  for (int i = 0; i < node.output_size(); ++i)
    types.push_back(output_type(node, i, inferred[static_cast<size_t>(i)]));
  const auto attributes = std::make_shared<const Attributes>(opaque_attributes(node, model_));
  const NodeId added = graph_.add_node(opaque_op(), inputs, attributes, types);
  untouched_.emplace_back(added, UntouchedNode{node.name(), qualified_name(node), reason});
  std::string origin = fmt::format("{} at {}", qualified_name(node), node.name());
  for (const ValueId input : inputs)
    if (input.valid() && unknown_by_.contains(input.index)) origin = unknown_by_[input.index];
  const auto outputs = graph_.outputs(added);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (types[i].known()) continue;
    unknown_by_[outputs[i].index] = origin;
    if (is_set(inferred[i])) other_types_[outputs[i].index] = inferred[i];
  }
  ++opaque_counts_[qualified_name(node)];
  return {outputs.begin(), outputs.end()};
}

void Importer::set_names(const onnx::NodeProto& node, int first, const Values& outputs) {
  std::map<NodeId, NodeNames> names;
  for (int i = first; i < graph_.node_capacity(); ++i) names[{i}].node = name_or_output(node);
  const NodeNotes notes = notes_of(node);
  const size_t named = std::min(outputs.size(), static_cast<size_t>(node.output_size()));
  for (size_t i = 0; i < named; ++i) {
    if (!outputs[i].valid() || graph_.producer(outputs[i]).index < first) continue;
    NodeNames& of_node = names.at(graph_.producer(outputs[i]));
    of_node.notes = notes;
    std::vector<std::string>& of_outputs = of_node.outputs;
    const auto index = static_cast<size_t>(graph_.output_index(outputs[i]));
    of_outputs.resize(std::max(of_outputs.size(), index + 1));
    of_outputs[index] = node.output(static_cast<int>(i));
  }
  for (auto& [id, of_node] : names)
    graph_.set_names(id, std::make_shared<const NodeNames>(std::move(of_node)));
}

/// Those on which an output depends; before ids change.
std::vector<UntouchedNode> Importer::live_untouched() {
  std::vector<UntouchedNode> live;
  for (auto& [id, node] : untouched_)
    if (graph_.alive(id)) live.push_back(std::move(node));
  return live;
}

void Importer::fold(const onnx::NodeProto& node, Values* outputs) {
  if (node.op_type() == "Constant") stored_.insert(outputs->begin(), outputs->end());
  for (size_t i = 0; i < outputs->size(); ++i) {
    ValueId& output = outputs->at(i);
    if (!output.valid() || graph_.weight(graph_.producer(output)) != nullptr) continue;
    const auto at = static_cast<int>(i);
    const Folded folded =
        fold_computed(graph_, output, stored_, at < node.output_size() ? node.output(at) : "");
    if (folded.weight == nullptr) continue;
    output = graph_.add_constant(folded.weight);
    if (folded.is_stored) stored_.insert(output);
  }
}

ValueId Importer::value(const std::string& name) const {
  if (name.empty()) return {};
  const auto at = values_.find(name);
  if (at == values_.end())
    throw InputError(
        "value '{}' is used, but neither a node nor an input nor an initializer gives it",
        readable(name));
  return at->second;
}

KnownValue Importer::known_value(const std::string& name) {
  const ValueId id = value(name);
  KnownValue known = {name, {}, nullptr};
  const TensorType& type = graph_.type(id);
  const auto other = other_types_.find(id.index);
  if (type.known())
    set_tensor_type(type, &known.type);
  else if (other != other_types_.end())
    known.type = other->second;
  const WeightPtr& weight = graph_.weight(graph_.producer(id));
  constexpr int64_t kMaxElements = 1024;
  if (weight != nullptr && type.elements() <= kMaxElements) {
    onnx::TensorProto& tensor = small_constants_[name];
    tensor.Clear();
    write_tensor(weight->materialize(), name, &tensor);
    known.value = &tensor;
  }
  return known;
}

std::vector<KnownValue> Importer::known_inputs(const onnx::NodeProto& node) {
  std::vector<KnownValue> known;
  for (const auto& input : node.input())
    if (!input.empty()) known.push_back(known_value(input));
  for (const std::string& name : captured_names(node)) known.push_back(known_value(name));
  return known;
}

TensorType Importer::output_type(const onnx::NodeProto& node, int output,
                                 const onnx::TypeProto& inferred) {
  const std::string& name = node.output(output);
  if (!taken_.contains(name)) return tensor_type(inferred).value_or(TensorType{});
  const auto declared = declared_.find(name);
  const bool is_declared = declared != declared_.end() && is_set(declared->second->type());
  const TensorType type = opaque_types_.type(
      name, inferred, is_declared ? declared->second->type() : declared_by_subgraphs(node, output));
  if (is_declared && type.known() && !tensor_type(inferred)) only_declared_.insert(name);
  return type;
}

void Importer::add_outputs() {
  for (const auto& output : model_.graph().output()) {
    const ValueId id = value(output.name());
    const auto declared = tensor_type(output.type());
    if (declared && graph_.type(id).known() && *declared != graph_.type(id))
      warnings_.push_back(fmt::format("output '{}' is declared as {} but comes out as {}",
                                      output.name(), to_string(*declared),
                                      to_string(graph_.type(id))));
    graph_.add_output(output.name(), id);
  }
}

ModelInfo Importer::model_info() const {
  ModelInfo info;
  info.ir_version = model_.ir_version();
  info.opset_imports.clear();
  for (const auto& import : model_.opset_import())
    info.opset_imports[is_standard_domain(import.domain()) ? "" : import.domain()] =
        import.version();
  info.opset_imports.try_emplace("", opset_);
  info.for_onnx_runtime = std::ranges::any_of(
      model_.graph().node(),
      [&](const onnx::NodeProto& node) { return speaks_runtime(node, opset_); });
  info.producer_name = model_.producer_name();
  info.producer_version = model_.producer_version();
  info.domain = model_.domain();
  info.model_version = model_.model_version();
  info.doc_string = model_.doc_string();
  info.graph_name = model_.graph().name();
  info.external_files = files_.locations();
  info.graph_doc_string = model_.graph().doc_string();
  for (const auto& entry : model_.metadata_props())
    info.metadata.emplace_back(entry.key(), entry.value());
  for (const auto& function : model_.functions())
    info.functions.push_back(function.SerializeAsString());
  const auto keep = [&](const onnx::ValueInfoProto& value) {
    if (!tensor_type(value.type()) || !value.doc_string().empty() || has_denotation(value.type()))
      info.value_infos[value.name()] = value.SerializeAsString();
  };
  std::for_each(model_.graph().input().begin(), model_.graph().input().end(), keep);
  std::for_each(model_.graph().output().begin(), model_.graph().output().end(), keep);
  for (const onnx::ValueInfoProto& output :
       model_.graph().output())  // of what only the file tells the type
    if (!graph_.type(value(output.name())).known())
      info.value_infos[output.name()] = output.SerializeAsString();
  for (const std::string& name : only_declared_) {
    onnx::ValueInfoProto value = *declared_.at(name);
    value.set_name(name);
    info.value_infos.try_emplace(name, value.SerializeAsString());
  }
  info.data_extents = opaque_types_.data_extents();
  return info;
}

void Importer::warn_of_what_stays_out() {
  int total = 0;
  std::string list;
  for (const auto& [name, count] : opaque_counts_) {
    total += count;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, readable(name));
  }
  if (total > 0)
    warnings_.push_back(
        fmt::format("{} node{} carried through untouched and {} part in no rewrite: {}", total,
                    total == 1 ? " is" : "s are", total == 1 ? "takes" : "take", list));
  warn_of_defaults();
  if (model_.training_info_size() > 0) warnings_.emplace_back("training information is left out");
  if (model_.graph().quantization_annotation_size() > 0)
    warnings_.emplace_back("quantization annotations are left out");
}

void Importer::warn_of_defaults() {
  constexpr int kDefaultsSince =
      4;  // IR version; before, every initializer had to be an input, too
  if (model_.ir_version() < kDefaultsSince) return;
  std::set<std::string> defaults;
  for (const auto& tensor : model_.graph().initializer()) defaults.insert(tensor.name());
  std::vector<std::string> names;
  for (const auto& input : model_.graph().input())
    if (defaults.contains(input.name()))
      names.push_back(fmt::format("'{}'", readable(input.name())));
  if (names.empty()) return;
  constexpr size_t kNamed = 3;
  const size_t others = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - others);
  warnings_.push_back(fmt::format(
      "inputs with a default value become constants and can no longer be given: {}{}",
      fmt::join(names, ", "),
      others > 0 ? fmt::format(" and {} other{}", others, others == 1 ? "" : "s") : ""));
}

}  // namespace reverie::proto

namespace reverie {

ImportedModel import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  proto::ModelFile read = proto::read_model(path);
  const bool is_in_order = read.is_in_order;
  ImportedModel model = with_context(path.string(), [&] {
    if (options.carried != ImportOptions::Carried::kNone)
      return proto::import_samples(std::move(read), options);
    return proto::Importer(read.model, read.files).run(options);
  });
  model.info.is_in_order = is_in_order;
  return model;
}

}  // namespace reverie
