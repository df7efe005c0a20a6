#include "worldmodel/memory/recurrence.h"

#include <numeric>

#include "core/base/error.h"

namespace reverie {

torch::Tensor recur(const torch::Tensor& gates, const torch::Tensor& weight,
                    const RecurrentSteps& steps, RecurrentStates& states, RecurrentStates* before) {
  REVERIE_CHECK_EQ(std::accumulate(steps.sizes.begin(), steps.sizes.end(), int64_t{0}),
                   gates.size(0));
  const int64_t hidden = weight.size(1);
  std::vector<torch::Tensor> rows, hidden_before, cell_before;
  const auto by_step = gates.split_with_sizes(steps.sizes);
  const auto place_by_step = steps.place.split_with_sizes(steps.sizes);
  for (size_t t = 0; t < by_step.size(); ++t) {
    if (before != nullptr) {
      hidden_before.push_back(states.hidden.detach());
      cell_before.push_back(states.cell.detach());
    }
    const auto& place = place_by_step[t];
    const auto all = torch::addmm(by_step[t], states.hidden.index_select(0, place), weight.t());
    const auto open = torch::sigmoid(all.narrow(1, 0, 3 * hidden)).chunk(3, 1);
    const auto candidate = torch::tanh(all.narrow(1, 3 * hidden, hidden));
    const auto cell = open[1] * states.cell.index_select(0, place) + open[0] * candidate;
    rows.push_back(open[2] * torch::tanh(cell));
    states = {states.hidden.index_copy(0, place, rows.back()),
              states.cell.index_copy(0, place, cell)};
  }
  if (before != nullptr) *before = {torch::stack(hidden_before), torch::stack(cell_before)};
  return torch::cat(rows);
}

}  // namespace reverie
