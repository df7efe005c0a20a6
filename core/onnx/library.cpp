#include "core/onnx/library.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <limits>
#include <unordered_map>

#include "core/base/child_process.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/read_model.h"
#include "core/onnx/subgraphs.h"

namespace reverie::proto {
namespace {

// A request is one of these letters, for an inference its options, for a check the folder and a
// zero, and the model. An answer is a letter too, and an objection or a graph of the values found.
constexpr char kCheck = 'c', kInfer = 'i';
constexpr char kUnknownVersion[] = "reverie.unknown:";
constexpr char kAccepted = 'a', kObjected = 'o';

onnx::ModelProto parse(std::string_view bytes) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream input(&stream);
  input.SetTotalBytesLimit(std::numeric_limits<int>::max());
  onnx::ModelProto model;
  REVERIE_CHECK(model.ParseFromCodedStream(&input));
  return model;
}

/// Moves operators of `domain`, of which the library knows older versions alone, to one that it
/// does not know.
void hide_domain(const std::string& domain,
                 google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
  for (auto& node : *nodes) {
    if (node.domain() == domain) node.set_domain(kUnknownVersion + domain);
    for_each_subgraph(node,
                      [&](onnx::GraphProto& graph) { hide_domain(domain, graph.mutable_node()); });
  }
}

void hide_newer_domains(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>* imports,
                        google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (auto& import : *imports) {
    const auto range = known.find(import.domain());
    if (range == known.end() || import.version() <= range->second.second) continue;
    hide_domain(import.domain(), nodes);
    import.set_domain(kUnknownVersion + import.domain());
  }
}

/// So that the library sees nothing that it does not know.
void restate(onnx::ModelProto* model) {
  restate_for_library(model);
  hide_newer_domains(model->mutable_opset_import(), model->mutable_graph()->mutable_node());
  for (auto& function : *model->mutable_functions())
    hide_newer_domains(function.mutable_opset_import(), function.mutable_node());
}

/// The checker insists on types and shapes, but they can be bound or inferred.
void add_missing_types(onnx::GraphProto* graph) {
  for (auto* values : {graph->mutable_input(), graph->mutable_output()})
    for (auto& value : *values) {
      const bool is_unknown = value.type().value_case() == onnx::TypeProto::VALUE_NOT_SET;
      if (is_unknown)
        value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
      if (value.type().has_tensor_type() && !value.type().tensor_type().has_shape())
        value.mutable_type()->mutable_tensor_type()->mutable_shape();
    }
}

void check(onnx::ModelProto model, const std::string& folder) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_model_dir(folder);
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import())
    opsets[is_standard_domain(import.domain()) ? "" : import.domain()] =
        static_cast<int>(import.version());
  opsets.try_emplace("", standard_opset(model));
  context.set_opset_imports(std::move(opsets));
  const onnx::checker::LexicalScopeContext scope;
  add_missing_types(model.mutable_graph());
  onnx::checker::check_graph(model.graph(), context, scope);
  if (model.functions_size() > 0) onnx::checker::check_model_local_functions(model, context, scope);
}

std::string check(std::string_view request) {
  const size_t end = request.find('\0');
  onnx::ModelProto model = parse(request.substr(end + 1));
  restate(&model);
  check(std::move(model), std::string(request.substr(0, end)));
  return {};
}

std::string infer(std::string_view request) {
  const auto option = [&](size_t i) { return request[i] == '1'; };
  onnx::ModelProto model = parse(request.substr(3));
  const bool is_newer = standard_opset(model) > kNewestInLibrary;  // and takes more element types
  restate(&model);
  onnx::shape_inference::InferShapes(
      model, onnx::OpSchemaRegistry::Instance(),
      onnx::ShapeInferenceOptions(option(0) && !is_newer, option(1) ? 1 : 0, option(2)));
  onnx::GraphProto found;
  found.mutable_value_info()->Swap(model.mutable_graph()->mutable_value_info());
  return found.SerializeAsString();
}

std::string serve(std::string_view request) {
  const google::protobuf::LogSilencer silent;
  try {
    const std::string_view rest = request.substr(1);
    return kAccepted + (request[0] == kCheck ? check(rest) : infer(rest));
  } catch (const std::exception& error) {
    return kObjected + one_line(error.what());
  }
}

