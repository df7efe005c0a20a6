#include "env/adapt/train/lstm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <vector>

namespace reverie {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// result += scale times values.
void add_scaled(float* result, float scale, const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) result[i] += scale * values[i];
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// Of one unit at one step: input, forget, cell and output gate.
struct Gates {
  float *i, *f, *g, *o;
  Gates(float* row, int64_t hidden, int64_t unit)
      : i(row + unit), f(i + hidden), g(f + hidden), o(g + hidden) {}
};

/// Puts gates in the place of their sums, and gives the next cell.
float pass_unit(const Gates& gates, float cell) {
  *gates.i = sigmoid(*gates.i);
  *gates.f = sigmoid(*gates.f);
  *gates.g = std::tanh(*gates.g);
  *gates.o = sigmoid(*gates.o);
  return *gates.f * cell + *gates.i * *gates.g;
}

/// Puts the gradient of the sums in the place of the gates, and gives that of the cell before.
float unit_backward(const Gates& gates, float cell, float cell_before, float of_output,
                    float of_cell) {
  const float i = *gates.i, f = *gates.f, g = *gates.g, o = *gates.o, t = std::tanh(cell);
  of_cell += of_output * o * (1 - t * t);
  *gates.i = of_cell * g * i * (1 - i);
  *gates.f = of_cell * cell_before * f * (1 - f);
  *gates.g = of_cell * i * (1 - g * g);
  *gates.o = of_output * t * o * (1 - o);
  return of_cell * f;
}

/// The steps of an LSTM: what its input gives to the sums of the gates, [steps, 4 hidden], and the
/// weights of the outputs before.
struct Steps : torch::autograd::Function<Steps> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& sums,
                               const torch::Tensor& weights) {
    const int64_t steps = sums.size(0), hidden = weights.size(1);
    const auto gates = sums.clone(), by_unit = weights.t().contiguous();
    const auto cells = torch::zeros({steps + 1, hidden}),
               outputs = torch::zeros({steps + 1, hidden});
    for (int64_t step = 0; step < steps; ++step) {
      float* const row = gates.data_ptr<float>() + 4 * hidden * step;
      float* const cell = cells.data_ptr<float>() + hidden * step;
      float* const output = outputs.data_ptr<float>() + hidden * step;
      for (int64_t k = 0; k < hidden; ++k)
        add_scaled(row, output[k], by_unit.data_ptr<float>() + 4 * hidden * k, 4 * hidden);
      for (int64_t k = 0; k < hidden; ++k) {
        cell[hidden + k] = pass_unit({row, hidden, k}, cell[k]);
        output[hidden + k] = row[3 * hidden + k] * std::tanh(cell[hidden + k]);
      }
    }
    context->save_for_backward({gates, cells, outputs, weights});
    return outputs.slice(0, 1).clone();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto &cells = saved[1], &outputs = saved[2], &weights = saved[3];
    const int64_t steps = cells.size(0) - 1, hidden = cells.size(1);
    const auto sums = saved[0].clone(),
               of_outputs = gradients[0].clone(at::MemoryFormat::Contiguous);
    std::vector<float> of_cell(static_cast<size_t>(hidden), 0.0f);
    for (int64_t step = steps - 1; step >= 0; --step) {
      float* const row = sums.data_ptr<float>() + 4 * hidden * step;
      float* const of_output = of_outputs.data_ptr<float>() + hidden * step;
      const float* const cell = cells.data_ptr<float>() + hidden * step;
      for (int64_t k = 0; k < hidden; ++k) {
        float& of = of_cell[static_cast<size_t>(k)];
        of = unit_backward({row, hidden, k}, cell[hidden + k], cell[k], of_output[k], of);
      }
      if (step == 0) break;
      for (int64_t j = 0; j < 4 * hidden; ++j)
        add_scaled(of_output - hidden, row[j], weights.data_ptr<float>() + hidden * j, hidden);
    }
    return {sums, sums.t().mm(outputs.slice(0, 0, steps))};
  }
};

}  // namespace

torch::Tensor lstm(const torch::Tensor& sequence, const LstmWeights& weights) {
  return Steps::apply(torch::addmm(weights.bias, sequence, weights.input.t()), weights.hidden);
}

}  // namespace reverie
