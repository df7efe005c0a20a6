#include "worldmodel/live.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace reverie {
namespace {

torch::Tensor bool_tensor(const std::vector<char>& values) {
  auto tensor = torch::empty({static_cast<int64_t>(values.size())}, torch::kBool);
  std::copy(values.begin(), values.end(), tensor.data_ptr<bool>());
  return tensor;
}

}  // namespace

LiveLatentEnvironment::LiveLatentEnvironment(const Environment& environment,
                                             std::shared_ptr<Encoder> encoder,
                                             std::shared_ptr<WorldModel> world, int batch)
    : spec_(world->spec()), encoder_(std::move(encoder)), world_(std::move(world)) {
  const EnvSpec& real = environment.spec();
  if (real.actions != spec_.env.actions || real.fingerprint != spec_.env.fingerprint)
    throw InputError("the world model was trained for other actions than '{}' has", real.name);
  REVERIE_CHECK_EQ(encoder_->latent(), spec_.latent);
  spec_.env = real;
  for (int i = 0; i < batch; ++i) environments_.push_back(environment.fork());
  masks_.resize(batch);
}

LatentObservation LiveLatentEnvironment::reset(uint64_t seed) {
  for (int i = 0; i < batch(); ++i) environments_[i]->reset(seed + i);
  steps_.assign(batch(), 0);
  terminated_.assign(batch(), 0);
  truncated_.assign(batch(), 0);
  const auto options = torch::TensorOptions().device(world_->device());
  state_ = world_->begin(torch::zeros({batch(), spec_.latent}, options));
  counts_ = torch::zeros({batch(), spec_.env.primary_actions()}, options.dtype(torch::kInt64));
  std::vector<int64_t> all(batch());
  std::iota(all.begin(), all.end(), 0);
  look(all);
  return observe();
}

void LiveLatentEnvironment::look(const std::vector<int64_t>& rows) {
  std::vector<Observation> observations;
  for (const int64_t row : rows) {
    observations.push_back(environments_[row]->observe());
    masks_[row] = observations.back().mask;
  }
  torch::NoGradGuard guard;
  const auto seen = batch_observations(observations, spec_.env).to(world_->device());
  const auto index = torch::tensor(rows, torch::kInt64).to(world_->device());
  state_.z = state_.z.index_copy(0, index, encoder_->encode(seen));
  counts_ = counts_.index_copy(0, index, seen.counts);
}

float LiveLatentEnvironment::step_real(int b, int primary, int index) {
  const StepResult real =
      environments_[b]->step({primary, secondary_choice(masks_[b], primary, index)});
  terminated_[b] = real.terminated;
  truncated_[b] = real.truncated && !real.terminated;
  ++steps_[b];
  return static_cast<float>(real.reward);
}

LatentStep LiveLatentEnvironment::step(const LatentActions& actions) {
  const auto primary = actions.primary.to(torch::kCPU).contiguous();
  const auto secondary = actions.secondary.to(torch::kCPU).contiguous();
  auto rewards = torch::zeros({batch()});
  std::vector<int64_t> moved;
  for (int b = 0; b < batch(); ++b) {
    if (ended(b)) continue;
    rewards.data_ptr<float>()[b] =
        step_real(b, static_cast<int>(primary.data_ptr<int64_t>()[b]),
                  static_cast<int>(secondary.data_ptr<int64_t>()[b]));
    if (!terminated_[b]) moved.push_back(b);
  }
  move(actions, moved);
  const auto device = world_->device();
  return {rewards.to(device), bool_tensor(terminated_).to(device),
          bool_tensor(truncated_).to(device)};
}

void LiveLatentEnvironment::move(const LatentActions& actions, const std::vector<int64_t>& rows) {
  if (rows.empty()) return;
  torch::NoGradGuard guard;
  LatentState next = state_;
  world_->advance(next, counts_, actions);
  const auto index = torch::tensor(rows, torch::kInt64).to(world_->device());
  state_.hidden = state_.hidden.index_copy(1, index, next.hidden.index_select(1, index));
  state_.cell = state_.cell.index_copy(1, index, next.cell.index_select(1, index));
  look(rows);
}

LatentObservation LiveLatentEnvironment::observe() const {
  auto to_go = torch::empty({batch()});
  for (int i = 0; i < batch(); ++i)
    to_go.data_ptr<float>()[i] =
        1.0f - static_cast<float>(steps_[i]) / static_cast<float>(spec_.env.horizon);
  return {state_.z, state_.hidden[0], counts_, to_go.to(world_->device())};
}

EnvCounters LiveLatentEnvironment::counters() const {
  EnvCounters sum;
  for (const auto& environment : environments_) sum += environment->counters();
  return sum;
}

}  // namespace reverie
