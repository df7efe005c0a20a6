#include <algorithm>
#include <type_traits>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"
#include "core/ir/einsum.h"

namespace reverie::reference {
namespace {

enum : size_t { kA, kB, kBias, kResidual };

/// result += scale * value, broadcast.
template <typename T>
void add_scaled(Tensor& result, const Tensor& value, double scale) {
  T* out = result.data<T>().data();
  const T* in = value.data<T>().data();
  for_each_run(
      result.shape(), {broadcast_strides(value.shape(), result.shape())}, [&](const Run& run) {
        for (int64_t i = 0; i < run.count; ++i) {
          const T added = times(static_cast<T>(scale), in[run.offsets[0] + i * run.steps[0]]);
          out[run.first + i] = plus(out[run.first + i], added);
        }
      });
}

template <typename T>
void epilogue(const KernelCall& call, Tensor& result, double bias_scale) {
  const DType carrier = result.type().dtype;
  if (call.has_input(kBias)) add_scaled<T>(result, call.inputs[kBias].cast(carrier), bias_scale);
  if (call.has_input(kResidual)) add_scaled<T>(result, call.inputs[kResidual].cast(carrier), 1);
  activate(call.attributes.text("activation"), result.data<T>());
}

/// What is multiplied, as T; but a large tensor of floats, of which gemm widens a part at a time.
template <typename T>
struct Factors {
  explicit Factors(const KernelCall& call) : a(call.inputs[kA]), b(call.inputs[kB]) {
    if constexpr (std::is_same_v<T, double>) {
      constexpr int64_t kLarge = 1 << 20;
      const bool is_a_larger = a.elements() > b.elements();
      Tensor &larger = is_a_larger ? a : b, &smaller = is_a_larger ? b : a;
      smaller = smaller.cast(DType::kFloat64);
      if (larger.elements() <= kLarge) larger = larger.cast(DType::kFloat64);
    }
  }
  void multiply(const Gemm& sizes, int64_t a_from, int64_t b_from, T* c) const {
    if constexpr (std::is_same_v<T, double>)
      gemm(sizes, a, a_from, b, b_from, c);
    else
      gemm(sizes, a.data<T>().data() + a_from, b.data<T>().data() + b_from, c);
  }

  Tensor a, b;
};

/// How the last two axes are read.
struct Reading {
  bool trans_a = false, trans_b = false;
  double alpha = 1;
};

template <typename T>
Tensor multiply(const KernelCall& call, const Reading& reading = {}) {
  Tensor result = call.new_output();
  Shape a = call.inputs[kA].shape();
  Shape b = call.inputs[kB].shape();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const auto last = [](const Shape& shape, bool other) {
    return shape[shape.size() - (other ? 2 : 1)];
  };
  const int64_t rows = last(a, !reading.trans_a);
  const int64_t inner = last(a, reading.trans_a);
  const int64_t columns = last(b, reading.trans_b);
  const Shape batch_a(a.begin(), a.end() - 2);
  const Shape batch_b(b.begin(), b.end() - 2);
  const Shape batch = broadcast(batch_a, batch_b);
  const Gemm sizes{.rows = rows,
                   .columns = columns,
                   .inner = inner,
                   .trans_a = reading.trans_a,
                   .trans_b = reading.trans_b,
                   .lda = std::max<int64_t>(a.back(), 1),
                   .ldb = std::max<int64_t>(b.back(), 1),
                   .ldc = std::max<int64_t>(columns, 1),
                   .alpha = reading.alpha};
  const Factors<T> factors(call);
  T* out = result.data<T>().data();
  for_each_run(batch, {broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch)},
               [&](const Run& run) {
                 for (int64_t i = 0; i < run.count; ++i)
                   factors.multiply(sizes, (run.offsets[0] + i * run.steps[0]) * rows * inner,
                                    (run.offsets[1] + i * run.steps[1]) * inner * columns,
                                    out + (run.first + i) * rows * columns);
               });
  return result;
}

std::vector<Tensor> matmul(const KernelCall& call) {
  return visit_number(call.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    Tensor result = multiply<T>(call);
    epilogue<T>(call, result, 1);
    return std::vector<Tensor>{result};
  });
}

