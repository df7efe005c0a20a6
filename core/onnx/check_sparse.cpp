#include "core/onnx/check_sparse.h"

#include "core/base/error.h"
#include "core/onnx/tensors.h"

namespace reverie::proto {
namespace {

/// Places are one number each, counted through the tensor, or one number for each axis.
void require_ascending_places(const Tensor& indices, const Shape& shape) {
  require_sane(shape);
  const Shape extents = indices.shape().size() == 2 ? shape : Shape{element_count(shape)};
  const std::vector<int64_t> numbers = indices.to_integers();
  int64_t last = -1;
  for (size_t i = 0; i + extents.size() <= numbers.size() && !extents.empty();
       i += extents.size()) {
    int64_t place = 0;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const int64_t index = numbers[i + axis];
      if (index < 0 || index >= extents[axis])
        throw InputError("its index {} is out of range", index);
      place = place * extents[axis] + index;
    }
    if (place <= last) throw InputError("its indices do not ascend");
    last = place;
  }
}

/// Of [values] and [values] or [values, rank] indices, with data.
void check(const onnx::SparseTensorProto& tensor, ExternalFiles& files) {
  const auto& values = tensor.values();
  const auto& indices = tensor.indices();
  if (values.dims_size() != 1)
    throw InputError("its values have rank {}, not 1", values.dims_size());
  if (!tensor.has_indices() && values.dims(0) == 0) return;
  if (indices.data_type() != onnx::TensorProto::INT64)
    throw InputError("its indices have elements of type {}, not int64", indices.data_type());
  const bool by_axis = indices.dims_size() == 2 && indices.dims(1) == tensor.dims_size();
  if (!(by_axis || indices.dims_size() == 1) || indices.dims(0) != values.dims(0))
    throw InputError("it has {} values, which its indices do not fit", values.dims(0));
  require_ascending_places(read_tensor(indices, files),
                           {tensor.dims().begin(), tensor.dims().end()});
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
