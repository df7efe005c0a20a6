#include "worldmodel/batch/sequences.h"

#include <algorithm>
#include <utility>

#include "worldmodel/batch/graph_batch.h"

namespace reverie {

LatentEpisodes::LatentEpisodes(const EpisodeSource& data, Latents latents)
    : data_(data), latents_(std::move(latents)) {
  std::vector<const ActionMask*> masks;
  for (int i = 0; i < data.state_count(); ++i) masks.push_back(&data.mask(i));
  mask_ = batch_masks(masks, data.spec());
}

SequenceBatch LatentEpisodes::batch(const std::vector<int>& episodes) const {
  const auto count = static_cast<int64_t>(episodes.size());
  int64_t longest = 0;
  for (const int episode : episodes)
    longest = std::max<int64_t>(longest, data_.episodes()[episode].steps.size());
  auto states = torch::empty({count, longest + 1}, torch::kInt64);
  SequenceBatch batch;
  batch.actions.primary = torch::full({count, longest}, data_.spec().no_op(), torch::kInt64);
  batch.actions.entity = torch::zeros({count, longest}, torch::kInt64);
  batch.actions.index = torch::zeros({count, longest}, torch::kInt64);
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
      batch.actions.entity.data_ptr<int64_t>()[at + t] = step.action.entity;
      batch.actions.index.data_ptr<int64_t>()[at + t] = step.action.index;
      batch.reward.data_ptr<float>()[at + t] = step.reward;
      batch.end.data_ptr<bool>()[at + t] = step.terminated;
      batch.valid.data_ptr<bool>()[at + t] = true;
    }
  }
  int64_t entities = 1;
  for (int64_t i = 0; i < states.numel(); ++i)
    entities = std::max<int64_t>(entities, data_.mask(states.data_ptr<int64_t>()[i]).entities);
  const auto of_states = [&](const torch::Tensor& t, int64_t entity_dimension) {
    const auto some = entity_dimension > 0 ? t.narrow(entity_dimension, 0, entities) : t;
    return some.index_select(0, states.flatten()).unflatten(0, {count, longest + 1});
  };
  batch.latents = {of_states(latents_.z, 0), of_states(latents_.entities, 1),
                   of_states(latents_.neighbours, 1)};
  batch.mask = {of_states(mask_.totals, 0), of_states(mask_.by_entity, 2)};
  return batch;
}

}  // namespace reverie
