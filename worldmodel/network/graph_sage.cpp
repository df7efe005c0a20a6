#include "worldmodel/network/graph_sage.h"

namespace reverie {
namespace {

using torch::nn::Linear;

torch::Tensor gathered(const NeighbourRows& neighbours, const torch::Tensor& rows) {
  const auto theirs = rows.index_select(0, neighbours.rows);
  return neighbours.edges.defined() ? theirs + neighbours.edges : theirs;
}

torch::Tensor reduced(const torch::Tensor& rows, const torch::Tensor& count, const char* how) {
  if (rows.size(0) == 0)  // which segment_reduce refuses
    return torch::zeros({count.size(0), rows.size(1)}, rows.options());
  return torch::segment_reduce(rows, how, count, {}, {}, 0, /*unsafe=*/true, 0);
}

}  // namespace

torch::Tensor largest(const NeighbourRows& neighbours, const torch::Tensor& rows) {
  return reduced(gathered(neighbours, rows).relu(), neighbours.count, "max");
}

torch::Tensor sum(const NeighbourRows& neighbours, const torch::Tensor& rows) {
  return reduced(gathered(neighbours, rows), neighbours.count, "sum");
}

GraphSageImpl::GraphSageImpl(int64_t width, int64_t layers)
    : pools_(register_module("pools", torch::nn::ModuleList())),
      mixes_(register_module("mixes", torch::nn::ModuleList())) {
  for (int64_t layer = 0; layer < layers; ++layer) {
    pools_->push_back(Linear(width, 2 * width));
    mixes_->push_back(Linear(3 * width, width));
  }
}

torch::Tensor GraphSageImpl::layer(size_t i, const torch::Tensor& states,
                                   const NeighbourRows& inputs, const NeighbourRows& outputs) {
  const auto pools = pools_[i]->as<Linear>()->forward(states).chunk(2, 1);
  const auto read = torch::cat(
      {states, largest(inputs, pools[0].contiguous()), largest(outputs, pools[1].contiguous())}, 1);
  return mixes_[i]->as<Linear>()->forward(read).relu();
}

}  // namespace reverie
