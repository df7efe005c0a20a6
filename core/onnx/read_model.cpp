#include "core/onnx/read_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>

#include <limits>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/onnx/import.h"

namespace reverie::proto {
namespace {

onnx::ModelProto parse(std::span<const std::byte> bytes) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    throw InputError(
        "is larger than 2 GiB, which protobuf cannot read; save its weights as external data");
  const google::protobuf::LogSilencer no_second_message;
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream input(&stream);
  input.SetTotalBytesLimit(std::numeric_limits<int>::max());
  onnx::ModelProto model;
  if (bytes.empty() || !model.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage())
    throw InputError("is no ONNX model (or a truncated one)");
  if (!model.has_graph()) throw InputError("is no ONNX model: it holds no graph");
  return model;
}

void shorten_domains(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
  for (auto& node : *nodes) {
    if (is_standard_domain(node.domain())) node.clear_domain();
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) shorten_domains(attribute.mutable_g()->mutable_node());
      for (auto& graph : *attribute.mutable_graphs()) shorten_domains(graph.mutable_node());
    }
  }
}

void shorten_domains(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>* imports) {
  for (auto& import : *imports)
    if (is_standard_domain(import.domain())) import.clear_domain();
}

/// The standard domain has two names, of which the checker knows the empty one.
void shorten_domains(onnx::ModelProto* model) {
  shorten_domains(model->mutable_opset_import());
  shorten_domains(model->mutable_graph()->mutable_node());
  for (auto& function : *model->mutable_functions()) {
    shorten_domains(function.mutable_opset_import());
    shorten_domains(function.mutable_node());
  }
}

/// Lets inputs and outputs without a shape pass for ones with a shape while it lives: the checker
/// insists on one, but it can be bound or inferred.
class MissingShapes {
 public:
  explicit MissingShapes(onnx::GraphProto* graph) {
    for (auto* values : {graph->mutable_input(), graph->mutable_output()})
      for (auto& value : *values)
        if (value.type().has_tensor_type() && !value.type().tensor_type().has_shape()) {
          tensors_.push_back(value.mutable_type()->mutable_tensor_type());
          tensors_.back()->mutable_shape();
        }
  }
  ~MissingShapes() {
    for (auto* tensor : tensors_) tensor->clear_shape();
  }
  MissingShapes(const MissingShapes&) = delete;
  MissingShapes& operator=(const MissingShapes&) = delete;

 private:
  std::vector<onnx::TypeProto_Tensor*> tensors_;
};

void require_supported_opset(const onnx::ModelProto& model) {
  const int opset = standard_opset(model);
  if (opset < kOldestOpset || opset > kNewestOpset)
    throw InputError("uses opset {}; opsets {} to {} are supported, so convert it first", opset,
                     kOldestOpset, kNewestOpset);
}

void require_external_files(const onnx::ModelProto& model, const std::filesystem::path& folder) {
  ExternalFiles files(folder);
  for (const auto& tensor : model.graph().initializer())
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      for (const auto& entry : tensor.external_data())
        if (entry.key() == "location") files.open(entry.value());
}

}  // namespace

std::string verdict(onnx::ModelProto* model, const std::filesystem::path& folder) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model->ir_version()));
  context.set_model_dir(folder.empty() ? "." : folder.string());
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model->opset_import())
    opsets[is_standard_domain(import.domain()) ? "" : import.domain()] =
        static_cast<int>(import.version());
  opsets.try_emplace("", standard_opset(*model));
  context.set_opset_imports(std::move(opsets));
  const onnx::checker::LexicalScopeContext scope;
  const MissingShapes lenient(model->mutable_graph());
  try {
    onnx::checker::check_graph(model->graph(), context, scope);
    if (model->functions_size() > 0)
      onnx::checker::check_model_local_functions(*model, context, scope);
  } catch (const std::exception& error) {
    return one_line(error.what());
  }
  return {};
}

onnx::ModelProto read_model(const std::filesystem::path& path) {
  const MappedFile file(path);
  return with_context(path.string(), [&] {
    onnx::ModelProto model = parse(file.bytes());
    shorten_domains(&model);
    require_supported_opset(model);
    require_external_files(model, path.parent_path());
    const std::string objection = verdict(&model, path.parent_path());
    if (!objection.empty()) throw InputError("is no valid ONNX model: {}", objection);
    return model;
  });
}

int standard_opset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (is_standard_domain(import.domain())) return static_cast<int>(import.version());
  return kNewestOpset;
}

}  // namespace reverie::proto
