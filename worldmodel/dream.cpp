#include "worldmodel/dream.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie {
namespace {

constexpr int64_t kStartsOfRegions = 4096;

std::vector<int> training_episodes(const LatentEpisodes& data) {
  const auto episodes = data.data().episodes_in(Split::kTrain);
  if (episodes.empty()) throw InputError("the rollouts hold no training episodes; collect more");
  return episodes;
}

StartChoice start_choice(const WorldModel& world, const DreamConfig& config) {
  StartChoice choice{config.warm_up, config.from_first_states};
  if (world.spec().regions > 1) choice.most = kStartsOfRegions;
  return choice;
}

/// For dreams of the first member that begin at `starts`; null where it is off.
std::unique_ptr<DisagreementGuard> make_guard(const LatentEpisodes& data, const Members& members,
                                              const DreamConfig& config,
                                              const StartStates& starts) {
  if (config.disagreement_quantile == 0) return nullptr;
  if (members.size() == 1)
    throw InputError("dream.disagreement_quantile needs a world model of several members, this has "
                     "one; train it with --set mdnrnn.members=3");
  const auto episodes = training_episodes(data);
  std::vector<LatentState> states = {starts.state};
  for (size_t i = 1; i < members.size(); ++i)
    states.push_back(
        collect_starts(data, episodes, *members[i], start_choice(*members[i], config)).state);
  const auto limit =
      torch::quantile(real_disagreement(data, episodes, members), config.disagreement_quantile);
  return std::make_unique<DisagreementGuard>(members, std::move(states), limit.item<double>());
}

}  // namespace

StartStates dream_starts(const LatentEpisodes& data, WorldModel& world,
                         const DreamConfig& config) {
  return collect_starts(data, training_episodes(data), world, start_choice(world, config));
}

std::unique_ptr<DreamEnvironment> make_dream(const LatentEpisodes& data, const Members& members,
                                             const DreamConfig& config, int batch) {
  StartStates starts = dream_starts(data, *members.front(), config);
  DreamGuards guards;
  guards.disagreement = make_guard(data, members, config, starts);
  if (config.return_cap)
    guards.room = below_best(data.data(), training_episodes(data), starts) +
                  config.return_cap_margin;
  return std::make_unique<DreamEnvironment>(members.front(), std::move(starts), config, batch,
                                            std::move(guards));
}

DreamEnvironment::DreamEnvironment(std::shared_ptr<WorldModel> world, StartStates starts,
                                   const DreamConfig& config, int batch,
                                   DreamGuards guards)
    : world_(std::move(world)),
      starts_(std::move(starts)),
      config_(config),
      batch_(batch),
      guards_(std::move(guards)) {
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
  Metrics metrics;
  if (config_.depth_start > 0) metrics.emplace_back("depth", depth_);
  const auto put_share = [&](const char* name, const torch::Tensor& ended) {
    metrics.emplace_back(name, ended.to(torch::kFloat).mean().item<double>());
  };
  if (guards_.disagreement) put_share("ended_by_disagreement", disagreed_);
  if (guards_.room.defined()) put_share("ended_by_cap", capped_);
  return metrics;
}

LatentObservation DreamEnvironment::reset(uint64_t seed) {
  Rng rng(seed);
  noise_ = make_generator(rng.bits());
  auto rows = torch::empty({batch_}, torch::kInt64);
  for (int i = 0; i < batch_; ++i)
    rows.data_ptr<int64_t>()[i] = static_cast<int64_t>(rng.below(starts_.size()));
  rows = rows.to(world_->device());
  if (guards_.disagreement) guards_.disagreement->reset(rows);
  if (guards_.room.defined()) room_ = guards_.room.index_select(0, rows);
  const StartStates chosen = select_rows(starts_, rows);
  state_ = chosen.state;
  mask_ = chosen.mask;
  steps_ = chosen.steps;
  terminated_ = torch::zeros({batch_}, steps_.options().dtype(torch::kBool));
  truncated_ = terminated_.clone();
  disagreed_ = terminated_.clone();
  capped_ = terminated_.clone();
  dreamed_ = 0;
  return observe();
}

torch::Tensor DreamEnvironment::refuse(const LatentState& before, const LatentActions& actions,
                                       const torch::Tensor& goes_on, const torch::Tensor& running,
                                       torch::Tensor& reward) {
  auto refused = torch::zeros_like(running);
  if (guards_.disagreement) {
    refused = guards_.disagreement->exceeds(before.latents, mask_, actions, goes_on)
                  .logical_and(running);
    disagreed_ = disagreed_.logical_or(refused);
  }
  if (guards_.room.defined()) {
    const auto above = reward.gt(room_).logical_and(running).logical_and(refused.logical_not());
    capped_ = capped_.logical_or(above);
    refused = refused.logical_or(above);
  }
  reward = torch::where(refused, reward.clamp_max(0), reward);
  if (guards_.room.defined()) room_ = room_ - reward;
  return refused;
}

LatentStep DreamEnvironment::step(const LatentActions& actions) {
  torch::NoGradGuard guard;
  LatentState before = state_;
  before.cell = torch::Tensor();  // nobody is shown it: M may write it in place
  const WorldPrediction next =
      world_->step(state_, mask_, actions, config_.temperature, noise_);
  ++dreamed_;
  const auto running = terminated_.logical_or(truncated_).logical_not();
  auto reward = next.reward * running;
  auto stopping = actions.primary.eq(spec().env.no_op()).logical_or(next.end);
  stopping = stopping.logical_or(
      refuse(before, actions, stopping.logical_not(), running, reward));
  steps_ = steps_ + running;
  const auto late = dreamed_ >= depth_ ? running
                                       : steps_.ge(spec().env.horizon).logical_and(running);
  terminated_ = terminated_.logical_or(stopping.logical_and(running));
  truncated_ = truncated_.logical_or(late.logical_and(terminated_.logical_not()));
  // A trajectory that ends keeps the state in which it ended.
  const auto resting = terminated_.logical_or(running.logical_not()).nonzero().squeeze(1);
  const LatentMask shown = mask_;
  state_.latents = next.latents;
  mask_ = next.mask;
  keep_rows(state_, before, resting);
  keep_rows(mask_, shown, resting);
  return {reward, terminated_, truncated_};
}

LatentObservation DreamEnvironment::observe() const {
  return observation_of(state_, mask_, time_to_go(steps_, spec().env.horizon));
}

}  // namespace reverie
