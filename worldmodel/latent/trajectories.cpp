#include "worldmodel/latent/trajectories.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

torch::Tensor bool_tensor(const std::vector<char>& values) {
  auto tensor = torch::empty({static_cast<int64_t>(values.size())}, torch::kBool);
  std::copy(values.begin(), values.end(), tensor.data_ptr<bool>());
  return tensor;
}

}  // namespace

Trajectories::Trajectories(std::shared_ptr<Encoder> encoder, std::shared_ptr<WorldModel> world,
                           EnvSpec spec, int batch)
    : encoder_(std::move(encoder)),
      world_(std::move(world)),
      spec_(std::move(spec)),
      latents_(*encoder_),
      steps_(batch),
      terminated_(batch),
      truncated_(batch) {
  REVERIE_CHECK_EQ(encoder_->latent(), world_->spec().latent);
}

void Trajectories::begin(const std::vector<Observation>& seen) {
  latents_.clear();  // equal seeds, equal bits
  steps_.assign(steps_.size(), 0);
  terminated_.assign(steps_.size(), 0);
  truncated_.assign(steps_.size(), 0);
  const EncodedStates states = see(seen);
  state_ = world_->begin(states.latents);
  mask_ = states.mask;
}

EncodedStates Trajectories::see(const std::vector<Observation>& seen) {
  torch::NoGradGuard guard;
  const EncodedStates states = latents_.see(seen);
  return {to_device(states.latents, world_->device()), to_device(states.mask, world_->device())};
}

void Trajectories::count(int64_t b, bool terminated, bool truncated) {
  terminated_[b] = terminated;
  truncated_[b] = truncated && !terminated;
  ++steps_[b];
}

void Trajectories::move(const LatentActions& actions, const std::vector<int64_t>& rows,
                        const std::vector<Observation>& reached) {
  if (rows.empty()) return;
  torch::NoGradGuard guard;
  LatentState next = state_;
  world_->advance(next, mask_, actions);
  const auto index = torch::tensor(rows, torch::kInt64).to(world_->device());
  next = select_rows(next, index);
  const EncodedStates states = see(reached);
  next.latents = states.latents;
  state_ = with_rows(state_, index, next);
  mask_ = with_rows(mask_, index, states.mask);
}

LatentObservation Trajectories::observe() const {
  auto to_go = torch::empty({batch()});
  for (int i = 0; i < batch(); ++i)
    to_go.data_ptr<float>()[i] = time_to_go(steps_[i], spec_.horizon);
  return observation_of(state_, mask_, to_go.to(world_->device()));
}

LatentStep Trajectories::result(const torch::Tensor& rewards) const {
  const auto device = world_->device();
  return {rewards.to(device), bool_tensor(terminated_).to(device),
          bool_tensor(truncated_).to(device)};
}

}  // namespace reverie
