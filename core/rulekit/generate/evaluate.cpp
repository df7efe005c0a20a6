#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/rulekit/field/prime_field.h"
#include "core/rulekit/generate/operators.h"

namespace reverie::generate {
namespace {

uint64_t keyed(Kind kind, uint64_t x) {
  return field::reduce(mix64(x ^ (uint64_t{0x5bf0f1c6} << static_cast<int>(kind))));
}

/// A random function that leaves what it returns as it is, as max(x, 0) does: its values are those
/// whose low bits are `kMark`.
uint64_t relu(uint64_t x) {
  constexpr uint64_t kMask = (uint64_t{1} << 24) - 1;
  constexpr uint64_t kMark = 0xa5c3e1;
  if ((x & kMask) == kMark) return x;
  return ((keyed(Kind::kRelu, x) & ~kMask) | kMark) & field::kPrime;
}

/// In place of 1/y: multiplicative, 1 for 1, and unrelated to Mul otherwise.
uint64_t reciprocal(uint64_t y) {
  constexpr uint64_t kExponent = 0x0d9b4a6f31c872e5;
  return field::power(y, kExponent);
}

void product(const Extents& ea, const uint64_t* a, const Extents& eb, const uint64_t* b,
             uint64_t* out) {
  const size_t inner = ea.dim[1];
  const size_t columns = eb.dim[1];
  for (size_t i = 0; i < ea.dim[0]; ++i)
    for (size_t j = 0; j < columns; ++j) {
      field::Wide sum = 0;
      for (size_t k = 0; k < inner; ++k) sum += field::Wide{a[i * inner + k]} * b[k * columns + j];
      *out++ = field::reduce(sum);
    }
}

/// One output channel of one image. The kernel's middle stands on the element.
void convolve(const uint64_t* x, const uint64_t* w, int channels, int height, int breadth, int kh,
              int kw, uint64_t* out) {
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < breadth; ++j) {
      field::Wide sum = 0;
      for (int c = 0; c < channels; ++c) {
        const uint64_t* plane = x + c * height * breadth;
        const uint64_t* kernel = w + c * kh * kw;
        const int top = i - kh / 2, left = j - kw / 2;
        for (int u = std::max(0, -top); u < kh && top + u < height; ++u)
          for (int v = std::max(0, -left); v < kw && left + v < breadth; ++v)
            sum += field::Wide{plane[(top + u) * breadth + left + v]} * kernel[u * kw + v];
        sum = field::folded_once(sum);
      }
      *out++ = field::reduce(sum);
    }
}

void convolution(const Extents& ex, const uint64_t* x, const Extents& ew, const uint64_t* w,
                 uint64_t* out) {
  const int filters = ew.dim[0];
  const int per_group = ew.dim[1];
  const int filters_per_group = filters / (ex.dim[1] / per_group);
  const int plane = ex.dim[2] * ex.dim[3];
  for (int n = 0; n < ex.dim[0]; ++n)
    for (int f = 0; f < filters; ++f) {
      const int first = n * ex.dim[1] + f / filters_per_group * per_group;
      convolve(x + first * plane, w + f * per_group * ew.dim[2] * ew.dim[3], per_group, ex.dim[2],
               ex.dim[3], ew.dim[2], ew.dim[3], out);
      out += plane;
    }
}

/// `enter` is done to each element, their sum over the window goes through `leave`.
template <class Enter, class Leave>
void pool(const Extents& ex, const uint64_t* x, uint64_t* out, Enter enter, Leave leave) {
  const int height = ex.dim[2], breadth = ex.dim[3];
  for (int plane = 0; plane < ex.dim[0] * ex.dim[1]; ++plane, x += height * breadth)
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < breadth; ++j) {
        uint64_t sum = 0;
        for (int u = std::max(0, i - 1); u <= std::min(height - 1, i + 1); ++u)
          for (int v = std::max(0, j - 1); v <= std::min(breadth - 1, j + 1); ++v)
            sum = field::add(sum, enter(x[u * breadth + v]));
        *out++ = leave(sum);
      }
}

void softmax(const Extents& ex, const uint64_t* x, uint64_t* out) {
  for (int row = 0; row < ex.dim[0]; ++row, x += ex.dim[1]) {
    uint64_t sum = 0;
    for (int j = 0; j < ex.dim[1]; ++j) sum = field::add(sum, keyed(Kind::kSoftmax, x[j]));
    for (int j = 0; j < ex.dim[1]; ++j) *out++ = field::reduce(hash_combine(sum, x[j]));
  }
}

void reduce_sum(const Extents& ex, const uint64_t* x, size_t axis, uint64_t* out) {
  std::fill(out, out + ex.dim[1 - axis], 0);
  for (size_t i = 0; i < ex.dim[0]; ++i)
    for (size_t j = 0; j < ex.dim[1]; ++j, ++x) {
      uint64_t& to = out[axis == 0 ? j : i];
      to = field::add(to, *x);
    }
}

/// Elements in a row from `axis` on.
size_t run(const Extents& e, size_t axis) {
  size_t size = 1;
  for (size_t k = axis; k < e.rank; ++k) size *= e.dim[k];
  return size;
}

