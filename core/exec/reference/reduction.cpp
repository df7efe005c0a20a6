#include <algorithm>
#include <cmath>
#include <limits>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// Strides that send every element of the input to the element of the result it is reduced into.
Strides reducing_strides(const KernelCall& call) {
  Shape kept = call.inputs[0].shape();
  for (const int64_t axis : call.attributes.integers("axes")) kept[static_cast<size_t>(axis)] = 1;
  return broadcast_strides(kept, call.inputs[0].shape());
}

template <typename T, typename Combine>
Tensor reduced(const KernelCall& call, T start, Combine&& combine) {
  Tensor result = call.new_output();
  const auto out = result.data<T>();
  std::fill(out.begin(), out.end(), start);
  const T* in = call.inputs[0].data<T>().data();
  for_each_run(call.inputs[0].shape(), {reducing_strides(call)}, [&](const Run& run) {
    T* to = out.data() + run.offsets[0];
    for (int64_t i = 0; i < run.count; ++i, to += run.steps[0])
      *to = combine(*to, in[run.first + i]);
  });
  return result;
}

std::vector<Tensor> sum(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype,
                      [&](auto zero) { return std::vector<Tensor>{reduced(call, zero, plus)}; });
}

std::vector<Tensor> mean(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    Tensor result = sum(call)[0];
    const int64_t count =
        result.elements() == 0 ? 1 : call.inputs[0].elements() / result.elements();
    if (std::is_integral_v<T> && count == 0) throw InputError("integer mean of nothing");
    for (T& x : result.data<T>()) x /= static_cast<T>(count);
    return std::vector<Tensor>{result};
  });
}

template <bool kMax>
std::vector<Tensor> extreme(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    const T far = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const T near = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const auto pick = [](T a, T b) { return b != b || (kMax ? b > a : b < a) ? b : a; };
    return std::vector<Tensor>{reduced(call, kMax ? near : far, pick)};
  });
}

std::vector<Tensor> softmax(const KernelCall& call) {
  Tensor result = call.new_output();
  const Shape& shape = result.shape();
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  const int64_t extent = shape[axis];
  const int64_t inner = contiguous_strides(shape)[axis];
  const double* in = call.inputs[0].data<double>().data();
  double* out = result.data<double>().data();
  for (int64_t lane = 0; extent > 0 && lane < result.elements() / extent; ++lane) {
    const int64_t first = lane / inner * inner * extent + lane % inner;
    const int64_t end = first + extent * inner;
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = first; i < end; i += inner) top = std::max(top, in[i]);
    double total = 0;
    for (int64_t i = first; i < end; i += inner) total += out[i] = std::exp(in[i] - top);
    for (int64_t i = first; i < end; i += inner) out[i] /= total;
  }
  return {result};
}

std::vector<Tensor> batch_normalization(const KernelCall& call) {
  Tensor result = call.new_output();
  const auto parameter = [&](size_t i) { return call.inputs[i].data<double>(); };
  const auto in = parameter(0);
  const auto out = result.data<double>();
  const double epsilon = call.attributes.number("epsilon");
  const size_t channels = parameter(1).size();
  const size_t size =
      in.empty() ? 0 : in.size() / channels / static_cast<size_t>(result.shape()[0]);
  for (size_t first = 0, plane = 0; first < in.size(); first += size, ++plane) {
    const size_t c = plane % channels;
    const double mean = parameter(3)[c], shift = parameter(2)[c];
    const double factor = parameter(1)[c] / std::sqrt(parameter(4)[c] + epsilon);
    for (size_t i = first; i < first + size; ++i) out[i] = (in[i] - mean) * factor + shift;
  }
  return {result};
}

std::vector<Tensor> product(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    return std::vector<Tensor>{reduced(call, decltype(zero){1}, times)};
  });
}

std::vector<Tensor> sum_of_squares(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    return std::vector<Tensor>{
        reduced(call, zero, [](auto sum, auto x) { return plus(sum, times(x, x)); })};
  });
}

std::vector<Tensor> sum_of_sizes(const KernelCall& call) {
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    return std::vector<Tensor>{
        reduced(call, zero, [](auto sum, auto x) { return x < 0 ? minus(sum, x) : plus(sum, x); })};
  });
}

std::vector<Tensor> mapped(Tensor result, double (*f)(double)) {
  std::ranges::transform(result.data<double>(), result.data<double>().begin(), f);
  return {result};
}

std::vector<Tensor> length(const KernelCall& call) {
  return mapped(sum_of_squares(call)[0], [](double x) { return std::sqrt(x); });
}

std::vector<Tensor> log_of_sum(const KernelCall& call) {
  return mapped(sum(call)[0], [](double x) { return std::log(x); });
}

/// Of exp(x - greatest), so that nothing overflows.
std::vector<Tensor> log_of_sum_of_exponentials(const KernelCall& call) {
  const Tensor greatest = extreme<true>(call)[0];
  Tensor result = call.new_output();
  const auto top = greatest.data<double>();
  const auto out = result.data<double>();
  std::fill(out.begin(), out.end(), 0.0);
  const double* in = call.inputs[0].data<double>().data();
  const auto shift = [&](size_t at) { return std::isfinite(top[at]) ? top[at] : 0.0; };
  for_each_run(call.inputs[0].shape(), {reducing_strides(call)}, [&](const Run& run) {
    for (int64_t i = 0; i < run.count; ++i) {
      const auto at = static_cast<size_t>(run.offsets[0] + i * run.steps[0]);
      out[at] += std::exp(in[run.first + i] - shift(at));
    }
  });
  for (size_t at = 0; at < out.size(); ++at) out[at] = std::log(out[at]) + shift(at);
  return {result};
}

}  // namespace

std::vector<KernelRow> reduction_kernels() {
  return {{"ReduceMean", mean},         {"ReduceSum", sum},
          {"ReduceMax", extreme<true>}, {"ReduceMin", extreme<false>},
          {"ReduceProd", product},      {"ReduceL1", sum_of_sizes},
          {"ReduceL2", length},         {"ReduceSumSquare", sum_of_squares},
          {"ReduceLogSum", log_of_sum}, {"ReduceLogSumExp", log_of_sum_of_exponentials},
          {"Softmax", softmax},         {"BatchNormalization", batch_normalization}};
}

}  // namespace reverie::reference
