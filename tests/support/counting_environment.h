#pragma once

#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/environment.h"

namespace reverie::testing {

/// Tells at every place which step and which action it belongs to, so that a record out of line by
/// one is seen at once. After t steps, the last of which took (p, e, i) (at the start -1 each):
///
///     entities     2 from start state 0, 3 from start state 1, then 2 again
///     graph        targets t, p, e, i, start state
///     nodes        2 + t % 3, in a row, each [t, p, e, i]; node n of entity n % entities
///     mask         primary a has 1 + (t + a) % 3 choices at entity 0, (t + a + e) % 3 at entity e
///     action       feature of primary a at entity e: 10 t + a + e / 4
///     reward       of the step that leads here: 100 t + 10 p + 3 e + i
///     metric       1000 - t
class CountingEnvironment : public Environment {
 public:
  explicit CountingEnvironment(int horizon = 7, int start_states = 2) {
    spec_.name = "counting";
    spec_.node_types = {"first", "second", "third"};
    spec_.node_features = {"step", "primary", "entity", "index"};
    spec_.edge_features = {"step and node"};
    spec_.action_features = {"step and action"};
    spec_.actions = {"a", "b", "c", "NO-OP"};
    spec_.targets = {{"share", TargetLevel::kNode, TargetLoss::kShare}};
    for (const char* name : {"step", "primary", "entity", "index", "start"})
      spec_.targets.push_back({name, TargetLevel::kGraph, TargetLoss::kRegression});
    spec_.metrics = {{"count", ""}};
    spec_.max_choices = 3;
    spec_.horizon = horizon;
    for (int start = 0; start < start_states; ++start)
      spec_.starts.push_back({fmt::format("start {}", start), static_cast<uint64_t>(start) + 1});
    spec_.source = "none";
    spec_.looks_ahead = true;
  }

  static float reward_of(int step, const Action& action) {
    return static_cast<float>(100 * step + 10 * action.primary + 3 * action.entity + action.index);
  }
  static int entities_of(int start) { return 2 + start % 2; }
  static int choices_of(int step, int primary, int entity) {
    return (entity == 0 ? 1 : 0) + (step + primary + entity) % 3;
  }

  const EnvSpec& spec() const override { return spec_; }

  void reset(uint64_t seed) override {
    start_ = static_cast<int>(seed % static_cast<uint64_t>(spec_.start_states()));
    step_ = 0;
    last_ = {-1, -1, -1};
    over_ = false;
    ++counters_.resets;
  }

  StepResult step(const Action& action) override {
    if (over_) throw InputError("the episode is over");
    require_allowed(spec_, mask(), action);
    StepResult result;
    ++counters_.steps;
    result.terminated = action.primary == spec_.no_op();
    if (!result.terminated) {
      ++step_;
      last_ = action;
    }
    result.reward = result.terminated ? 0 : reward_of(step_, action);
    result.truncated = !result.terminated && step_ >= spec_.horizon;
    result.info = info();
    over_ = result.terminated || result.truncated;
    return result;
  }

  Observation observe() const override {
    Observation observation;
    GraphFeatures& graph = observation.graph;
    const int nodes = 2 + step_ % 3, entities = entities_of(start_);
    const float t = static_cast<float>(step_), p = static_cast<float>(last_.primary);
    const float e = static_cast<float>(last_.entity), i = static_cast<float>(last_.index);
    for (int node = 0; node < nodes; ++node) {
      graph.node_types.push_back(node % 3);
      graph.node_entities.push_back(node % entities);
      graph.nodes.insert(graph.nodes.end(), {t, p, e, i});
      graph.node_targets.push_back(1.0f / static_cast<float>(nodes));
      if (node == 0) continue;
      graph.senders.push_back(node - 1);
      graph.receivers.push_back(node);
      graph.edges.push_back(t + static_cast<float>(node) / 4.0f);
    }
    graph.graph_targets = {t, p, e, i, static_cast<float>(start_)};
    observation.mask = mask();
    for (int a = 0; a < spec_.primary_actions(); ++a)
      for (int entity = 0; entity < entities; ++entity)
        observation.action_features.push_back(observation.mask.at(a, entity) == 0
                                                  ? 0.0f
                                                  : 10.0f * t + static_cast<float>(a) +
                                                        static_cast<float>(entity) / 4.0f);
    observation.state_key = hash_bytes(graph.graph_targets.data(), 5 * sizeof(float));
    return observation;
  }

  ActionMask mask() const override {
    ActionMask mask(spec_.primary_actions(), entities_of(start_));
    for (int a = 0; a < spec_.no_op(); ++a)
      for (int entity = 0; entity < mask.entities; ++entity)
        mask.at(a, entity) = static_cast<uint16_t>(choices_of(step_, a, entity));
    return mask;
  }

  StepInfo info() const override { return {{1000.0 - step_}, true, 1000.0 - step_}; }
  std::vector<double> gains(int primary) const override {
    return std::vector<double>(static_cast<size_t>(mask().total(primary)), 0.0);
  }
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override {
    auto copy = std::make_unique<CountingEnvironment>(*this);
    copy->counters_ = {};
    return copy;
  }

 private:
  EnvSpec spec_;
  int start_ = 0;
  int step_ = 0;
  Action last_{-1, -1, -1};
  bool over_ = true;
  EnvCounters counters_;
};

}  // namespace reverie::testing