void concat(const Extents& ea, const uint64_t* a, const Extents& eb, const uint64_t* b, size_t axis,
            uint64_t* out) {
  const size_t from_a = run(ea, axis), from_b = run(eb, axis);
  const size_t rows = static_cast<size_t>(ea.size()) / from_a;
  for (size_t row = 0; row < rows; ++row) {
    out = std::copy_n(a + row * from_a, from_a, out);
    out = std::copy_n(b + row * from_b, from_b, out);
  }
}

void split(const Operator& op, const Extents& ea, const uint64_t* a, const Extents& to,
           uint64_t* out) {
  const auto axis = static_cast<size_t>(op.axis);
  const size_t whole = run(ea, axis), part = run(to, axis);
  const size_t skip = op.kind == Kind::kSplitFirst ? 0 : whole - part;
  const size_t rows = static_cast<size_t>(ea.size()) / whole;
  for (size_t row = 0; row < rows; ++row) out = std::copy_n(a + row * whole + skip, part, out);
}

void enlarge(const Extents& ea, const uint64_t* a, uint64_t* out) {
  const int height = ea.dim[2], breadth = ea.dim[3];
  const int top = (3 - height) / 2, left = (3 - breadth) / 2;
  std::fill(out, out + ea.dim[0] * ea.dim[1] * 9, 0);
  for (int plane = 0; plane < ea.dim[0] * ea.dim[1]; ++plane, out += 9)
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < breadth; ++j) out[(top + i) * 3 + left + j] = *a++;
}

void transpose(const Extents& ea, const uint64_t* a, uint64_t* out) {
  for (size_t j = 0; j < ea.dim[1]; ++j)
    for (size_t i = 0; i < ea.dim[0]; ++i) *out++ = a[i * ea.dim[1] + j];
}

void constant(Kind kind, const Extents& to, uint64_t* out) {
  const auto size = static_cast<size_t>(to.size());
  std::fill(out, out + size,
            kind == Kind::kOne          ? 1
            : kind == Kind::kPoolKernel ? field::inverse(9)
                                        : uint64_t{0});
  if (kind == Kind::kIdentityMatrix)
    for (size_t i = 0; i < to.dim[0]; ++i) out[i * to.dim[1] + i] = 1;
  if (kind == Kind::kIdentityConv)
    for (size_t i = 0; i < to.dim[0]; ++i) out[(i * to.dim[1] + i) * 9 + 4] = 1;
}

}  // namespace

void evaluate(const Operator& op, const Extents& ea, const uint64_t* a, const Extents& eb,
              const uint64_t* b, const Extents& to, uint64_t* out) {
  const auto size = static_cast<size_t>(to.size());
  const auto each = [&](auto body) {
    for (size_t i = 0; i < size; ++i) out[i] = body(i);
  };
  switch (op.kind) {
    case Kind::kMatMul:
      return product(ea, a, eb, b, out);
    case Kind::kAdd:
      return each([&](size_t i) { return field::add(a[i], b[i]); });
    case Kind::kSub:
      return each([&](size_t i) { return field::subtract(a[i], b[i]); });
    case Kind::kMul:
      return each([&](size_t i) { return field::multiply(a[i], b[i]); });
    case Kind::kDiv:
      return each([&](size_t i) { return field::multiply(a[i], reciprocal(b[i])); });
    case Kind::kScale:
      return each([&](size_t i) { return field::multiply(a[i], b[0]); });
    case Kind::kRelu:
      return each([&](size_t i) { return relu(a[i]); });
    case Kind::kSigmoid:
    case Kind::kTanh:
      return each([&](size_t i) { return keyed(op.kind, a[i]); });
    case Kind::kConv:
      return convolution(ea, a, eb, b, out);
    case Kind::kConvRelu:
      convolution(ea, a, eb, b, out);
      return each([&](size_t i) { return relu(out[i]); });
    case Kind::kAveragePool: {
      constexpr uint64_t kNinth = field::inverse(9);
      return pool(
          ea, a, out, [](uint64_t x) { return x; },
          [](uint64_t sum) { return field::multiply(sum, kNinth); });
    }
    case Kind::kMaxPool:
      return pool(
          ea, a, out, [](uint64_t x) { return keyed(Kind::kMaxPool, x); },
          [](uint64_t sum) { return keyed(Kind::kMaxPool, sum); });
    case Kind::kSoftmax:
      return softmax(ea, a, out);
    case Kind::kReduceSum:
      return reduce_sum(ea, a, static_cast<size_t>(op.axis), out);
    case Kind::kReshape:
      std::copy_n(a, size, out);
      return;
    case Kind::kConcat:
      return concat(ea, a, eb, b, static_cast<size_t>(op.axis), out);
    case Kind::kSplitFirst:
    case Kind::kSplitSecond:
      return split(op, ea, a, to, out);
    case Kind::kTranspose:
      return transpose(ea, a, out);
    case Kind::kEnlarge:
      return enlarge(ea, a, out);
    default:
      return constant(op.kind, to, out);
  }
}

}  // namespace reverie::generate
