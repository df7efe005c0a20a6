#include "worldmodel/batch/rows.h"

namespace reverie {

using torch::indexing::Slice;

namespace {

bool nobody_else_holds(const torch::Tensor& x) {
  return !at::GradMode::is_enabled() && x.use_count() == 1 && x.storage().use_count() == 1 &&
         x.is_contiguous();
}

}  // namespace

Rows::Rows(const torch::Tensor& entity, const torch::Tensor& neighbours) : acted_(entity) {
  const int64_t entities = neighbours.size(1), most = neighbours.size(2);
  const auto near = neighbours.gather(1, entity.view({-1, 1, 1}).expand({-1, 1, most}))
                        .squeeze(1)
                        .to(torch::kInt64);
  const auto there = near.nonzero();
  const auto trajectory = there.select(1, 0);
  trajectory_ = torch::cat({torch::arange(trajectories(), entity.options()), trajectory});
  entity_ = torch::cat({entity, near.index({trajectory, there.select(1, 1)}) - 1});
  near_ = torch::zeros({trajectories(), entities + 1}, near.options())
              .scatter_(1, near, 1)
              .narrow(1, 1, entities);
}

torch::Tensor Rows::acted() const {
  return torch::arange(size(), acted_.options()).lt(trajectories()).to(torch::kFloat);
}

torch::Tensor Rows::relation(const torch::Tensor& choices, const torch::Tensor& index) const {
  const auto sums = (choices * near_).cumsum(1);
  const auto sum_at_acted = spread(sums.gather(1, acted_.unsqueeze(1)).squeeze(1));
  const auto here = take(choices), sum = take(sums);
  const auto side = (entity_ - spread(acted_)).sign();
  const auto between = torch::where(side.gt(0), sum - here - sum_at_acted, sum_at_acted - sum);
  const auto past = spread(index) - between;
  return torch::stack({acted(), side.to(torch::kFloat), torch::log1p(here),
                       torch::log1p(between), past.sign() * torch::log1p(past.abs())},
                      1);
}

torch::Tensor Rows::spread(const torch::Tensor& x) const {
  return x.index_select(0, trajectory_);
}

torch::Tensor Rows::take(const torch::Tensor& x) const {
  return x.flatten(0, 1).index_select(0, trajectory_ * x.size(1) + entity_);
}

torch::Tensor Rows::put(torch::Tensor x, const torch::Tensor& rows) const {
  const auto place = trajectory_ * x.size(1) + entity_;
  if (!nobody_else_holds(x)) return x.flatten(0, 1).index_copy(0, place, rows).view_as(x);
  x.view({-1, x.size(2)}).index_copy_(0, place, rows);
  return x;
}

torch::Tensor Rows::counts(const LatentMask& mask) const {
  return mask.by_entity.index({trajectory_, Slice(), entity_}).to(torch::kInt64);
}

LatentMask Rows::put_counts(const LatentMask& mask, const torch::Tensor& actions,
                            const torch::Tensor& before, const torch::Tensor& counts) const {
  const auto totals = mask.totals.index_select(1, actions).index_add(0, trajectory_, counts - before);
  auto by_entity = mask.by_entity.clone();
  by_entity.index_put_({trajectory_.unsqueeze(1), actions, entity_.unsqueeze(1)},
                       counts.to(by_entity.dtype()));
  return {mask.totals.index_copy(1, actions, totals), by_entity};
}

}  // namespace reverie
