#include "controller/train/replay.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace reverie {
namespace {

constexpr std::array<const char*, 12> kNames = {"z",      "h",        "totals",   "by_entity",
                                                "to_go",  "entities", "entity_h", "primary",
                                                "entity", "index",    "reward",   "left"};

std::string stored_name(size_t i) { return std::string("replay.") + kNames[i]; }

/// [T, B, ...] and [B, ...] below it.
template <class T>
T with_last(const T& steps, const T& last) {
  const auto row = map_tensors(last, [](const torch::Tensor& x) { return x.unsqueeze(0); });
  return concatenate<T>({steps, row});
}

torch::Tensor with_zeros(const torch::Tensor& steps) {
  return torch::cat({steps, torch::zeros_like(steps[0]).unsqueeze(0)});
}

/// Steps to each episode's end, of episodes [N] whose steps lie together.
torch::Tensor steps_left(const torch::Tensor& episode) {
  const auto sizes = std::get<2>(torch::unique_consecutive(episode, false, true));
  const auto end = torch::repeat_interleave(sizes.cumsum(0), sizes);
  return end - torch::arange(episode.size(0), end.options());
}

}  // namespace

void ReplayMemory::add(const Rollout& rollout) {
  const auto length = rollout.lengths();
  const auto time = torch::arange(rollout.steps() + 1, length.options()).unsqueeze(1);
  const auto cut_off = rollout.truncated.any(0) & rollout.last.to_go.gt(0);
  const auto kept = (time < length) | (time.eq(length) & cut_off);
  const ReplaySteps all{with_last(rollout.observation, rollout.last),
                        map_tensors(rollout.actions, with_zeros), with_zeros(rollout.reward),
                        (length - time).clamp_min(0)};
  const auto row = kept.t().flatten().nonzero().squeeze(1);
  add(map_tensors(all, [&](const torch::Tensor& x) {
    return x.transpose(0, 1).flatten(0, 1).index_select(0, row);
  }));
}

void ReplayMemory::add(const Demonstrations& demonstrations) {
  add(ReplaySteps{demonstrations.observation, demonstrations.actions, demonstrations.reward,
                  steps_left(demonstrations.episode)});
}

void ReplayMemory::add(ReplaySteps steps) {
  std::vector<ReplaySteps> parts;
  if (steps_.size() > 0) parts.push_back(std::move(steps_));
  parts.push_back(std::move(steps));
  set(concatenate(std::move(parts)));
}

void ReplayMemory::set(ReplaySteps steps) {
  const int64_t kept = std::min(capacity_, steps.size()), first = steps.size() - kept;
  steps_ = map_tensors(std::move(steps),
                       [&](const torch::Tensor& x) { return x.narrow(0, first, kept); });
  chosen_ = steps_.left.nonzero().squeeze(1).to(torch::kCPU);
}

ReplaySample ReplayMemory::sample(int64_t n, int64_t steps, double gamma, Rng& rng) const {
  auto drawn = torch::empty({n}, torch::kInt64);
  for (int64_t i = 0; i < n; ++i)
    drawn.data_ptr<int64_t>()[i] = static_cast<int64_t>(rng.below(static_cast<uint64_t>(size())));
  const auto row = chosen_.index_select(0, drawn).to(steps_.left.device());
  const auto left = steps_.left.index_select(0, row);
  const auto ahead = steps > 0 ? left.clamp_max(steps) : left;
  const int64_t last = steps_.size() - 1;
  const auto later = [&](const torch::Tensor& by) { return (row + by).clamp_max(last); };

  ReplaySample sample;
  sample.observation = select_rows(steps_.observation, row);
  sample.actions = select_rows(steps_.actions, row);
  sample.next = select_rows(steps_.observation, later(ahead));
  sample.reward = torch::zeros({n}, steps_.reward.options());
  const int64_t most = ahead.max().item<int64_t>();
  double factor = 1;
  for (int64_t k = 0; k < most; ++k, factor *= gamma)
    sample.reward +=
        factor * steps_.reward.index_select(0, (row + k).clamp_max(last)) * (ahead > k);
  const auto cut_off = steps_.left.index_select(0, later(left)).eq(0);
  sample.discount = torch::pow(gamma, ahead.to(torch::kFloat)) * ((ahead < left) | cut_off);
  return sample;
}

void ReplayMemory::store(Checkpoint& checkpoint) const {
  ReplaySteps steps = steps_;
  const auto tensors = steps.tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i]->defined())
      checkpoint.tensors[stored_name(i)] =
          tensors[i]->scalar_type() == torch::kInt16 ? tensors[i]->to(torch::kInt32) : *tensors[i];
}

void ReplayMemory::restore(const Checkpoint& checkpoint, torch::Device device) {
  if (!checkpoint.tensors.contains(stored_name(0))) return;
  ReplaySteps steps;
  const auto tensors = steps.tensors();
  for (size_t i = 0; i < tensors.size(); ++i)
    *tensors[i] = stored_tensor(checkpoint, stored_name(i)).to(device);
  steps.observation.mask.by_entity = steps.observation.mask.by_entity.to(torch::kInt16);
  set(std::move(steps));
}

}  // namespace reverie
