#include "core/onnx/fold_constants.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"

namespace reverie {
namespace {

bool all_equal(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const auto size = static_cast<size_t>(size_of(tensor.type().dtype));
  return bytes.size() > size &&
         std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

bool uses_large_fill(const Graph& graph, ValueId value) {
  const auto order = graph.topological_order({&value, 1});
  return std::any_of(order.begin(), order.end(), [&](NodeId node) {
    const WeightPtr& weight = graph.weight(node);
    return weight != nullptr && weight->is_fill() && !weight->is_small();
  });
}

}  // namespace

WeightPtr fold_small(const Graph& graph, ValueId value) {
  constexpr int64_t kMaxElements = 1 << 20;
  const NodeId node = graph.producer(value);
  if (!graph.is_constant(node)) return nullptr;
  for (const ValueId input : graph.inputs(node)) {
    if (!input.valid()) continue;
    const WeightPtr& weight = graph.weight(graph.producer(input));
    if (weight == nullptr || !weight->is_small() || weight->type().elements() > kMaxElements)
      return nullptr;
  }
  if (graph.type(value).elements() > kMaxElements) return nullptr;
  return Weight::dense(fold(graph, value));
}

WeightPtr fold_constant(const Graph& graph, ValueId value, const std::string& name) {
  const Tensor tensor = fold(graph, value);
  if (uses_large_fill(graph, value) && tensor.elements() > Weight::kSmallWeight &&
      is_floating(tensor.type().dtype) && all_equal(tensor)) {
    Tensor element({tensor.type().dtype, {}});
    std::copy_n(tensor.bytes().begin(), element.bytes().size(), element.bytes().begin());
    return Weight::fill(tensor.type(), element.to_doubles()[0], name);
  }
  return Weight::dense(tensor, name);
}

}  // namespace reverie
