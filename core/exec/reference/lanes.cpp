#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// A tensor as lanes along one axis: element i of a lane lies at first + i * step.
struct Lanes {
  int64_t extent;
  int64_t step;
  int64_t count;

  Lanes(const Shape& shape, int64_t axis)
      : extent(shape[static_cast<size_t>(axis)]),
        step(element_count(Shape(shape.begin() + axis + 1, shape.end()))),
        count(step * element_count(Shape(shape.begin(), shape.begin() + axis))) {}

  int64_t first(int64_t lane) const { return lane / step * step * extent + lane % step; }
};

Lanes lanes_of(const Tensor& tensor, const KernelCall& call) {
  return {tensor.shape(), call.attributes.integer("axis")};
}

/// NaN counts as the greatest, so that there is an order.
bool is_less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool is_less(int64_t a, int64_t b) { return a < b; }

template <bool kMax>
std::vector<Tensor> place_of_extreme(const KernelCall& call) {
  Tensor result = call.new_output();
  const auto out = result.data<int64_t>();
  const Lanes lanes = lanes_of(call.inputs[0], call);
  const bool takes_last = call.attributes.integer("select_last_index") != 0;
  visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    const auto* in = call.inputs[0].data<decltype(zero)>().data();
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      const auto* x = in + lanes.first(lane);
      int64_t best = 0;
      for (int64_t i = 1; i < lanes.extent; ++i) {
        const auto was = x[best * lanes.step];
        const auto is = x[i * lanes.step];
        const bool beats = kMax ? is_less(was, is) : is_less(is, was);
        const bool ties = kMax ? !is_less(is, was) : !is_less(was, is);
        if (beats || (takes_last && ties)) best = i;
      }
      out[static_cast<size_t>(lane)] = best;
    }
  });
  return {result};
}

/// Sorted, the first of equals first.
template <typename T>
std::vector<int64_t> order_of(const T* x, const Lanes& lanes, int64_t k, bool largest) {
  std::vector<int64_t> order(static_cast<size_t>(lanes.extent));
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t i, int64_t j) {
    const T a = x[i * lanes.step], b = x[j * lanes.step];
    if (largest ? is_less(b, a) : is_less(a, b)) return true;
    return !(largest ? is_less(a, b) : is_less(b, a)) && i < j;
  };
  std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
  return order;
}

std::vector<Tensor> top_k(const KernelCall& call) {
  Tensor values = call.new_output(0);
  Tensor indices = call.new_output(1);
  const Lanes from = lanes_of(call.inputs[0], call);
  const Lanes to = lanes_of(values, call);
  const bool largest = call.attributes.integer("largest") != 0;
  const auto place = indices.data<int64_t>();
  visit_number(values.type().dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* in = call.inputs[0].data<T>().data();
    const auto out = values.data<T>();
    for (int64_t lane = 0; lane < to.count; ++lane) {
      const T* x = in + from.first(lane);
      const std::vector<int64_t> order = order_of(x, from, to.extent, largest);
      for (int64_t i = 0; i < to.extent; ++i) {
        const auto at = static_cast<size_t>(to.first(lane) + i * to.step);
        place[at] = order[static_cast<size_t>(i)];
        out[at] = x[place[at] * from.step];
      }
    }
  });
  return {values, indices};
}

std::vector<Tensor> cumulative_sum(const KernelCall& call) {
  Tensor result = call.new_output();
  const Lanes lanes = lanes_of(result, call);
  const bool exclusive = call.attributes.integer("exclusive") != 0;
  const bool reverse = call.attributes.integer("reverse") != 0;
  visit_number(result.type().dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* in = call.inputs[0].data<T>().data();
    T* out = result.data<T>().data();
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      T sum = 0;
      for (int64_t i = 0; i < lanes.extent; ++i) {
        const int64_t at = lanes.first(lane) + (reverse ? lanes.extent - 1 - i : i) * lanes.step;
        const T next = plus(sum, in[at]);
        out[at] = exclusive ? sum : next;
        sum = next;
      }
    }
  });
  return {result};
}

std::vector<Tensor> log_softmax(const KernelCall& call) {
  Tensor result = call.new_output();
  const Lanes lanes = lanes_of(result, call);
  const double* in = call.inputs[0].data<double>().data();
  double* out = result.data<double>().data();
  for (int64_t lane = 0; lanes.extent > 0 && lane < lanes.count; ++lane) {
    const int64_t first = lanes.first(lane);
    const int64_t end = first + lanes.extent * lanes.step;
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = first; i < end; i += lanes.step) top = std::max(top, in[i]);
    double total = 0;
    for (int64_t i = first; i < end; i += lanes.step) total += std::exp(in[i] - top);
    for (int64_t i = first; i < end; i += lanes.step) out[i] = in[i] - top - std::log(total);
  }
  return {result};
}

}  // namespace

std::vector<KernelRow> lane_kernels() {
  return {{"ArgMax", place_of_extreme<true>},
          {"ArgMin", place_of_extreme<false>},
          {"TopK", top_k},
          {"CumSum", cumulative_sum},
          {"LogSoftmax", log_softmax}};
}

}  // namespace reverie::reference
