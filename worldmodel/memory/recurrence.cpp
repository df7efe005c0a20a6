#include "worldmodel/memory/recurrence.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/vector_clones.h"
#include "worldmodel/network/vector_math.h"

namespace reverie {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// One row: `gates` get their activations; from c before to c, tanh(c) and h after.
REVERIE_VECTOR_CLONES void step_row(float* gates, const float* c_before, int64_t hidden,
                                    float* __restrict c, float* __restrict tanh_c,
                                    float* __restrict h) {
  float *forget = gates + hidden, *output = forget + hidden, *candidate = output + hidden;
  for (int64_t i = 0; i < hidden; ++i) {
    gates[i] = sigmoid_of(gates[i]);
    forget[i] = sigmoid_of(forget[i]);
    output[i] = sigmoid_of(output[i]);
    candidate[i] = tanh_of(candidate[i]);
    c[i] = forget[i] * c_before[i] + gates[i] * candidate[i];
    tanh_c[i] = tanh_of(c[i]);
    h[i] = output[i] * tanh_c[i];
  }
}

/// Back through a row: from the gradients of h and of c after it (`d_c`, which becomes that of c
/// before) to those of the gates without their activations.
REVERIE_VECTOR_CLONES void step_back_row(const float* gates, const float* c_before,
                                         const float* tanh_c, const float* d_h, int64_t hidden,
                                         float* __restrict d_c, float* __restrict d_gates) {
  const float *forget = gates + hidden, *output = forget + hidden, *candidate = output + hidden;
  for (int64_t i = 0; i < hidden; ++i) {
    const float of_cell = d_c[i] + d_h[i] * output[i] * (1 - tanh_c[i] * tanh_c[i]);
    d_gates[i] = of_cell * candidate[i] * gates[i] * (1 - gates[i]);
    d_gates[i + hidden] = of_cell * c_before[i] * forget[i] * (1 - forget[i]);
    d_gates[i + 2 * hidden] = d_h[i] * tanh_c[i] * output[i] * (1 - output[i]);
    d_gates[i + 3 * hidden] = of_cell * gates[i] * (1 - candidate[i] * candidate[i]);
    d_c[i] = of_cell * forget[i];
  }
}

float* row_of(const torch::Tensor& x, int64_t row) { return x.data_ptr<float>() + row * x.size(1); }

/// x [P, hidden] at these places -> out [rows, hidden].
void gather(const torch::Tensor& x, const int64_t* place, torch::Tensor out) {
  for (int64_t i = 0; i < out.size(0); ++i)
    std::copy_n(row_of(x, place[i]), x.size(1), row_of(out, i));
}

/// What the way back needs of the way there, by row.
struct Trace {
  torch::Tensor gates;     ///< with their activations, [n, 4 hidden]
  torch::Tensor h_before;  ///< [n, hidden] each
  torch::Tensor c_before, tanh_c;
};

class Forward {
 public:
  Forward(const torch::Tensor& gates, const torch::Tensor& weight, const int64_t* place,
          const RecurrentStates& states)
      : weight_(weight.t()), place_(place), states_{states.hidden.clone(), states.cell.clone()} {
    const auto empty = [&] {
      return torch::empty({gates.size(0), states.hidden.size(1)}, gates.options());
    };
    trace_ = {torch::empty_like(gates), empty(), empty(), empty()};
    rows_ = empty();
    gates_ = gates;
  }

  void step(int64_t size) {
    const int64_t* place = place_ + done_;
    const auto some = [&](const torch::Tensor& x) { return x.narrow(0, done_, size); };
    gather(states_.hidden, place, some(trace_.h_before));
    gather(states_.cell, place, some(trace_.c_before));
    auto opened = some(trace_.gates);
    at::addmm_out(opened, some(gates_), some(trace_.h_before), weight_);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t row = done_ + i;
      step_row(row_of(trace_.gates, row), row_of(trace_.c_before, row), rows_.size(1),
               row_of(states_.cell, place[i]), row_of(trace_.tanh_c, row), row_of(rows_, row));
      std::copy_n(row_of(rows_, row), rows_.size(1), row_of(states_.hidden, place[i]));
    }
    done_ += size;
  }

  const RecurrentStates& states() const { return states_; }
  const Trace& trace() const { return trace_; }
  const torch::Tensor& rows() const { return rows_; }

 private:
  torch::Tensor gates_, weight_;
  const int64_t* place_;
  RecurrentStates states_;
  Trace trace_;
  torch::Tensor rows_;
  int64_t done_ = 0;
};

torch::Tensor own_or_zeros(const torch::Tensor& gradient, const torch::Tensor& like) {
  return gradient.defined() ? gradient.contiguous().clone() : torch::zeros_like(like);
}

