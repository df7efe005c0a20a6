#include "core/onnx/unchanged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "core/onnx/external.h"
#include "core/onnx/wire.h"

namespace reverie::proto {
namespace {

/// What a reader sees of a graph: its nodes, by operator and outputs, and the bytes of its large
/// tensors.
struct Contents {
  std::multiset<std::string> nodes;
  std::multiset<int64_t> tensors;

  bool operator==(const Contents&) const = default;
};

void add_tensor(const TensorType& type, Contents& contents) {
  constexpr int64_t kLarge =
      1 << 10;  // bytes; smaller ones are axes and shapes, which opsets write in several ways
  if (type.bytes() >= kLarge) contents.tensors.insert(type.bytes());
}

Contents contents_of(const onnx::GraphProto& graph) {
  Contents contents;
  for (const auto& node : graph.node()) {
    const std::string domain = is_standard_domain(node.domain()) ? "" : node.domain();
    contents.nodes.insert(
        fmt::format("{}:{}:{}", domain, node.op_type(), fmt::join(node.output(), ",")));
  }
  for (const auto& tensor : graph.initializer())
    add_tensor({dtype_of(tensor.data_type()), {tensor.dims().begin(), tensor.dims().end()}},
               contents);
  return contents;
}

}  // namespace

bool is_unchanged(const ModelSkeleton& written, const std::filesystem::path& original) {
  Contents now = contents_of(written.model.graph());
  for (const StoredWeight& stored : written.weights) add_tensor(stored.weight->type(), now);
  return now == contents_of(parse_model(InputFile(original)).graph());
}

}  // namespace reverie::proto
