#include "worldmodel/dream.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie {
namespace {
constexpr int64_t kStartsOfRegions = 4096;
}  // namespace

StartStates dream_starts(const LatentEpisodes& data, WorldModel& world,
                         const DreamConfig& config) {
  const auto episodes = data.data().episodes_in(Split::kTrain);
  if (episodes.empty()) throw InputError("the rollouts hold no training episodes; collect more");
  StartChoice choice{config.warm_up, config.from_first_states};
  if (world.spec().regions > 1) choice.most = kStartsOfRegions;
  return collect_starts(data, episodes, world, choice);
}

DreamEnvironment::DreamEnvironment(std::shared_ptr<WorldModel> world, StartStates starts,
                                   const DreamConfig& config, int batch)
    : world_(std::move(world)), starts_(std::move(starts)), config_(config), batch_(batch) {
  REVERIE_CHECK(starts_.size() > 0 && batch > 0);
  if (config.depth_start > full_depth())
    throw InputError("dream.depth_start {} is above the depth {} that it grows to",
                     config.depth_start, full_depth());
  DreamEnvironment::set_progress(0);
}

void DreamEnvironment::set_progress(double progress) {
  const double grown = std::min(1.0, progress / config_.depth_growth);
  const int first = config_.depth_start > 0 ? config_.depth_start : full_depth();
  depth_ = first + static_cast<int>(std::lround(grown * (full_depth() - first)));
}

Metrics DreamEnvironment::metrics() const {
  if (config_.depth_start == 0) return {};
  return {{"depth", depth_}};
}

LatentObservation DreamEnvironment::reset(uint64_t seed) {
  Rng rng(seed);
  noise_ = make_generator(rng.bits());
  auto rows = torch::empty({batch_}, torch::kInt64);
  for (int i = 0; i < batch_; ++i)
    rows.data_ptr<int64_t>()[i] = static_cast<int64_t>(rng.below(starts_.size()));
  const StartStates chosen = select_rows(starts_, rows.to(world_->device()));
  state_ = chosen.state;
  mask_ = chosen.mask;
  steps_ = chosen.steps;
  terminated_ = torch::zeros({batch_}, steps_.options().dtype(torch::kBool));
  truncated_ = terminated_.clone();
  dreamed_ = 0;
  return observe();
}

LatentStep DreamEnvironment::step(const LatentActions& actions) {
  torch::NoGradGuard guard;
  const LatentState before = state_;
  const WorldPrediction next =
      world_->step(state_, mask_, actions, config_.temperature, noise_);
  ++dreamed_;
  const auto ended = terminated_.logical_or(truncated_);
  const auto running = ended.logical_not();
  const auto stopping = actions.primary.eq(spec().env.no_op()).logical_or(next.end);
  steps_ = steps_ + running;
  const auto late = dreamed_ >= depth_ ? running
                                       : steps_.ge(spec().env.horizon).logical_and(running);
  terminated_ = terminated_.logical_or(stopping.logical_and(running));
  truncated_ = truncated_.logical_or(late.logical_and(terminated_.logical_not()));
  // A trajectory that ends keeps the state in which it ended.
  const auto moving = terminated_.logical_not().logical_and(running);
  state_.latents = next.latents;
  state_ = choose_rows(moving, state_, before);
  mask_ = choose_rows(moving, next.mask, mask_);
  return {next.reward * running, terminated_, truncated_};
}

LatentObservation DreamEnvironment::observe() const {
  const auto to_go =
      1 - steps_.to(torch::kFloat) / static_cast<double>(spec().env.horizon);
  return observation_of(state_, mask_, to_go);
}

}  // namespace reverie
