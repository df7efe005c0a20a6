#include "worldmodel/starts.h"

#include <algorithm>

#include "core/base/error.h"
#include "worldmodel/graph_batch.h"

namespace reverie {
namespace {

constexpr int kEpisodesAtOnce = 64;

/// Index of an action's secondary choice among the valid ones.
int choice_index(const ActionMask& mask, const Action& action) {
  if (mask.choices.empty()) return action.secondary;
  const auto& choices = mask.choices[action.primary];
  const auto found = std::lower_bound(choices.begin(), choices.end(), action.secondary);
  REVERIE_CHECK(found != choices.end() && *found == action.secondary);
  return static_cast<int>(found - choices.begin());
}

LatentActions column(const LatentActions& actions, int64_t t) {
  return {actions.primary.select(1, t), actions.secondary.select(1, t)};
}

/// Appends the steps at time t of a batch of episodes, where there are such.
class StartCollector {
 public:
  void append(const LatentState& state, const SequenceBatch& batch, const torch::Tensor& episodes,
              int64_t t) {
    const auto index = batch.valid.select(1, t).nonzero().squeeze(1);
    const auto take = [&](const torch::Tensor& x) { return x.index_select(0, index); };
    z_.push_back(take(state.z));
    hidden_.push_back(take(state.hidden[0]));
    cell_.push_back(take(state.cell[0]));
    counts_.push_back(take(batch.counts.select(1, t)));
    primary_.push_back(take(batch.actions.primary.select(1, t)));
    secondary_.push_back(take(batch.actions.secondary.select(1, t)));
    reward_.push_back(take(batch.reward.select(1, t)));
    episode_.push_back(take(episodes));
    steps_.push_back(torch::full_like(episode_.back(), t));
  }

  StartStates finish() const {
    REVERIE_CHECK(!z_.empty());
    StartStates starts;
    starts.state = {torch::cat(z_), {}, torch::cat(hidden_).unsqueeze(0),
                    torch::cat(cell_).unsqueeze(0)};
    starts.counts = torch::cat(counts_);
    starts.steps = torch::cat(steps_);
    starts.episode = torch::cat(episode_);
    starts.actions = {torch::cat(primary_), torch::cat(secondary_)};
    starts.reward = torch::cat(reward_);
    const int64_t longest = starts.steps.max().item<int64_t>() + 1;
    return starts.select((starts.episode * longest + starts.steps).argsort());
  }

 private:
  std::vector<torch::Tensor> z_, hidden_, cell_, counts_, steps_, episode_, primary_, secondary_,
      reward_;
};

}  // namespace

SequenceBatch SequenceBatch::to(torch::Device device) const {
  return {z.to(device),
          counts.to(device),
          {actions.primary.to(device), actions.secondary.to(device)},
          reward.to(device),
          end.to(device),
          valid.to(device)};
}

LatentEpisodes::LatentEpisodes(const EpisodeSource& data, torch::Tensor latents)
    : data_(data), latents_(std::move(latents)) {
  std::vector<ActionMask> masks;
  std::vector<const ActionMask*> pointers;
  for (int i = 0; i < data.state_count(); ++i) masks.push_back(data.mask(i));
  for (const ActionMask& mask : masks) pointers.push_back(&mask);
  counts_ = batch_counts(pointers, data.spec());
  for (const Episode& episode : data.episodes()) {
    auto& indices = secondary_index_.emplace_back();
    for (const Transition& step : episode.steps)
      indices.push_back(choice_index(masks[step.state], step.action));
  }
}

SequenceBatch LatentEpisodes::batch(const std::vector<int>& episodes) const {
  const auto count = static_cast<int64_t>(episodes.size());
  int64_t longest = 0;
  for (const int episode : episodes)
    longest = std::max<int64_t>(longest, data_.episodes()[episode].steps.size());
  auto states = torch::empty({count, longest + 1}, torch::kInt64);
  SequenceBatch batch;
  batch.actions.primary = torch::full({count, longest}, data_.spec().no_op(), torch::kInt64);
  batch.actions.secondary = torch::zeros({count, longest}, torch::kInt64);
  batch.reward = torch::zeros({count, longest});
  batch.end = torch::zeros({count, longest}, torch::kBool);
  batch.valid = torch::zeros({count, longest}, torch::kBool);
  for (int64_t row = 0; row < count; ++row) {
    const Episode& episode = data_.episodes()[episodes[row]];
    const int64_t at = row * longest;
    int64_t* state = states.data_ptr<int64_t>() + row * (longest + 1);
    std::fill(state, state + longest + 1, episode.final_state);
    for (size_t t = 0; t < episode.steps.size(); ++t) {
      const Transition& step = episode.steps[t];
      state[t] = step.state;
      batch.actions.primary.data_ptr<int64_t>()[at + t] = step.action.primary;
      batch.actions.secondary.data_ptr<int64_t>()[at + t] = secondary_index_[episodes[row]][t];
      batch.reward.data_ptr<float>()[at + t] = step.reward;
      batch.end.data_ptr<bool>()[at + t] = step.terminated;
      batch.valid.data_ptr<bool>()[at + t] = true;
    }
  }
  const std::vector<int64_t> shape = {count, longest + 1, -1};
  batch.z = latents_.index_select(0, states.flatten()).view(shape);
  batch.counts = counts_.index_select(0, states.flatten()).view(shape);
  return batch;
}

StartStates StartStates::select(const torch::Tensor& rows) const {
  return {{state.z.index_select(0, rows),
           {},
           state.hidden.index_select(1, rows),
           state.cell.index_select(1, rows)},
          counts.index_select(0, rows),
          steps.index_select(0, rows),
          episode.index_select(0, rows),
          {actions.primary.index_select(0, rows), actions.secondary.index_select(0, rows)},
          reward.index_select(0, rows)};
}

StartStates StartStates::to(torch::Device device) const {
  return {{state.z.to(device), {}, state.hidden.to(device), state.cell.to(device)},
          counts.to(device),
          steps.to(device),
          episode.to(device),
          {actions.primary.to(device), actions.secondary.to(device)},
          reward.to(device)};
}

StartStates collect_starts(const LatentEpisodes& data, const std::vector<int>& episodes,
                           WorldModel& world, bool warm_up) {
  torch::NoGradGuard guard;
  StartCollector collector;
  for (size_t first = 0; first < episodes.size(); first += kEpisodesAtOnce) {
    const size_t last = std::min(episodes.size(), first + kEpisodesAtOnce);
    const std::vector<int> some(episodes.begin() + first, episodes.begin() + last);
    const SequenceBatch batch = data.batch(some).to(world.device());
    const auto names = torch::tensor(some, torch::kInt64).to(world.device());
    LatentState state = world.begin(batch.z.select(1, 0));
    for (int64_t t = 0; t < batch.steps(); ++t) {
      state.z = batch.z.select(1, t);
      collector.append(state, batch, names, t);
      if (warm_up) world.advance(state, batch.counts.select(1, t), column(batch.actions, t));
    }
  }
  return collector.finish();
}

}  // namespace reverie
