#include <algorithm>

#include "tools/eager/node.h"

namespace reverie::eager {
namespace {

/// Most are views of their input, as in PyTorch: what reads them next pays for it.
Kernel slice(const Node& node) {
  struct Range {
    int64_t axis, start, end, step;
    bool reversed;
  };
  std::vector<Range> ranges;
  const Attributes& attributes = node.attributes();
  for (size_t i = 0; i < attributes.integers("axes").size(); ++i) {
    const int64_t axis = attributes.integers("axes")[i], step = attributes.integers("steps")[i];
    const int64_t count = node.outputs[0].shape[static_cast<size_t>(axis)];
    const int64_t from = attributes.integers("starts")[i];
    const int64_t start =
        step > 0 ? from : node.inputs[0].shape[static_cast<size_t>(axis)] - 1 - from;
    const int64_t stride = std::abs(step);
    ranges.push_back({axis, start, count == 0 ? start : start + (count - 1) * stride + 1, stride,
                      step < 0});
  }
  return one([ranges](Arguments x) {
    at::Tensor result = x[0];
    for (const Range& range : ranges) {
      if (range.reversed) result = at::flip(result, range.axis);
      result = at::slice(result, range.axis, range.start, range.end, range.step);
    }
    return result;
  });
}

/// Of a weight that holds one index, a view; else by LibTorch's indexing, which counts negative indices from
/// the end as ONNX does.
Kernel gather(const Node& node) {
  const int64_t axis = node.attributes().integer("axis");
  if (node.inputs[1].rank() == 0 && node.weights[1] != nullptr) {
    const int64_t index = node.weights[1]->materialize().to_integers().at(0);
    return one([=](Arguments x) { return at::select(x[0], axis, index); });
  }
  return one([=](Arguments x) {
    c10::List<c10::optional<at::Tensor>> indices;
    for (int64_t i = 0; i < axis; ++i) indices.push_back(c10::nullopt);
    indices.push_back(x[1].to(at::kLong));
    return at::index(x[0], indices);
  });
}

Kernel padding(const Node& node) {
  const Attributes& attributes = node.attributes();
  if (attributes.text("mode") != "constant") return {};
  const std::vector<int64_t>& pads = attributes.integers("pads");
  std::vector<int64_t> last_first;
  for (size_t rank = pads.size() / 2, axis = rank; axis-- > 0;) {
    last_first.push_back(pads[axis]);
    last_first.push_back(pads[axis + rank]);
  }
  return one([=, value = attributes.number("value")](Arguments x) {
    return at::constant_pad_nd(x[0], last_first, value);
  });
}

Kernel shape_of(const Node& node) {
  const auto first = node.inputs[0].shape.begin() + node.attributes().integer("start");
  const std::vector<int64_t> extents(first, first + node.outputs[0].elements());
  return one([value = at::tensor(extents, at::kLong).to(node.device)](Arguments) { return value; });
}

Kernel transposition(const Node& node) {
  return one([perm = node.attributes().integers("perm")](Arguments x) {
    return at::permute(x[0], perm);
  });
}

Kernel concatenation(const Node& node) {
  return one([axis = node.attributes().integer("axis")](Arguments x) {
    return at::cat(at::TensorList(x.data(), x.size()), axis);
  });
}

Kernel division(const Node& node) {
  return [axis = node.attributes().integer("axis"),
          parts = node.attributes().integers("split")](Arguments x) {
    return at::split_with_sizes(x[0], parts, axis);
  };
}

Kernel tiling(const Node& node) {
  return one([repeats = node.attributes().integers("repeats")](Arguments x) {
    return x[0].repeat(repeats);
  });
}

}  // namespace

Kernel movement_kernel(const Node& node) {
  if (!can_hold(node)) return {};
  const Shape& shape = node.outputs.at(0).shape;
  const OpSchema& op = node.op;
  if (op.view) return one([shape](Arguments x) { return at::reshape(x[0], shape); });
  if (op.is("Expand")) return one([shape](Arguments x) { return x[0].expand(shape); });
  if (op.is("Transpose")) return transposition(node);
  if (op.is("Concat")) return concatenation(node);
  if (op.is("Split")) return division(node);
  if (op.is("Slice")) return slice(node);
  if (op.is("Gather")) return gather(node);
  if (op.is("Pad")) return padding(node);
  if (op.is("Tile")) return tiling(node);
  if (op.is("Shape")) return shape_of(node);
  return {};
}

}  // namespace reverie::eager
