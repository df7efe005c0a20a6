#pragma once

#include <memory>
#include <vector>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/environment.h"

namespace reverie::testing {

/// Tells at every place which step and which action it belongs to, so that a record out of line by
/// one is seen at once. After t steps, the last of which took (p, s) (at the start -1, -1):
///
///     globals      t, p, s, start state
///     nodes        2 + t % 3, in a row, each [t, p, s]
///     mask         primary a has 1 + (t + a) % 3 secondary choices, NO-OP one
///     action       feature of primary a: 10 t + a
///     reward       of the step that leads here: 100 t + 10 p + s
///     cost         1000 - t
///
/// With `explicit_lists` the choices are s = 0, 2, 4, ... and masks carry them as lists.
class CountingEnvironment : public Environment {
 public:
  explicit CountingEnvironment(int horizon = 7, bool explicit_lists = false, int start_states = 2) {
    spec_.name = explicit_lists ? "counting_lists" : "counting";
    spec_.node_types = 3;
    spec_.node_features = 3;
    spec_.edge_features = 1;
    spec_.global_features = 4;
    spec_.action_features = 1;
    spec_.actions = {"a", "b", "c", "NO-OP"};
    spec_.max_secondary = explicit_lists ? 5 : 3;
    spec_.horizon = horizon;
    spec_.start_states = start_states;
    spec_.prefix_masks = !explicit_lists;
    spec_.fingerprint = hash_string(spec_.name);
    spec_.cost_source = "none";
  }

  static float reward_of(int step, const Action& action) {
    return static_cast<float>(100 * step + 10 * action.primary + action.secondary);
  }

  const EnvSpec& spec() const override { return spec_; }

  void reset(uint64_t seed) override {
    start_ = static_cast<int>(seed % static_cast<uint64_t>(spec_.start_states));
    step_ = 0;
    last_ = {-1, -1};
    over_ = false;
    ++counters_.resets;
  }

  StepResult step(const Action& action) override {
    if (over_) throw InputError("the episode is over");
    if (!allows(mask(), action)) throw InputError("the mask does not allow this action");
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
    const int nodes = 2 + step_ % 3;
    const float t = static_cast<float>(step_);
    const float p = static_cast<float>(last_.primary), s = static_cast<float>(last_.secondary);
    for (int node = 0; node < nodes; ++node) {
      graph.node_types.push_back(node % spec_.node_types);
      graph.nodes.insert(graph.nodes.end(), {t, p, s});
      graph.node_targets.push_back(1.0f / static_cast<float>(nodes));
      if (node == 0) continue;
      graph.senders.push_back(node - 1);
      graph.receivers.push_back(node);
      graph.edges.push_back(t + static_cast<float>(node) / 4.0f);
    }
    graph.globals = {t, p, s, static_cast<float>(start_)};
    observation.mask = mask();
    for (int a = 0; a < spec_.primary_actions(); ++a)
      observation.action_features.push_back(10.0f * t + static_cast<float>(a));
    observation.state_key = hash_bytes(graph.globals.data(), 4 * sizeof(float));
    return observation;
  }

  ActionMask mask() const override {
    ActionMask mask;
    for (int a = 0; a < spec_.no_op(); ++a)
      mask.counts.push_back(static_cast<uint16_t>(1 + (step_ + a) % 3));
    mask.counts.push_back(1);
    if (spec_.prefix_masks) return mask;
    for (const uint16_t count : mask.counts) {
      mask.choices.emplace_back();
      for (uint16_t i = 0; i < count; ++i)
        mask.choices.back().push_back(static_cast<uint16_t>(2 * i));
    }
    return mask;
  }

  StepInfo info() const override { return {1000.0 - step_, 1000.0 - step_}; }
  std::vector<double> gains(int primary) const override {
    return std::vector<double>(mask().counts[static_cast<size_t>(primary)], 0.0);
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
  Action last_{-1, -1};
  bool over_ = true;
  EnvCounters counters_;
};

}  // namespace reverie::testing
