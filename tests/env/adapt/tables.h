#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "core/base/random.h"
#include "env/adapt/table.h"
#include "tests/env/adapt/networks.h"

namespace reverie::testing {

/// How a made-up training goes: an epoch takes a share of the budget by its multiply-adds, and the
/// accuracy rises towards a limit by the parameters; what was just put in costs some of it.
struct MadeUpTraining {
  Network network = small_network();
  std::vector<double> rates = {0.01};
  int decisions = 2;
  int runs = 1;  ///< of each sequence, with seeds 10, 11, ...
  std::string scenario = "made-up";
  double cost =
      1e-5;  ///< of a multiply-add in an epoch, as a share of the budget; a job may end early
};

inline void train_made_up_epoch(JobState& state, uint64_t seed, double kept = 1) {
  const double size = std::log(static_cast<double>(state.network.parameters()));
  const double before = kept * (state.curve.empty() ? 0.1 : state.curve.back().accuracy);
  const double noise =
      Rng(hash_combine(seed, state.network.hash())).fork(state.curve.size()).uniform(-0.01, 0.01);
  const double limit = 1 - 3 / size;
  state.spent = std::min(1.0, state.spent + state.epoch_share);
  state.curve.push_back(
      {before + 0.4 * (limit - before) + (seed == 0 ? 0 : noise), 0.5, 1 - before, state.spent});
}

/// One step of the job: the decision, then two epochs, and two more where it is the last or the
/// budget is spent.
inline JobState after_made_up(const MadeUpTraining& training, JobState state, uint64_t seed,
                              const std::optional<ChangeAtRate>& decision) {
  state.network = after_decision(state.network, decision);
  state.decisions.push_back(decision);
  state.epoch_share = training.cost * static_cast<double>(state.network.multiply_adds());
  train_made_up_epoch(state, seed, decision ? 1 - 5 * decision->rate : 1);
  train_made_up_epoch(state, seed);
  state.over = static_cast<int>(state.decisions.size()) == training.decisions || state.spent >= 1;
  for (int epoch = 0; epoch < (state.over ? 2 : 0); ++epoch) train_made_up_epoch(state, seed);
  return state;
}

inline JobState made_up_start(const MadeUpTraining& training) {
  JobState state;
  state.network = training.network;
  state.epoch_share = training.cost * static_cast<double>(state.network.multiply_adds());
  for (int epoch = 0; epoch < 3; ++epoch) train_made_up_epoch(state, 0);
  return state;
}

/// Every decision that a state allows, going on first.
inline Decisions made_up_choices(const MadeUpTraining& training, const Network& network) {
  Decisions choices = {std::nullopt};
  for (const ChangeKind kind : {ChangeKind::kDeepen, ChangeKind::kWiden})
    for (int origin = 0; origin < network.origins(); ++origin)
      for (const double rate : training.rates)
        if (adapt::allows(network, {kind, network.block_of(origin)}))
          choices.push_back(ChangeAtRate{kind, origin, rate});
  return choices;
}

/// A table of all sequences.
inline AdaptTable made_up_table(const MadeUpTraining& training) {
  AdaptTable table;
  table.scenario = training.scenario;
  table.budget = "as long as it takes";
  table.rates = training.rates;
  std::function<void(std::vector<JobState>, uint64_t)> record = [&](std::vector<JobState> states,
                                                                    uint64_t seed) {
    if (states.back().over) {
      table.add(seed, states);
      return;
    }
    for (const auto& decision : made_up_choices(training, states.back().network)) {
      std::vector<JobState> longer = states;
      longer.push_back(after_made_up(training, states.back(), seed, decision));
      record(std::move(longer), seed);
    }
  };
  for (int run = 0; run < training.runs; ++run)
    record({made_up_start(training)}, 10 + static_cast<uint64_t>(run));
  return table;
}

}  // namespace reverie::testing
