#include "core/onnx/read_model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>

#include <limits>

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

void check(const onnx::ModelProto& model, const std::filesystem::path& folder) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_model_dir(folder.string());
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import())
    opsets[import.domain() == "ai.onnx" ? "" : import.domain()] =
        static_cast<int>(import.version());
  opsets.try_emplace("", standard_opset(model));
  context.set_opset_imports(std::move(opsets));
  const onnx::checker::LexicalScopeContext scope;
  try {
    onnx::checker::check_graph(model.graph(), context, scope);
    if (model.functions_size() > 0)
      onnx::checker::check_model_local_functions(model, context, scope);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError("is no valid ONNX model: {}", one_line(error.what()));
  }
}

void require_supported_opset(const onnx::ModelProto& model) {
  const int opset = standard_opset(model);
  if (opset < kOldestOpset || opset > kNewestOpset)
    throw InputError("uses opset {}; opsets {} to {} are supported, so convert it first", opset,
                     kOldestOpset, kNewestOpset);
}

}  // namespace

onnx::ModelProto read_model(const std::filesystem::path& path) {
  const MappedFile file(path);
  return with_context(path.string(), [&] {
    onnx::ModelProto model = parse(file.bytes());
    require_supported_opset(model);
    ExternalFiles files(path.parent_path());
    for (const auto& tensor : model.graph().initializer())
      if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
        for (const auto& entry : tensor.external_data())
          if (entry.key() == "location") files.open(entry.value());
    check(model, path.parent_path().empty() ? "." : path.parent_path());
    return model;
  });
}

int standard_opset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (is_standard_domain(import.domain())) return static_cast<int>(import.version());
  return kNewestOpset;
}

}  // namespace reverie::proto
