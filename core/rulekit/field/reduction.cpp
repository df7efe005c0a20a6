#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "core/exec/reference/indexing.h"
#include "core/exec/reference/window.h"
#include "core/rulekit/field/kernels.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie::field {
namespace {

using Extreme = FieldFunctions::Extreme;

/// For every element of a result, the elements that are reduced into it.
struct Lists {
  std::vector<uint64_t> elements;
  std::vector<size_t> ends;

  /// `count` of them, equally long.
  Lists(std::vector<uint64_t> all, size_t count) : elements(std::move(all)), ends(count) {
    for (size_t i = 0; i < count; ++i) ends[i] = (i + 1) * (elements.size() / count);
  }
  size_t size() const { return ends.size(); }
  std::span<const uint64_t> operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::span(elements).subspan(begin, ends[i] - begin);
  }
};

Lists reduced_elements(const Call& call) {
  Shape kept = call.shape(0);
  for (const int64_t axis : call.attributes.integers("axes")) kept[static_cast<size_t>(axis)] = 1;
  const auto from = call.data(0);
  Lists lists(std::vector<uint64_t>(from.size()), static_cast<size_t>(element_count(kept)));
  std::vector<size_t> next = lists.ends;  // filled from the end
  reference::for_each_run(
      call.shape(0), {reference::broadcast_strides(kept, call.shape(0))},
      [&](const reference::Run& run) {
        for (int64_t i = 0; i < run.count; ++i)
          lists.elements[--next[static_cast<size_t>(run.offsets[0] + i * run.steps[0])]] =
              from[static_cast<size_t>(run.first + i)];
      });
  return lists;
}

/// For every element of a pooling's result, those that its window sees, and how many taps lie
/// within the padded input.
struct Windows {
  Lists lists{{}, 0};
  std::vector<int64_t> padded;
};

Windows windows_of(const Call& call) {
  const Shape& shape = call.outputs[0].shape;
  const reference::Window window = reference::window_of(call.shape(0), shape, call.attributes,
                                                        call.attributes.integers("kernel_shape"));
  Windows result;
  const auto from = call.data(0);
  std::vector<std::vector<reference::Tap>> taps(static_cast<size_t>(window.out_size()));
  std::vector<int64_t> padded;
  for (size_t position = 0; position < taps.size(); ++position)
    padded.push_back(reference::taps_at(window, static_cast<int64_t>(position), taps[position]));
  for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (const auto& seen : taps) {
      for (const reference::Tap& tap : seen)
        result.lists.elements.push_back(
            from[static_cast<size_t>(plane * window.in_size() + tap.offset)]);
      result.lists.ends.push_back(result.lists.elements.size());
    }
    result.padded.insert(result.padded.end(), padded.begin(), padded.end());
  }
  return result;
}

/// All elements behind the first two axes, for every position of these.
Lists planes_of(const Call& call) {
  const auto from = call.data(0);
  return {{from.begin(), from.end()}, static_cast<size_t>(element_count(call.outputs[0].shape))};
}

/// Sum of each list over `counts` (1 where that is empty).
FieldTensor sums(const Call& call, const Lists& lists, const std::vector<int64_t>& counts) {
  size_t longest = 0;
  for (size_t i = 0; i < lists.size(); ++i) longest = std::max(longest, lists[i].size());
  FieldTensor result =
      call.new_output(degree_of_sum(call.degree(0), static_cast<int64_t>(longest)));
  const auto to = result.elements.data<uint64_t>();
  std::map<int64_t, uint64_t> shares;
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const uint64_t x : lists[i]) to[i] = add(to[i], x);
    if (counts.empty() || counts[i] == 0) continue;
    const auto [share, is_new] = shares.try_emplace(counts[i]);
    if (is_new) share->second = inverse(of_integer(counts[i]));
    to[i] = multiply(to[i], share->second);
  }
  return result;
}

std::vector<int64_t> sizes_of(const Lists& lists) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < lists.size(); ++i) sizes.push_back(static_cast<int64_t>(lists[i].size()));
  return sizes;
}

template <Extreme kWhich>
FieldTensor extremes(const Call& call, const Lists& lists) {
  call.functions.declare_extreme(kWhich, static_cast<int64_t>(lists.elements.size()),
                                 call.degree(0));
  FieldTensor result = call.new_output(larger_degree(call.degree(0), {1, 0}));
  const auto to = result.elements.data<uint64_t>();
  for (size_t i = 0; i < lists.size(); ++i) to[i] = call.functions.extreme(kWhich, lists[i]);
  return result;
}

std::vector<FieldTensor> reduce_sum(const Call& call) {
  return {sums(call, reduced_elements(call), {})};
}
std::vector<FieldTensor> reduce_mean(const Call& call) {
  const auto lists = reduced_elements(call);
  return {sums(call, lists, sizes_of(lists))};
}
template <Extreme kWhich>
std::vector<FieldTensor> reduce_extreme(const Call& call) {
  return {extremes<kWhich>(call, reduced_elements(call))};
}

std::vector<FieldTensor> average_pool(const Call& call) {
  const Windows windows = windows_of(call);
  const bool pad_counts = call.attributes.integer("count_include_pad") != 0;
  return {sums(call, windows.lists, pad_counts ? windows.padded : sizes_of(windows.lists))};
}
std::vector<FieldTensor> max_pool(const Call& call) {
  return {extremes<Extreme::kGreatest>(call, windows_of(call).lists)};
}
std::vector<FieldTensor> global_average_pool(const Call& call) {
  const auto lists = planes_of(call);
  return {sums(call, lists, sizes_of(lists))};
}
std::vector<FieldTensor> global_max_pool(const Call& call) {
  return {extremes<Extreme::kGreatest>(call, planes_of(call))};
}

