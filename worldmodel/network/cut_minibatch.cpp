#include "worldmodel/network/cut_minibatch.h"

#include "core/base/error.h"

namespace reverie {

void Shares::require_even() const {
  const int count = processes.count();
  if (chunks % count != 0)
    throw InputError("chunks is {}, which {} processes cannot share: give a multiple of {}", chunks,
                     count, count);
}

CutMinibatch::CutMinibatch(const Shares& shares, int64_t examples)
    : processes_(shares.processes),
      examples_(examples),
      chunks_(examples >= shares.chunks ? shares.chunks : 1) {
  const Part mine = {processes_.rank() + 1, processes_.count()};
  const auto [first, end] = (is_cut() ? mine : Part()).range(chunks_);
  for (int chunk = first; chunk < end; ++chunk) own_.push_back({chunk + 1, chunks_});
}

double CutMinibatch::share(Part chunk) const {
  const auto [first, end] = chunk.range(static_cast<int>(examples_));
  return static_cast<double>(end - first) / static_cast<double>(examples_);
}

torch::Tensor CutMinibatch::gather(const torch::Tensor& rows) const {
  return is_cut() ? processes_.gather(rows) : rows;
}

torch::Tensor CutMinibatch::sum(const torch::Tensor& rows) const {
  const torch::Tensor all = gather(rows);
  torch::Tensor sum = all[0];
  for (int64_t row = 1; row < all.size(0); ++row) sum = sum + all[row];
  return sum;
}

torch::Tensor flat_gradient(const std::vector<torch::Tensor>& weights) {
  std::vector<torch::Tensor> flat;
  for (const torch::Tensor& weight : weights)
    flat.push_back(weight.grad().defined() ? weight.grad().flatten()
                                           : torch::zeros_like(weight).flatten());
  return torch::cat(flat);
}

void set_gradient(const std::vector<torch::Tensor>& weights, const torch::Tensor& flat) {
  int64_t at = 0;
  for (torch::Tensor weight : weights) {
    if (weight.grad().defined())
      weight.mutable_grad() = flat.narrow(0, at, weight.numel()).view_as(weight).clone();
    at += weight.numel();
  }
}

}  // namespace reverie
