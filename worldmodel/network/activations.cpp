#include "worldmodel/network/activations.h"

#include "core/base/error.h"
#include "core/base/vector_clones.h"
#include "worldmodel/network/vector_math.h"

namespace reverie {
namespace {

REVERIE_VECTOR_CLONES void tanh_row(const float* x, int64_t columns, float* __restrict out) {
  for (int64_t i = 0; i < columns; ++i) out[i] = tanh_of(x[i]);
}

REVERIE_VECTOR_CLONES void silu_row(float* x, int64_t columns) {
  for (int64_t i = 0; i < columns; ++i) x[i] *= sigmoid_of(x[i]);
}

REVERIE_VECTOR_CLONES void add_silu_row(const float* x, const float* offset, int64_t columns,
                                        float* __restrict sum) {
  for (int64_t i = 0; i < columns; ++i) sum[i] += x[i] * sigmoid_of(x[i]) - offset[i];
}

REVERIE_VECTOR_CLONES void lstm_row(const float* gates, int64_t hidden, float* __restrict c,
                                    float* __restrict h) {
  const float *forget = gates + hidden, *output = forget + hidden, *candidate = output + hidden;
  for (int64_t i = 0; i < hidden; ++i) {
    const float cell = sigmoid_of(forget[i]) * c[i] + sigmoid_of(gates[i]) * tanh_of(candidate[i]);
    c[i] = cell;
    h[i] = sigmoid_of(output[i]) * tanh_of(cell);
  }
}

float* row_of(const torch::Tensor& x, int64_t row) {
  return x.data_ptr<float>() + row * x.stride(0);
}

}  // namespace

torch::Tensor tanh_all(const torch::Tensor& x) {
  if (at::GradMode::is_enabled() || !x.is_cpu() || !x.is_contiguous()) return torch::tanh(x);
  auto out = torch::empty_like(x);
  tanh_row(x.data_ptr<float>(), x.numel(), out.data_ptr<float>());
  return out;
}

void silu_rows(torch::Tensor& x) {
  if (!x.is_cpu()) {
    at::silu_(x);
    return;
  }
  REVERIE_CHECK(x.stride(1) == 1);
  for (int64_t i = 0; i < x.size(0); ++i) silu_row(row_of(x, i), x.size(1));
}

void sum_silu_rows(const torch::Tensor& x, const torch::Tensor& offset, torch::Tensor& out) {
  REVERIE_CHECK(x.stride(1) == 1 && offset.is_contiguous() && out.stride(1) == 1);
  const int64_t group = x.size(0) / out.size(0);
  out.zero_();
  for (int64_t i = 0; i < x.size(0); ++i)
    add_silu_row(row_of(x, i), offset.data_ptr<float>(), x.size(1), row_of(out, i / group));
}

void lstm_rows(torch::Tensor& gates, torch::Tensor& c, torch::Tensor& h) {
  const int64_t hidden = c.size(1);
  if (!c.is_cpu()) {
    gates.narrow(1, 0, 3 * hidden).sigmoid_();
    const auto gate = [&](int64_t i) { return gates.narrow(1, i * hidden, hidden); };
    c.mul_(gate(1)).addcmul_(gate(0), gate(3).tanh_());
    at::tanh_out(h, c).mul_(gate(2));
    return;
  }
  REVERIE_CHECK(gates.stride(1) == 1 && c.stride(1) == 1 && h.stride(1) == 1);
  for (int64_t i = 0; i < c.size(0); ++i)
    lstm_row(row_of(gates, i), hidden, row_of(c, i), row_of(h, i));
}

}  // namespace reverie
