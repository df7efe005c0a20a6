#include "worldmodel/batch/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace reverie {

using torch::indexing::Slice;

namespace {

float log_of(int64_t n) { return std::log1p(static_cast<float>(n)); }

/// Writes a row of `Rows::relation`; returns the place behind it.
float* write_relation(float* out, float acted, float side, int64_t here, int64_t between,
                      int64_t index) {
  const int64_t past = index - between;
  const std::array row = {acted, side, log_of(here), log_of(between),
                          past < 0 ? -log_of(-past) : log_of(past)};
  return std::ranges::copy(row, out).out;
}

}  // namespace

torch::Tensor own(torch::Tensor x) {
  const bool mine = !at::GradMode::is_enabled() && x.use_count() == 1 &&
                    x.storage().use_count() == 1 && x.is_contiguous();
  return mine ? x : x.clone(at::MemoryFormat::Contiguous);
}

Rows::Rows(const torch::Tensor& entity, const torch::Tensor& neighbours) : acted_(entity.cpu()) {
  const auto index = entity.view({-1, 1, 1}).expand({-1, 1, neighbours.size(2)});
  near_ = neighbours.gather(1, index).squeeze(1).cpu();
  std::vector<int64_t> trajectory, at;
  const auto add = [&](int64_t b, int64_t place) {
    trajectory.push_back(b);
    at.push_back(place);
  };
  for (int64_t b = 0; b < trajectories(); ++b) add(b, acted_.accessor<int64_t, 1>()[b]);
  for (int64_t b = 0; b < trajectories(); ++b)
    for_neighbours(b, [&](int64_t neighbour) { add(b, neighbour); });
  trajectory_ = torch::tensor(trajectory, torch::kInt64).to(entity.device());
  entity_ = torch::tensor(at, torch::kInt64).to(entity.device());
  place_ = trajectory_ * neighbours.size(1) + entity_;
}

torch::Tensor Rows::acted() const {
  return torch::arange(size(), entity_.options()).lt(trajectories()).to(torch::kFloat);
}

torch::Tensor Rows::relation(const torch::Tensor& choices, const torch::Tensor& index) const {
  const auto all_choices = choices.cpu(), indices = index.cpu();
  auto relation = torch::empty({size(), kRelationFeatures});
  float* of_acted = relation.data_ptr<float>();
  float* of_neighbour = of_acted + trajectories() * kRelationFeatures;
  for (int64_t b = 0; b < trajectories(); ++b) {
    const auto at = all_choices.accessor<int64_t, 2>()[b];
    const int64_t acted = acted_.accessor<int64_t, 1>()[b];
    const int64_t taken = indices.accessor<int64_t, 1>()[b];
    of_acted = write_relation(of_acted, 1, 0, at[acted], 0, taken);
    int64_t before_acted = 0, sum = 0;  // choices at neighbours
    for_neighbours(b, [&](int64_t entity) { before_acted += entity < acted ? at[entity] : 0; });
    for_neighbours(b, [&](int64_t entity) {
      const bool behind = entity > acted;
      const int64_t between = behind ? sum - before_acted : before_acted - sum - at[entity];
      of_neighbour = write_relation(of_neighbour, 0, behind ? 1 : -1, at[entity], between, taken);
      sum += at[entity];
    });
  }
  return relation.to(choices.device());
}

torch::Tensor Rows::spread(const torch::Tensor& x) const { return x.index_select(0, trajectory_); }

torch::Tensor Rows::take(const torch::Tensor& x) const {
  return x.flatten(0, 1).index_select(0, place_);
}

torch::Tensor Rows::put(torch::Tensor x, const torch::Tensor& rows) const {
  x = own(std::move(x));
  x.flatten(0, 1).index_copy_(0, place_, rows);
  return x;
}

torch::Tensor Rows::counts(const LatentMask& mask) const {
  return mask.by_entity.index({trajectory_, Slice(), entity_}).to(torch::kInt64);
}

LatentMask Rows::put_counts(const LatentMask& mask, const torch::Tensor& actions,
                            const torch::Tensor& before, const torch::Tensor& counts) const {
  const auto totals =
      mask.totals.index_select(1, actions).index_add(0, trajectory_, counts - before);
  auto by_entity = mask.by_entity.clone();
  by_entity.index_put_({trajectory_.unsqueeze(1), actions, entity_.unsqueeze(1)},
                       counts.to(by_entity.dtype()));
  return {mask.totals.index_copy(1, actions, totals), by_entity};
}

}  // namespace reverie
