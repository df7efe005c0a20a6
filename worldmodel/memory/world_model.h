#pragma once

#include <array>
#include <memory>

#include "worldmodel/batch/latents.h"
#include "worldmodel/memory/fused_mdn.h"
#include "worldmodel/memory/mdn_rnn.h"
#include "worldmodel/memory/outcome.h"
#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// What M believes to follow from B actions.
struct WorldPrediction {
  Latents latents;       ///< in [-1, 1]
  torch::Tensor reward;  ///< [B], in the environment's units
  torch::Tensor end;     ///< [B] bool; says nothing of NO-OP, which always ends
  LatentMask mask;

  std::array<torch::Tensor*, 7> tensors() {
    return {&latents.z, &latents.entities, &latents.neighbours, &reward,
            &end,       &mask.totals,      &mask.by_entity};
  }
};

/// M: carries a recurrent state along a trajectory and predicts. Tensors that it returns are new
/// and have no gradients. Not for concurrent use.
class WorldModel {
 public:
  virtual ~WorldModel() = default;
  virtual const LatentSpec& spec() const = 0;

  /// States of B new episodes at these latents: recurrent state zero.
  LatentState begin(const Latents& latents) const;
  /// Takes the recurrent state over B actions that are taken at state.latents under `mask`; the
  /// latents stay.
  virtual void advance(LatentState& state, const LatentMask& mask,
                       const LatentActions& actions) = 0;
  /// The same, and what follows, sampled at `temperature` (0: the likeliest). Also of actions that
  /// a predicted mask does not have.
  virtual WorldPrediction step(LatentState& state, const LatentMask& mask,
                               const LatentActions& actions, double temperature,
                               torch::Generator noise) = 0;

  /// What it says of steps whose next state is known but for what only a real step tells; empty
  /// where it was trained on an environment that does not know its dynamics.
  virtual OutcomeEnsemble outcome() const { return nullptr; }

  virtual void to_device(torch::Device device) = 0;
  virtual torch::Device device() const = 0;
  /// Adds everything that `load_world_model` needs, tensors under "world".
  virtual void store(Checkpoint& checkpoint) const = 0;
};

/// MDN-LSTM over the latents of a graph's entities: a step tells those of the entity acted in and
/// of its neighbours anew, and carries the rest over. A trajectory also ends where no action but
/// NO-OP has a choice left.
class MdnWorldModel : public WorldModel {
 public:
  /// Shares the network, which may go on being trained.
  explicit MdnWorldModel(MdnRnn network, OutcomeEnsemble outcome = nullptr)
      : network_(std::move(network)), fused_(network_), outcome_(std::move(outcome)) {}

  const LatentSpec& spec() const override { return network_->spec; }
  void advance(LatentState& state, const LatentMask& mask, const LatentActions& actions) override;
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions,
                       double temperature, torch::Generator noise) override;
  OutcomeEnsemble outcome() const override { return outcome_; }
  void to_device(torch::Device device) override {
    network_->to(device);
    if (outcome_) outcome_->to(device);
  }
  torch::Device device() const override { return network_->reward_scale.device(); }
  void store(Checkpoint& checkpoint) const override;

 private:
  struct Step;
  Step run(LatentState& state, const LatentMask& mask, const LatentActions& actions);

  MdnRnn network_;
  FusedMdn fused_;
  OutcomeEnsemble outcome_;
};

/// From a checkpoint of kind "world" or "policy".
std::shared_ptr<WorldModel> load_world_model(const Checkpoint& checkpoint);

}  // namespace reverie