/// The answer's letter and text; `what` names the part of the library that a crash is told of.
std::pair<char, std::string> ask(const std::string& request, const char* what) {
  static ChildProcess library(serve);
  ChildAnswer answer = library.ask(request);
  if (answer.end == ChildAnswer::End::kTookTooMuch)
    throw LibraryCrash("ONNX's own {} takes {} on it", what, answer.text);
  if (!answer.answered() || answer.text.empty())
    throw LibraryCrash("ONNX's own {} crashed on it: {}", what, answer.text);
  return {answer.text[0], answer.text.substr(1)};
}

/// The tensor with the first of its elements.
onnx::TensorProto beginning(const onnx::TensorProto& tensor) {
  onnx::TensorProto result;
  result.set_name(tensor.name());
  *result.mutable_dims() = tensor.dims();
  if (tensor.has_data_type()) result.set_data_type(tensor.data_type());
  if (!tensor.raw_data().empty()) result.set_raw_data(tensor.raw_data().substr(0, 1));
  if (tensor.float_data_size() > 0) result.add_float_data(tensor.float_data(0));
  if (tensor.double_data_size() > 0) result.add_double_data(tensor.double_data(0));
  if (tensor.int32_data_size() > 0) result.add_int32_data(tensor.int32_data(0));
  if (tensor.int64_data_size() > 0) result.add_int64_data(tensor.int64_data(0));
  if (tensor.uint64_data_size() > 0) result.add_uint64_data(tensor.uint64_data(0));
  if (tensor.string_data_size() > 0) result.add_string_data(tensor.string_data(0));
  return result;
}

/// Leaves only the beginning of large tensors in a model while this lives, so that it is sent fast.
class LargeDataAside {
 public:
  explicit LargeDataAside(onnx::ModelProto* model) { take(model->mutable_graph()); }
  ~LargeDataAside() {
    for (auto& [tensor, whole] : taken_) tensor->Swap(&whole);
  }
  LargeDataAside(const LargeDataAside&) = delete;
  LargeDataAside& operator=(const LargeDataAside&) = delete;

 private:
  void take(onnx::GraphProto* graph) {
    for (auto& tensor : *graph->mutable_initializer()) take(&tensor);
    for (auto& node : *graph->mutable_node())
      for (auto& attribute : *node.mutable_attribute()) take(&attribute);
  }
  void take(onnx::AttributeProto* attribute) {
    if (attribute->has_t()) take(attribute->mutable_t());
    if (attribute->has_g()) take(attribute->mutable_g());
    for (auto& tensor : *attribute->mutable_tensors()) take(&tensor);
    for (auto& graph : *attribute->mutable_graphs()) take(&graph);
  }
  void take(onnx::TensorProto* tensor) {
    constexpr size_t kLarge = 16 << 10;  // bytes
    if (tensor->data_location() == onnx::TensorProto::EXTERNAL || tensor->ByteSizeLong() < kLarge)
      return;
    taken_.emplace_back(tensor, beginning(*tensor));
    tensor->Swap(&taken_.back().second);
  }

  std::vector<std::pair<onnx::TensorProto*, onnx::TensorProto>> taken_;
};

std::string serialized(onnx::ModelProto* model) {
  const LargeDataAside aside(model);
  return model->SerializeAsString();
}

}  // namespace

std::string check_model(onnx::ModelProto* model, const std::filesystem::path& folder) {
  // The child stays where it began, whatever folder this process is in by now.
  const std::string place = (std::filesystem::current_path() / folder).string();
  return ask(kCheck + place + '\0' + serialized(model), "checker").second;
}

Inference infer_shapes(onnx::ModelProto* model, const InferenceOptions& options) {
  const auto letter = [](bool option) { return option ? '1' : '0'; };
  const std::string request = {kInfer, letter(options.check_types), letter(options.strict),
                               letter(options.values)};
  auto [kind, text] = ask(request + serialized(model), "shape inference");
  Inference inference;
  onnx::GraphProto found;
  if (kind == kObjected)
    inference.objection = std::move(text);
  else if (!found.ParseFromString(text))
    throw LibraryCrash("ONNX's own shape inference crashed on it: it answered nonsense");
  for (auto& value : *found.mutable_value_info()) inference.values.push_back(std::move(value));
  return inference;
}

}  // namespace reverie::proto
