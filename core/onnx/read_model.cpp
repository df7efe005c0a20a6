#include "core/onnx/read_model.h"

#include <limits>
#include <memory>

#include "core/base/error.h"
#include "core/onnx/check_functions.h"
#include "core/onnx/check_sparse.h"
#include "core/onnx/import.h"
#include "core/onnx/inline_functions.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/put_in_order.h"
#include "core/onnx/subgraphs.h"
#include "core/onnx/wire.h"

namespace reverie::proto {
namespace {

void shorten_domains(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) {
  for (auto& node : *nodes) {
    if (is_standard_domain(node.domain())) node.clear_domain();
    for_each_subgraph(node, [](onnx::GraphProto& graph) { shorten_domains(graph.mutable_node()); });
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

void require_supported_versions(const onnx::ModelProto& model) {
  if (model.ir_version() < 0 || model.ir_version() > std::numeric_limits<int>::max())
    throw InputError("has IR version {}, which there is not", model.ir_version());
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

ModelFile read_model(const std::filesystem::path& path) {
  const auto file = std::make_shared<const InputFile>(path);
  return with_context(path.string(), [&] {
    ModelFile read = {parse_model(*file), ExternalFiles(file)};
    shorten_domains(&read.model);
    check_functions(read.model);
    read.is_in_order = !put_in_order(&read.model);
    inline_functions(&read.model);
    put_in_order(&read.model);
    require_supported_versions(read.model);
    require_external_files(read.model, read.files);
    embed_and_check_sparse_tensors(read.model.mutable_graph(), read.files);
    return read;
  });
}

int standard_opset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (is_standard_domain(import.domain())) return static_cast<int>(import.version());
  return kNewestInLibrary;
}

}  // namespace reverie::proto
