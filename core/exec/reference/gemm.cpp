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

}  // namespace

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
