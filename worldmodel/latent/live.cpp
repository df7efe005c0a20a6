#include "worldmodel/latent/live.h"

#include <algorithm>
#include <numeric>
#include <thread>
#include <tuple>

#include "core/base/error.h"
#include "env/translated.h"

namespace reverie {
namespace {

constexpr size_t kLatentsKept = size_t{1} << 16;

int worker_count(int wanted, const Environment& environment, int batch) {
  if (wanted == 0 && !environment.spec().deterministic) return 1;
  const int threads = wanted > 0 ? wanted : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(threads, 1, batch);
}

torch::Tensor bool_tensor(const std::vector<char>& values) {
  auto tensor = torch::empty({static_cast<int64_t>(values.size())}, torch::kBool);
  std::copy(values.begin(), values.end(), tensor.data_ptr<bool>());
  return tensor;
}

}  // namespace

LiveLatentEnvironment::LiveLatentEnvironment(const Environment& environment,
                                             std::shared_ptr<Encoder> encoder,
                                             std::shared_ptr<WorldModel> world, int batch,
                                             int workers)
    : spec_(world->spec()),
      encoder_(std::move(encoder)),
      world_(std::move(world)),
      real_(*translated(environment.fork(), spec_.env), batch,
            worker_count(workers, environment, batch)) {
  REVERIE_CHECK_EQ(encoder_->latent(), spec_.latent);
  spec_.env = real_.spec();
}

LatentObservation LiveLatentEnvironment::reset(uint64_t seed) {
  std::vector<uint64_t> seeds(batch());
  std::iota(seeds.begin(), seeds.end(), seed);
  real_.reset(seeds);
  latents_
      .clear();  // what is encoded beside a state moves its last bits: equal seeds, equal batches
  steps_.assign(batch(), 0);
  terminated_.assign(batch(), 0);
  truncated_.assign(batch(), 0);
  std::vector<int64_t> all(batch());
  std::iota(all.begin(), all.end(), 0);
  const auto [latents, mask] = look(all);
  state_ = world_->begin(latents);
  mask_ = mask;
  return observe();
}

std::pair<Latents, LatentMask> LiveLatentEnvironment::look(const std::vector<int64_t>& rows) {
  const std::vector<Observation> seen = real_.observe(rows);
  std::vector<const ActionMask*> masks;
  for (const Observation& observation : seen) masks.push_back(&observation.mask);
  torch::NoGradGuard guard;
  const auto device = world_->device();
  const LatentMask mask = batch_masks(masks, spec_.env);
  return {to_device(latents_of(seen), device), to_device(mask, device)};
}

Latents LiveLatentEnvironment::latents_of(const std::vector<Observation>& seen) {
  if (latents_.size() + seen.size() > kLatentsKept) latents_.clear();
  std::vector<const Observation*> fresh;
  for (const Observation& observation : seen)
    if (latents_.try_emplace(observation.state_key).second) fresh.push_back(&observation);
  if (!fresh.empty()) {
    const Latents encoded = encoder_->encode(fresh);
    for (size_t i = 0; i < fresh.size(); ++i)
      latents_[fresh[i]->state_key] =
          map_tensors(encoded, [&](const torch::Tensor& t) { return t[static_cast<int64_t>(i)]; });
  }
  std::vector<Latents> rows;
  for (const Observation& observation : seen) rows.push_back(latents_.at(observation.state_key));
  return stack(rows);
}

LatentStep LiveLatentEnvironment::step(const LatentActions& actions) {
  auto rewards = torch::zeros({batch()});
  float* reward = rewards.data_ptr<float>();
  const std::vector<Action> chosen = actions_of(actions);
  std::vector<int64_t> running, moved;
  for (int b = 0; b < batch(); ++b)
    if (!real_.over(b)) running.push_back(b);
  const std::vector<StepResult> results = real_.step(chosen);
  for (const int64_t b : running) {
    reward[b] = static_cast<float>(results[b].reward);
    terminated_[b] = results[b].terminated;
    truncated_[b] = results[b].truncated && !results[b].terminated;
    ++steps_[b];
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
  world_->advance(next, mask_, actions);
  const auto index = torch::tensor(rows, torch::kInt64).to(world_->device());
  next = select_rows(next, index);
  LatentMask mask;
  std::tie(next.latents, mask) = look(rows);
  state_ = with_rows(state_, index, next);
  mask_ = with_rows(mask_, index, mask);
}

LatentObservation LiveLatentEnvironment::observe() const {
  auto to_go = torch::empty({batch()});
  for (int i = 0; i < batch(); ++i)
    to_go.data_ptr<float>()[i] = time_to_go(steps_[i], spec_.env.horizon);
  return observation_of(state_, mask_, to_go.to(world_->device()));
}

}  // namespace reverie
