#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/base/vector_clones.h"
#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

/// erf(x) = x * P(x^2) on [-kEnd, kEnd], beyond which it is 1 to float precision. P is a Chebyshev
/// series (Clenshaw, "A note on the summation of Chebyshev series", 1955); 20 terms leave an error
/// below 1e-7.
constexpr int kTerms = 20;
constexpr float kEnd = 4;
using Series = std::array<float, kTerms>;

Series series() {
  Series terms;
  for (int k = 0; k < kTerms; ++k) {
    double sum = 0;
    for (int j = 0; j < kTerms; ++j) {
      const double angle = std::numbers::pi * (j + 0.5) / kTerms;
      const double x = std::sqrt(0.5 * (std::cos(angle) + 1)) * kEnd;
      sum += std::erf(x) / x * std::cos(k * angle);
    }
    terms[static_cast<size_t>(k)] = static_cast<float>(sum * (k == 0 ? 1 : 2) / kTerms);
  }
  return terms;
}

REVERIE_VECTOR_CLONES void erf_block(const float* x, float* y, int64_t count, const Series& terms) {
  for (int64_t i = 0; i < count; ++i) {
    const float clamped = std::min(std::max(x[i], -kEnd), kEnd);
    const float t = 2 * (2 * clamped * clamped / (kEnd * kEnd) - 1);
    float next = 0, current = 0;
#pragma GCC unroll 32
    for (int k = kTerms - 1; k > 0; --k) {
      const float before = t * current - next + terms[static_cast<size_t>(k)];
      next = current;
      current = before;
    }
    y[i] = clamped * (0.5f * t * current - next + terms[0]);
  }
}

void erf_all(const float* x, float* y, int64_t count) {
  static const Series terms = series();
  constexpr int64_t kBlock = 4096;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
#pragma omp parallel for if (blocks > 4)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t begin = block * kBlock;
    erf_block(x + begin, y + begin, std::min(kBlock, count - begin), terms);
  }
}

}  // namespace

bool lower_erf(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const ValueId output = builder.graph().output(node);
  const Slot source = builder.at(builder.graph().inputs(node)[0]);
  const Slot result = builder.fresh(source.desc);
  const auto count = static_cast<int64_t>(source.desc.get_size() / sizeof(float));
  builder.add(
      [count](std::span<std::byte* const> memory) {
        erf_all(reinterpret_cast<const float*>(memory[0]), reinterpret_cast<float*>(memory[1]),
                count);
      },
      {source}, {result});
  builder.define(output, result);
  return true;
}

}  // namespace reverie::cpu
