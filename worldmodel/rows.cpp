#include "worldmodel/rows.h"

namespace reverie {

using torch::indexing::Slice;

namespace {

bool nobody_else_holds(const torch::Tensor& x) {
  return !at::GradMode::is_enabled() && x.use_count() == 1 && x.storage().use_count() == 1 &&
         x.is_contiguous();
}

}  // namespace

Rows::Rows(const torch::Tensor& region, const torch::Tensor& neighbours) : acted_(region) {
  if (!neighbours.defined()) return;
  const auto bits = neighbours.gather(1, region.unsqueeze(1));
  near_ = bits.bitwise_right_shift(torch::arange(neighbours.size(1), bits.options())).bitwise_and(1);
  const auto near = near_.nonzero();
  trajectory_ = torch::cat({torch::arange(trajectories(), region.options()), near.select(1, 0)});
  region_ = torch::cat({region, near.select(1, 1)});
}

torch::Tensor Rows::trajectory() const {
  return flat() ? torch::arange(trajectories(), acted_.options()) : trajectory_;
}

torch::Tensor Rows::region() const { return flat() ? torch::zeros_like(acted_) : region_; }

torch::Tensor Rows::acted() const {
  return torch::arange(size(), acted_.options()).lt(trajectories()).to(torch::kFloat);
}

torch::Tensor Rows::relation(const torch::Tensor& choices, const torch::Tensor& index) const {
  const auto sums = (choices * near_).cumsum(1);
  const auto sum_at_acted = spread(sums.gather(1, acted_.unsqueeze(1)).squeeze(1));
  const auto here = take(choices), sum = take(sums);
  const auto side = (region_ - spread(acted_)).sign();
  const auto between = torch::where(side.gt(0), sum - here - sum_at_acted, sum_at_acted - sum);
  const auto past = spread(index) - between;
  return torch::stack({acted(), side.to(torch::kFloat), torch::log1p(here),
                       torch::log1p(between), past.sign() * torch::log1p(past.abs())},
                      1);
}

torch::Tensor Rows::spread(const torch::Tensor& x) const {
  return flat() ? x : x.index_select(0, trajectory_);
}

torch::Tensor Rows::take(const torch::Tensor& x) const {
  if (flat()) return x;
  return x.flatten(0, 1).index_select(0, trajectory_ * x.size(1) + region_);
}

torch::Tensor Rows::put(torch::Tensor x, const torch::Tensor& rows) const {
  if (flat()) return rows;
  const auto place = trajectory_ * x.size(1) + region_;
  if (!nobody_else_holds(x)) return x.flatten(0, 1).index_copy(0, place, rows).view_as(x);
  x.view({-1, x.size(2)}).index_copy_(0, place, rows);
  return x;
}

torch::Tensor Rows::counts(const LatentMask& mask) const {
  if (flat()) return mask.counts;
  return mask.regions.index({trajectory_, Slice(), region_}).to(torch::kInt64);
}

LatentMask Rows::put_counts(const LatentMask& mask, const torch::Tensor& rules,
                            const torch::Tensor& before, const torch::Tensor& counts,
                            int max_secondary) const {
  if (flat()) return {mask.counts.index_copy(1, rules, counts), {}};
  const auto of_rules = mask.counts.index_select(1, rules);
  const auto sums = [&](const torch::Tensor& now) {
    return of_rules.index_add(0, trajectory_, now - before);
  };
  const auto too_many = spread(sums(counts).gt(max_secondary));
  const auto now = torch::where(too_many, torch::minimum(counts, before), counts);
  auto regions = mask.regions.clone();
  regions.index_put_({trajectory_.unsqueeze(1), rules, region_.unsqueeze(1)}, now.to(regions.dtype()));
  return {mask.counts.index_copy(1, rules, sums(now)), regions};
}

}  // namespace reverie
