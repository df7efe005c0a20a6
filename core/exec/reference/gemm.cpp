#include <algorithm>

#include "core/exec/reference/kernels.h"

#ifdef REVERIE_HAS_CBLAS
#include <cblas.h>
#endif

namespace reverie::reference {
namespace {

/// Row by row with the innermost loop along a row of C; blocked over the inner extent.
template <typename T>
void plain_gemm(const Gemm& s, const T* a, const T* b, T* c) {
  constexpr int64_t kBlock = 128;
  for (int64_t i = 0; i < s.rows; ++i)
    for (int64_t j = 0; j < s.columns; ++j)
      c[i * s.ldc + j] = s.beta == 0 ? T{} : static_cast<T>(s.beta * c[i * s.ldc + j]);
  for (int64_t from = 0; from < s.inner; from += kBlock) {
    const int64_t to = std::min(s.inner, from + kBlock);
    for (int64_t i = 0; i < s.rows; ++i)
      for (int64_t k = from; k < to; ++k) {
        const T x = times(static_cast<T>(s.alpha), s.trans_a ? a[k * s.lda + i] : a[i * s.lda + k]);
        T* row = c + i * s.ldc;
        if (s.trans_b) {
          for (int64_t j = 0; j < s.columns; ++j) row[j] = plus(row[j], times(x, b[j * s.ldb + k]));
        } else {
          const T* from_b = b + k * s.ldb;
          for (int64_t j = 0; j < s.columns; ++j) row[j] = plus(row[j], times(x, from_b[j]));
        }
      }
  }
}

template <typename T>
void widen_elements(const T* from, int64_t rows, int64_t width, int64_t stride, double* to) {
  for (int64_t row = 0; row < rows; ++row, from += stride)
    for (int64_t i = 0; i < width; ++i) *to++ = static_cast<double>(from[i]);
}

/// `width` elements of each of `rows` rows, the first at element `from`.
void widen_part(const Tensor& tensor, int64_t from, int64_t rows, int64_t width, int64_t stride,
                std::vector<double>& to) {
  to.resize(static_cast<size_t>(rows * width));
  const auto widen = [&](const auto& elements) {
    widen_elements(elements.data() + from, rows, width, stride, to.data());
  };
  switch (tensor.type().dtype) {
    case DType::kFloat16:
      return widen(tensor.data<Float16>());
    case DType::kBFloat16:
      return widen(tensor.data<BFloat16>());
    default:
      return widen(tensor.data<float>());
  }
}

bool is_double(const Tensor& tensor) { return tensor.type().dtype == DType::kFloat64; }

/// So many rows or columns of `inner` elements are widened at once.
int64_t part_of(int64_t all, int64_t inner) {
  constexpr int64_t kElements = 1 << 20;
  return std::clamp<int64_t>(kElements / std::max<int64_t>(inner, 1), 1, std::max<int64_t>(all, 1));
}

/// Some rows of C at a time.
void gemm_of_narrow_a(const Gemm& s, const Tensor& a, int64_t from, const double* b, double* c) {
  std::vector<double> part;
  const int64_t step = part_of(s.rows, s.inner);
  for (int64_t row = 0; row < s.rows; row += step) {
    Gemm some = s;
    some.rows = std::min(step, s.rows - row);
    some.lda = s.trans_a ? some.rows : s.inner;
    if (s.trans_a)
      widen_part(a, from + row, s.inner, some.rows, s.lda, part);
    else
      widen_part(a, from + row * s.lda, some.rows, s.inner, s.lda, part);
    gemm(some, part.data(), b, c + row * s.ldc);
  }
}

/// Some columns of C at a time.
void gemm_of_narrow_b(const Gemm& s, const double* a, const Tensor& b, int64_t from, double* c) {
  std::vector<double> part;
  const int64_t step = part_of(s.columns, s.inner);
  for (int64_t column = 0; column < s.columns; column += step) {
    Gemm some = s;
    some.columns = std::min(step, s.columns - column);
    some.ldb = s.trans_b ? s.inner : some.columns;
    if (s.trans_b)
      widen_part(b, from + column * s.ldb, some.columns, s.inner, s.ldb, part);
    else
      widen_part(b, from + column, s.inner, some.columns, s.ldb, part);
    gemm(some, a, part.data(), c + column);
  }
}

}  // namespace

void gemm(const Gemm& s, const Tensor& a, int64_t a_from, const Tensor& b, int64_t b_from,
          double* c) {
  if (!is_double(a)) return gemm_of_narrow_a(s, a, a_from, b.data<double>().data() + b_from, c);
  const double* left = a.data<double>().data() + a_from;
  if (!is_double(b)) return gemm_of_narrow_b(s, left, b, b_from, c);
  gemm(s, left, b.data<double>().data() + b_from, c);
}

void gemm(const Gemm& s, const double* a, const double* b, double* c) {
  if (s.rows == 0 || s.columns == 0) return;
#ifdef REVERIE_HAS_CBLAS
  if (s.inner > 0) {
    cblas_dgemm(
        CblasRowMajor, s.trans_a ? CblasTrans : CblasNoTrans, s.trans_b ? CblasTrans : CblasNoTrans,
        static_cast<int>(s.rows), static_cast<int>(s.columns), static_cast<int>(s.inner), s.alpha,
        a, static_cast<int>(s.lda), b, static_cast<int>(s.ldb), s.beta, c, static_cast<int>(s.ldc));
    return;
  }
#endif
  plain_gemm(s, a, b, c);
}

void gemm(const Gemm& s, const int64_t* a, const int64_t* b, int64_t* c) { plain_gemm(s, a, b, c); }

}  // namespace reverie::reference
