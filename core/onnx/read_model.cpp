#include "core/onnx/read_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>

#include "core/base/error.h"
#include "core/onnx/check_functions.h"
#include "core/onnx/check_sparse.h"
#include "core/onnx/import.h"
#include "core/onnx/library.h"

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

void require_supported_opset(const onnx::ModelProto& model) {
  const int opset = standard_opset(model);
  if (opset < kOldestOpset || opset > kNewestOpset)
    throw InputError("uses opset {}; opsets {} to {} are supported, so convert it first", opset,
                     kOldestOpset, kNewestOpset);
}

void require_external_files(const onnx::ModelProto& model, ExternalFiles& files) {
  for (const auto& tensor : model.graph().initializer())
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
      for (const auto& entry : tensor.external_data())
        if (entry.key() == "location") files.open(entry.value());
}

}  // namespace

onnx::ModelProto read_model(const std::filesystem::path& path) {
  const MappedFile file(path);
  return with_context(path.string(), [&] {
    onnx::ModelProto model = parse(file.bytes());
    shorten_domains(&model);
    require_supported_opset(model);
    check_functions(model);
    ExternalFiles files(path.parent_path());
    require_external_files(model, files);
    embed_and_check_sparse_tensors(model.mutable_graph(), files);
    const std::string objection = check_model(&model, path.parent_path());
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