/// A random function of the element and of its row in any order: what holds is that rows move with
/// their elements.
std::vector<FieldTensor> softmax(const Call& call) {
  FieldTensor result = call.new_output({1, 0});
  const Shape& shape = result.elements.shape();
  const auto axis = static_cast<size_t>(call.attributes.integer("axis"));
  const int64_t extent = shape[axis];
  const int64_t inner = reference::contiguous_strides(shape)[axis];
  const uint64_t number =
      call.functions.declare("Softmax", result.elements.elements(), call.degree(0));
  const auto from = call.data(0);
  const auto to = result.elements.data<uint64_t>();
  for (int64_t lane = 0; extent > 0 && lane < result.elements.elements() / extent; ++lane) {
    const int64_t first = lane / inner * inner * extent + lane % inner;
    std::vector<uint64_t> row;
    for (int64_t i = 0; i < extent; ++i)
      row.push_back(from[static_cast<size_t>(first + i * inner)]);
    std::sort(row.begin(), row.end());
    row.push_back(0);
    for (int64_t i = 0; i < extent; ++i) {
      row.back() = from[static_cast<size_t>(first + i * inner)];
      to[static_cast<size_t>(first + i * inner)] = call.functions.value(number, row);
    }
  }
  return {result};
}

/// The random function that stands for square roots, of a sum with the operator's epsilon.
std::vector<uint64_t> roots(const Call& call, std::span<const uint64_t> variances,
                            FieldDegree degree) {
  const uint64_t epsilon = element_of(call.attributes.number("epsilon"));
  const uint64_t number =
      call.functions.declare("Sqrt", static_cast<int64_t>(variances.size()), degree);
  std::vector<uint64_t> result;
  for (const uint64_t variance : variances) {
    const uint64_t argument = add(variance, epsilon);
    result.push_back(call.functions.value(number, {&argument, 1}));
  }
  return result;
}

std::vector<FieldTensor> batch_normalization(const Call& call) {
  const FieldDegree normal =
      degree_of_quotient(degree_of_sum(call.degree(0), call.degree(3)), {1, 0});
  FieldTensor result =
      call.new_output(degree_of_sum(degree_of_product(normal, call.degree(1)), call.degree(2)));
  const std::vector<uint64_t> root = roots(call, call.data(4), call.degree(4));
  const auto from = call.data(0);
  const auto to = result.elements.data<uint64_t>();
  const size_t channels = root.size();
  const size_t size =
      from.empty() ? 0 : from.size() / channels / static_cast<size_t>(call.shape(0)[0]);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t c = i / size % channels;
    const uint64_t x = divide(call, subtract(from[i], call.data(3)[c]), root[c]);
    to[i] = add(multiply(x, call.data(1)[c]), call.data(2)[c]);
  }
  return {result};
}

std::vector<FieldTensor> layer_normalization(const Call& call) {
  const Shape& shape = call.outputs[0].shape;
  const Shape row(shape.begin() + call.attributes.integer("axis"), shape.end());
  const auto size = static_cast<size_t>(element_count(row));
  const FieldDegree mean = degree_of_sum(call.degree(0), static_cast<int64_t>(size));
  const FieldDegree centred = degree_of_sum(call.degree(0), mean);
  const FieldDegree variance =
      degree_of_sum(degree_of_product(centred, centred), static_cast<int64_t>(size));
  FieldTensor result = call.new_output(degree_of_quotient(centred, {1, 0}));
  const auto to = result.elements.data<uint64_t>();
  std::copy_n(call.data(0).begin(), to.size(), to.begin());
  const uint64_t share = inverse(of_integer(static_cast<int64_t>(size)));
  std::vector<uint64_t> variances;
  for (size_t first = 0; first < to.size(); first += size) {
    const auto x = to.subspan(first, size);
    uint64_t total = 0;
    for (const uint64_t element : x) total = add(total, element);
    uint64_t squares = 0;
    for (uint64_t& element : x) {
      element = subtract(element, multiply(total, share));
      squares = add(squares, multiply(element, element));
    }
    variances.push_back(multiply(squares, share));
  }
  const std::vector<uint64_t> root = roots(call, variances, variance);
  for (size_t i = 0; i < to.size(); ++i) to[i] = divide(call, to[i], root[i / size]);
  scale(call, result, 1);
  if (call.has_input(2)) add_scaled(call, result, 2, 1);
  return {result};
}

}  // namespace

std::vector<Kernel> reduction_kernels() {
  return {{"ReduceSum", reduce_sum},
          {"ReduceMean", reduce_mean},
          {"ReduceMax", reduce_extreme<Extreme::kGreatest>},
          {"ReduceMin", reduce_extreme<Extreme::kLeast>},
          {"AveragePool", average_pool},
          {"MaxPool", max_pool},
          {"GlobalAveragePool", global_average_pool},
          {"GlobalMaxPool", global_max_pool},
          {"Softmax", softmax},
          {"BatchNormalization", batch_normalization},
          {"LayerNormalization", layer_normalization}};
}

}  // namespace reverie::field
