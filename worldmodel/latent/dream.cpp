#include "worldmodel/latent/dream.h"

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie {
namespace {

constexpr int64_t kMostStarts = 4096;

}  // namespace

StartStates dream_starts(const LatentEpisodes& data, WorldModel& world) {
  const auto episodes = data.data().episodes_in(Split::kTrain);
  if (episodes.empty()) throw InputError("the rollouts hold no training episodes; collect more");
  StartChoice choice;
  choice.most = kMostStarts;
  return collect_starts(data, episodes, world, choice);
}

DreamEnvironment::DreamEnvironment(std::shared_ptr<WorldModel> world, StartStates starts,
                                   const DreamConfig& config, int batch)
    : world_(std::move(world)), starts_(std::move(starts)), config_(config), batch_(batch) {
  REVERIE_CHECK(starts_.size() > 0 && batch > 0);
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
  LatentState before = state_;
  before.cell = torch::Tensor();  // nobody is shown it: M may write it in place
  const WorldPrediction next = world_->step(state_, mask_, actions, config_.temperature, noise_);
  ++dreamed_;
  const auto running = terminated_.logical_or(truncated_).logical_not();
  const auto stopping = actions.primary.eq(spec().env.no_op()).logical_or(next.end);
  steps_ = steps_ + running;
  const bool deep = config_.depth > 0 && dreamed_ >= config_.depth;
  const auto late = deep ? running : steps_.ge(spec().env.horizon).logical_and(running);
  terminated_ = terminated_.logical_or(stopping.logical_and(running));
  truncated_ = truncated_.logical_or(late.logical_and(terminated_.logical_not()));
  // A trajectory that ends keeps the state in which it ended.
  const auto resting = terminated_.logical_or(running.logical_not()).nonzero().squeeze(1);
  const LatentMask shown = mask_;
  state_.latents = next.latents;
  mask_ = next.mask;
  if (resting.size(0) > 0) {
    keep_rows(state_, before, resting);
    keep_rows(mask_, shown, resting);
  }
  return {next.reward * running, terminated_, truncated_};
}

LatentObservation DreamEnvironment::observe() const {
  return without_memory(observation_of(state_, mask_, time_to_go(steps_, spec().env.horizon)));
}

}  // namespace reverie
