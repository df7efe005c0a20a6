#include "worldmodel/state_pairs.h"

#include <algorithm>

namespace reverie {
namespace {

int64_t row_of(const std::vector<int>& states, int state) {
  return std::find(states.begin(), states.end(), state) - states.begin();
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
  if (steps.empty()) return {};
  std::vector<int64_t> from, to, primary, secondary;
  for (const StateStep& step : steps) {
    from.push_back(row_of(states, step.from));
    to.push_back(row_of(states, step.to));
    primary.push_back(step.action.primary);
    secondary.push_back(choice_index(data.mask(step.from), step.action));
  }
  return {torch::tensor(from), torch::tensor(to), {torch::tensor(primary), torch::tensor(secondary)}};
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
