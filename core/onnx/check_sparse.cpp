#include "core/onnx/check_sparse.h"

#include "core/base/error.h"
#include "core/onnx/tensors.h"

namespace reverie::proto {
namespace {

/// Of [values] and [values] or [values, rank] indices, with data. The checker looks at their order.
void check(const onnx::SparseTensorProto& tensor, ExternalFiles& files) {
  const auto& values = tensor.values();
  const auto& indices = tensor.indices();
  if (values.dims_size() != 1) throw InputError("its values have rank {}, not 1", values.dims_size());
  if (!tensor.has_indices() && values.dims(0) == 0) return;
  if (indices.data_type() != onnx::TensorProto::INT64)
    throw InputError("its indices have elements of type {}, not int64", indices.data_type());
  const bool by_axis = indices.dims_size() == 2 && indices.dims(1) == tensor.dims_size();
  if (!(by_axis || indices.dims_size() == 1) || indices.dims(0) != values.dims(0))
    throw InputError("it has {} values, which its indices do not fit", values.dims(0));
  read_tensor(indices, files);
}

void embed_and_check(onnx::SparseTensorProto* tensor, ExternalFiles& files) {
  with_context(fmt::format("sparse tensor '{}'", tensor->values().name()), [&] {
    embed_external_data(tensor, files);
    check(*tensor, files);
  });
}

void embed_and_check(onnx::NodeProto* node, ExternalFiles& files) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_sparse_tensor()) embed_and_check(attribute.mutable_sparse_tensor(), files);
    for (auto& tensor : *attribute.mutable_sparse_tensors()) embed_and_check(&tensor, files);
    if (attribute.has_g()) embed_and_check_sparse_tensors(attribute.mutable_g(), files);
    for (auto& graph : *attribute.mutable_graphs()) embed_and_check_sparse_tensors(&graph, files);
  }
}

}  // namespace

void embed_and_check_sparse_tensors(onnx::GraphProto* graph, ExternalFiles& files) {
  for (auto& tensor : *graph->mutable_sparse_initializer()) embed_and_check(&tensor, files);
  for (auto& node : *graph->mutable_node()) embed_and_check(&node, files);
}

}  // namespace reverie::proto
