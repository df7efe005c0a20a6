#include <algorithm>

#include "tools/eager/node.h"

namespace reverie::eager {
namespace {

Kernel reduction(const Node& node) {
  const std::vector<int64_t> axes = node.attributes().integers("axes");
  const bool keep = node.attributes().integer("keepdims") != 0;
  if (axes.empty()) return one([](Arguments x) { return x[0]; });  // LibTorch would reduce all
  if (node.op.is("ReduceMean")) return one([=](Arguments x) { return at::mean(x[0], axes, keep); });
  if (node.op.is("ReduceSum"))
    return one([=, type = scalar_type(node.outputs[0].dtype)](Arguments x) {
      return at::sum(x[0], axes, keep, type);
    });
  if (node.op.is("ReduceMax")) return one([=](Arguments x) { return at::amax(x[0], axes, keep); });
  if (node.op.is("ReduceMin")) return one([=](Arguments x) { return at::amin(x[0], axes, keep); });
  return {};
}

/// Integers, but for their mean.
bool reduces(const Node& node) {
  if (computes(node)) return true;
  return !is_floating(node.inputs[0].dtype) && can_hold(node) && node.inputs[0].elements() > 0 &&
         !node.op.is("ReduceMean");
}

Kernel batch_normalization(const Node& node) {
  const double epsilon = node.attributes().number("epsilon");
  return one([=](Arguments x) {
    return at::batch_norm(x[0], x[1], x[2], x[3], x[4], /*training=*/false, /*momentum=*/0, epsilon,
                          /*cudnn_enabled=*/true);
  });
}

Kernel layer_normalization(const Node& node) {
  const double epsilon = node.attributes().number("epsilon");
  const Shape& shape = node.inputs[0].shape;
  const Shape normalized(shape.begin() + node.attributes().integer("axis"), shape.end());
  return one([=](Arguments x) {
    at::Tensor bias = argument(x, 2);
    if (bias.defined()) bias = bias.expand(normalized);
    return at::layer_norm(x[0], normalized, x[1].expand(normalized), bias, epsilon);
  });
}

}  // namespace

Kernel reduction_kernel(const Node& node) {
  if (node.op.name.starts_with("Reduce")) return reduces(node) ? reduction(node) : Kernel();
  if (!computes(node)) return {};
  if (node.op.is("Softmax"))
    return one([axis = node.attributes().integer("axis")](Arguments x) {
      return at::softmax(x[0], axis);
    });
  if (node.op.is("BatchNormalization")) return batch_normalization(node);
  if (node.op.is("LayerNormalization")) return layer_normalization(node);
  return {};
}

}  // namespace reverie::eager
