#include <algorithm>
#include <limits>

#include "tools/eager/node.h"

namespace reverie::eager {
namespace {

enum : size_t { kX, kFilter, kFilterBias, kAdded };

/// Pads of a window. LibTorch's operators take one number for both ends of an axis; where they differ, the
/// input is padded by an operator of its own.
struct Pads {
  std::vector<int64_t> both;   ///< for the operator
  std::vector<int64_t> ahead;  ///< as at::constant_pad_nd takes them; empty where nothing is padded ahead

  explicit Pads(const std::vector<int64_t>& pads) {
    const size_t rank = pads.size() / 2;
    both.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    if (std::equal(both.begin(), both.end(), pads.begin() + static_cast<std::ptrdiff_t>(rank))) return;
    both.assign(rank, 0);
    for (size_t axis = rank; axis-- > 0;) {
      ahead.push_back(pads[axis]);
      ahead.push_back(pads[axis + rank]);
    }
  }
  at::Tensor applied(const at::Tensor& x, double value) const {
    return ahead.empty() ? x : at::constant_pad_nd(x, ahead, value);
  }
};

Kernel convolution(const Node& node) {
  const Attributes& attributes = node.attributes();
  const std::vector<int64_t> strides = attributes.integers("strides");
  const std::vector<int64_t> dilations = attributes.integers("dilations");
  const int64_t group = attributes.integer("group");
  const std::string activation = attributes.text("activation");
  const auto convolve = [](size_t rank) {
    using Convolve = at::Tensor (*)(const at::Tensor&, const at::Tensor&,
                                    const c10::optional<at::Tensor>&, at::IntArrayRef,
                                    at::IntArrayRef, at::IntArrayRef, int64_t);
    return rank == 1 ? static_cast<Convolve>(at::conv1d)
           : rank == 2 ? static_cast<Convolve>(at::conv2d) : static_cast<Convolve>(at::conv3d);
  }(strides.size());
  return one([=, pads = Pads(attributes.integers("pads"))](Arguments x) {
    return finished(convolve(pads.applied(x[kX], 0), x[kFilter], argument(x, kFilterBias), strides,
                             pads.both, dilations, group),
                    argument(x, kAdded), activation);
  });
}

struct Pool {
  std::vector<int64_t> kernel, strides, dilations;
  Pads pads;
  bool ceil;
  bool pads_count;

  explicit Pool(const Attributes& attributes)
      : kernel(attributes.integers("kernel_shape")),
        strides(attributes.integers("strides")),
        dilations(attributes.integers("dilations", std::vector<int64_t>(kernel.size(), 1))),
        pads(attributes.integers("pads")),
        ceil(attributes.integer("ceil_mode") != 0),
        pads_count(attributes.integer("count_include_pad", 0) != 0) {}

  /// LibTorch pads by half a window at most, and leaves out windows that begin behind the input.
  bool fits(const Shape& x, const Shape& out) const {
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (2 * pads.both[i] > kernel[i]) return false;
      const int64_t begin = (out[i + 2] - 1) * strides[i];
      const size_t pair = 2 * (kernel.size() - 1 - i);
      const int64_t ahead = pads.ahead.empty() ? 0 : pads.ahead[pair] + pads.ahead[pair + 1];
      if (ceil && begin >= x[i + 2] + ahead + pads.both[i]) return false;
    }
    return true;
  }
};

at::Tensor max_pooled(const at::Tensor& x, const Pool& p) {
  const at::Tensor padded = p.pads.applied(x, -std::numeric_limits<double>::infinity());
  const auto pool = p.kernel.size() == 1   ? at::max_pool1d
                    : p.kernel.size() == 2 ? at::max_pool2d
                                           : at::max_pool3d;
  return pool(padded, p.kernel, p.strides, p.pads.both, p.dilations, p.ceil);
}

at::Tensor average_pooled(const at::Tensor& x, const Pool& p) {
  const at::Tensor padded = p.pads.applied(x, 0);
  if (p.kernel.size() == 1)
    return at::avg_pool1d(padded, p.kernel, p.strides, p.pads.both, p.ceil, p.pads_count);
  const auto pool = p.kernel.size() == 2 ? at::avg_pool2d : at::avg_pool3d;
  return pool(padded, p.kernel, p.strides, p.pads.both, p.ceil, p.pads_count, c10::nullopt);
}

Kernel pooling(const Node& node) {
  const Pool pool(node.attributes());
  if (!pool.fits(node.inputs[kX].shape, node.outputs[0].shape)) return {};
  if (node.op.is("MaxPool")) return one([=](Arguments x) { return max_pooled(x[0], pool); });
  // Padded ahead, what was padded counts.
  if (!pool.pads.ahead.empty() && !pool.pads_count) return {};
  return one([=](Arguments x) { return average_pooled(x[0], pool); });
}

Kernel global_pooling(const Node& node) {
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < node.inputs[0].rank(); ++axis) axes.push_back(axis);
  if (node.op.is("GlobalMaxPool")) return one([=](Arguments x) { return at::amax(x[0], axes, true); });
  return one([=](Arguments x) { return at::mean(x[0], axes, true); });
}

}  // namespace

Kernel window_kernel(const Node& node) {
  if (node.op.is("Conv") && computes(node)) return convolution(node);
  if ((node.op.is("MaxPool") || node.op.is("AveragePool")) && computes(node)) return pooling(node);
  if ((node.op.is("GlobalMaxPool") || node.op.is("GlobalAveragePool")) && computes(node))
    return global_pooling(node);
  return {};
}

}  // namespace reverie::eager
