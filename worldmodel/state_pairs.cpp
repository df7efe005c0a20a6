#include "worldmodel/state_pairs.h"

#include <algorithm>

namespace reverie {
namespace {

int row_of(const std::vector<int>& states, int state) {
  return static_cast<int>(std::find(states.begin(), states.end(), state) - states.begin());
}

/// States of the step that the last minibatch does not hold.
std::vector<int> missing(const std::vector<StateMinibatch>& batches, const StateStep& step) {
  std::vector<int> result = {step.from, step.to};
  if (batches.empty()) return result;
  const auto& held = batches.back().states;
  std::erase_if(result, [&](int state) {
    return std::find(held.begin(), held.end(), state) != held.end();
  });
  return result;
}

int node_total(const EpisodeSource& data, const std::vector<int>& states) {
  int nodes = 0;
  for (const int state : states) nodes += data.node_count(state);
  return nodes;
}

}  // namespace

std::vector<StateStep> steps_in(const EpisodeSource& data, Split split) {
  std::vector<StateStep> result;
  for (const int number : data.episodes_in(split)) {
    const Episode& episode = data.episodes()[number];
    for (size_t t = 0; t < episode.steps.size(); ++t) {
      const int from = episode.steps[t].state;
      const int to = t + 1 < episode.steps.size() ? episode.steps[t + 1].state : episode.final_state;
      if (from != to) result.push_back({from, to, episode.steps[t].action});
    }
  }
  return result;
}

StatePairs StateMinibatch::pairs(const EpisodeSource& data) const {
  StatePairs pairs;
  if (steps.empty()) return pairs;
  const int regions = data.spec().regions;
  const auto rows = torch::empty({6, static_cast<int64_t>(steps.size())}, torch::kInt64);
  auto out = rows.accessor<int64_t, 2>();
  for (int64_t i = 0; i < rows.size(1); ++i) {
    const auto& [from, to, action] = steps[static_cast<size_t>(i)];
    const ActionMask& mask = data.mask(from);
    const int valid = choice_index(mask, action);
    const RegionChoice choice = region_choice(mask, action.primary, valid, regions);
    const int count = regions == 1 ? mask.counts[action.primary]
                                   : mask.region_counts[action.primary * regions + choice.region];
    const int values[] = {row_of(states, from), row_of(states, to), action.primary,
                          choice.region,        choice.index,       count};
    for (int64_t column = 0; column < 6; ++column) out[column][i] = values[column];
  }
  for (size_t column = 0; column < pairs.tensors().size(); ++column)
    *pairs.tensors()[column] = rows[static_cast<int64_t>(column)];
  return pairs;
}

std::vector<StateMinibatch> pack_steps(const EpisodeSource& data,
                                       const std::vector<StateStep>& steps, int max_nodes,
                                       int max_graphs) {
  std::vector<StateMinibatch> batches;
  int nodes = 0;
  for (const StateStep& step : steps) {
    std::vector<int> fresh = missing(batches, step);
    const bool fits = !batches.empty() && nodes + node_total(data, fresh) <= max_nodes &&
                      batches.back().states.size() + fresh.size() <= static_cast<size_t>(max_graphs);
    if (!fits) {
      batches.emplace_back();
      nodes = 0;
      fresh = {step.from, step.to};
    }
    StateMinibatch& batch = batches.back();
    batch.states.insert(batch.states.end(), fresh.begin(), fresh.end());
    batch.steps.push_back(step);
    nodes += node_total(data, fresh);
  }
  return batches;
}

}  // namespace reverie
