#pragma once

#include <memory>
#include <vector>

#include "core/base/parallel.h"
#include "env/known_dynamics.h"
#include "worldmodel/latent/latent_environment.h"
#include "worldmodel/latent/trajectories.h"
#include "worldmodel/memory/outcome.h"

namespace reverie {

using KnownStarts = std::vector<std::unique_ptr<KnownDynamics>>;

/// Where the dynamics of each of its start states lead, with the names of `known`. InputError where
/// the environment does not know its dynamics. Resets a fork of it; no other real work is done.
KnownStarts known_starts(const Environment& environment, const EnvSpec& known);

/// The dream of an environment that knows its dynamics: masks, ends and all known columns are
/// computed, and rewards as far as they are known. M says the other rewards and the learned columns
/// (WorldModel::outcome), both by the mean of its members, and V shows the state that is made of
/// both. Trajectories go from the starts of episodes to their ends. No real work.
class GreyBoxEnvironment : public LatentEnvironment {
 public:
  /// InputError where something is to be learned and M says nothing of outcomes.
  GreyBoxEnvironment(KnownStarts starts, std::shared_ptr<Encoder> encoder,
                     std::shared_ptr<WorldModel> world, int batch);

  const LatentSpec& spec() const override { return spec_; }
  int batch() const override { return trajectories_.batch(); }
  /// Starts are drawn.
  LatentObservation reset(uint64_t seed) override;
  /// Trajectory b begins at start b modulo their number.
  LatentObservation reset_in_turn();
  LatentStep step(const LatentActions& actions) override;
  LatentObservation observe() const override { return trajectories_.observe(); }
  EnvCounters counters() const override { return {}; }
  int64_t computed_steps() const override { return computed_steps_; }

  /// The last step's rewards as each member says, [members, B]; [1, B] where they are known.
  const torch::Tensor& member_rewards() const { return rewards_; }

 private:
  LatentObservation begin_at(const std::vector<size_t>& starts);
  /// What M says of the steps that led these trajectories to where they are.
  void learn(const std::vector<int64_t>& rows);
  std::vector<Observation> observed(const std::vector<int64_t>& rows);

  LatentSpec spec_;
  KnownStarts starts_;
  OutcomeEnsemble outcome_;
  Trajectories trajectories_;
  KnownStarts known_;  // of each trajectory
  torch::Tensor rewards_;
  int64_t computed_steps_ = 0;
  WorkerPool pool_;
};

}  // namespace reverie