/// (gates, weight, place, hidden, cell, rows by step, where states before every step shall be) ->
/// (rows, hidden, cell).
struct Recur : torch::autograd::Function<Recur> {
  static variable_list forward(AutogradContext* context, const torch::Tensor& gates,
                               const torch::Tensor& weight, const torch::Tensor& place,
                               const torch::Tensor& hidden, const torch::Tensor& cell,
                               const std::vector<int64_t>& sizes, RecurrentStates* before) {
    Forward forward(gates, weight, place.data_ptr<int64_t>(), {hidden, cell});
    const auto steps = static_cast<int64_t>(sizes.size());
    if (before != nullptr) {
      before->hidden = torch::empty({steps, hidden.size(0), hidden.size(1)}, hidden.options());
      before->cell = torch::empty_like(before->hidden);
    }
    for (int64_t t = 0; t < steps; ++t) {
      if (before != nullptr) {
        before->hidden.select(0, t).copy_(forward.states().hidden);
        before->cell.select(0, t).copy_(forward.states().cell);
      }
      forward.step(sizes[static_cast<size_t>(t)]);
    }
    const Trace& trace = forward.trace();
    context->save_for_backward(
        {weight, place, trace.gates, trace.h_before, trace.c_before, trace.tanh_c});
    context->saved_data["sizes"] = sizes;
    context->saved_data["places"] = hidden.size(0);
    return {forward.rows(), forward.states().hidden, forward.states().cell};
  }

  static variable_list backward(AutogradContext* context, variable_list of_output) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &weight = saved[0], &place = saved[1], &gates = saved[2],
                        &h_before = saved[3], &c_before = saved[4], &tanh_c = saved[5];
    const int64_t hidden = h_before.size(1);
    const auto state =
        torch::empty({context->saved_data["places"].toInt(), hidden}, gates.options());
    auto d_rows = own_or_zeros(of_output[0], h_before);
    const auto d_hidden = own_or_zeros(of_output[1], state),
               d_cell = own_or_zeros(of_output[2], state);
    const auto d_gates = torch::empty_like(gates);
    const int64_t* places = place.data_ptr<int64_t>();
    const auto sizes = context->saved_data["sizes"].toIntVector();
    int64_t end = gates.size(0);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      const int64_t begin = end - *size;
      for (int64_t row = begin; row < end; ++row) {
        float* d_h = row_of(d_rows, row);
        const float* of_state = row_of(d_hidden, places[row]);
        for (int64_t i = 0; i < hidden; ++i) d_h[i] += of_state[i];
        step_back_row(row_of(gates, row), row_of(c_before, row), row_of(tanh_c, row), d_h, hidden,
                      row_of(d_cell, places[row]), row_of(d_gates, row));
      }
      auto d_before = d_rows.narrow(0, begin, *size);  // read above: room for what h before gets
      at::mm_out(d_before, d_gates.narrow(0, begin, *size), weight);
      for (int64_t row = begin; row < end; ++row)
        std::copy_n(row_of(d_rows, row), hidden, row_of(d_hidden, places[row]));
      end = begin;
    }
    return {d_gates, d_gates.t().mm(h_before), {}, d_hidden, d_cell, {}, {}};
  }
};

}  // namespace

torch::Tensor recur(const torch::Tensor& gates, const torch::Tensor& weight,
                    const RecurrentSteps& steps, RecurrentStates& states, RecurrentStates* before) {
  REVERIE_CHECK_EQ(std::accumulate(steps.sizes.begin(), steps.sizes.end(), int64_t{0}),
                   gates.size(0));
  if (!gates.is_cpu()) return recur_by_operations(gates, weight, steps, states, before);
  const auto out =
      Recur::apply(gates.contiguous(), weight.contiguous(), steps.place.contiguous(),
                   states.hidden.contiguous(), states.cell.contiguous(), steps.sizes, before);
  states = {out[1], out[2]};
  return out[0];
}

torch::Tensor recur_by_operations(const torch::Tensor& gates, const torch::Tensor& weight,
                                  const RecurrentSteps& steps, RecurrentStates& states,
                                  RecurrentStates* before) {
  const int64_t hidden = weight.size(1);
  std::vector<torch::Tensor> rows, hidden_before, cell_before;
  const auto by_step = gates.split_with_sizes(steps.sizes);
  const auto place_by_step = steps.place.split_with_sizes(steps.sizes);
  for (size_t t = 0; t < by_step.size(); ++t) {
    hidden_before.push_back(states.hidden.detach());
    cell_before.push_back(states.cell.detach());
    const auto& place = place_by_step[t];
    const auto all = by_step[t] + states.hidden.index_select(0, place).matmul(weight.t());
    const auto open = torch::sigmoid(all.narrow(1, 0, 3 * hidden)).chunk(3, 1);
    const auto candidate = torch::tanh(all.narrow(1, 3 * hidden, hidden));
    const auto c = open[1] * states.cell.index_select(0, place) + open[0] * candidate;
    rows.push_back(open[2] * torch::tanh(c));
    states = {states.hidden.index_copy(0, place, rows.back()), states.cell.index_copy(0, place, c)};
  }
  if (before != nullptr) *before = {torch::stack(hidden_before), torch::stack(cell_before)};
  return torch::cat(rows);
}

}  // namespace reverie