std::vector<Tensor> fused_matmul(const KernelCall& call) {
  const Attributes& attributes = call.attributes;
  return {multiply<double>(call, {.trans_a = attributes.integer("transA") != 0,
                                  .trans_b = attributes.integer("transB") != 0,
                                  .alpha = attributes.number("alpha")})};
}

std::vector<Tensor> general_product(const KernelCall& call) {
  return visit_number(call.outputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    Tensor result = call.new_output();
    const Shape& a = call.inputs[kA].shape();
    const Shape& b = call.inputs[kB].shape();
    const bool trans_a = call.attributes.integer("transA") != 0;
    const bool trans_b = call.attributes.integer("transB") != 0;
    const auto lead = [](int64_t extent) { return std::max<int64_t>(extent, 1); };
    const Factors<T> factors(call);
    factors.multiply({.rows = result.shape()[0],
                      .columns = result.shape()[1],
                      .inner = a[trans_a ? 0 : 1],
                      .trans_a = trans_a,
                      .trans_b = trans_b,
                      .lda = lead(a[1]),
                      .ldb = lead(b[1]),
                      .ldc = lead(result.shape()[1]),
                      .alpha = call.attributes.number("alpha"),
                      .beta = 0},
                     0, 0, result.data<T>().data());
    epilogue<T>(call, result, call.attributes.number("beta"));
    return std::vector<Tensor>{result};
  });
}

/// How a tensor moves with each letter; a repeated one runs along a diagonal.
Strides letter_strides(const Shape& shape, const std::string& term, const std::string& letters,
                       const Shape& extents) {
  const Strides own = contiguous_strides(shape);
  Strides strides(letters.size(), 0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const size_t at = letters.find(term[axis]);
    if (shape[axis] == extents[at]) strides[at] += own[axis];
  }
  return strides;
}

template <typename T>
Tensor sum_of_products(const KernelCall& call, const Einsum& sum) {
  std::vector<Shape> shapes;
  for (const Tensor& input : call.inputs) shapes.push_back(input.shape());
  std::string letters = sum.result;
  Shape extents = call.outputs[0].shape;
  for (const auto& [letter, extent] : einsum_extents(sum, shapes))
    if (sum.result.find(letter) == std::string::npos) {
      letters += letter;
      extents.push_back(extent);
    }
  Tensor result = call.new_output();
  std::fill(result.data<T>().begin(), result.data<T>().end(), T{});
  std::vector<Strides> strides = {letter_strides(result.shape(), sum.result, letters, extents)};
  std::vector<const T*> operands;
  for (size_t i = 0; i < shapes.size(); ++i) {
    strides.push_back(letter_strides(shapes[i], sum.operands[i], letters, extents));
    operands.push_back(call.inputs[i].data<T>().data());
  }
  T* out = result.data<T>().data();
  for_each_run(extents, strides, [&](const Run& run) {
    for (int64_t n = 0; n < run.count; ++n) {
      T product = 1;
      for (size_t i = 0; i < operands.size(); ++i)
        product = times(product, operands[i][run.offsets[i + 1] + n * run.steps[i + 1]]);
      T& to = out[run.offsets[0] + n * run.steps[0]];
      to = plus(to, product);
    }
  });
  return result;
}

std::vector<Tensor> einsum(const KernelCall& call) {
  std::vector<int> ranks;
  for (const Tensor& input : call.inputs) ranks.push_back(input.type().rank());
  const Einsum sum = parse_einsum(call.attributes.text("equation"), ranks);
  return visit_number(call.inputs[0].type().dtype, [&](auto zero) {
    return std::vector<Tensor>{sum_of_products<decltype(zero)>(call, sum)};
  });
}

}  // namespace

std::vector<KernelRow> linear_kernels() {
  constexpr auto kFloats = KernelRow::Takes::kFloats;
  return {{"MatMul", matmul, kFloats},
          {"Gemm", general_product, kFloats},
          {"Einsum", einsum},
          {"FusedMatMul", fused_matmul, kFloats}};
}

}  // namespace reverie::reference
