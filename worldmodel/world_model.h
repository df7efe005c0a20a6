#pragma once

#include <array>
#include <memory>

#include "worldmodel/checkpoint.h"
#include "worldmodel/fused_mdn.h"
#include "worldmodel/latent.h"
#include "worldmodel/mdn_rnn.h"
#include "worldmodel/torch.h"

namespace reverie {

/// What M believes to follow from B actions.
struct WorldPrediction {
  Latents latents;       ///< in [-1, 1]
  torch::Tensor reward;  ///< [B], in the environment's units
  torch::Tensor end;     ///< [B] bool; says nothing of NO-OP, which always ends
  LatentMask mask;

  std::array<torch::Tensor*, 7> tensors() {
    return {&latents.z, &latents.regions, &latents.neighbours, &reward, &end, &mask.counts,
            &mask.regions};
  }
};

/// M: carries a recurrent state along a trajectory and predicts. Tensors that it returns are new and
/// have no gradients. Not for concurrent use.
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
  /// The same, and what follows, sampled at `temperature` (0: the likeliest).
  virtual WorldPrediction step(LatentState& state, const LatentMask& mask,
                               const LatentActions& actions, double temperature,
                               torch::Generator noise) = 0;
  /// `step` of primary actions [B] at these places, also those that a predicted mask doesn't have.
  /// Here: of the secondary choices that the mask would have there.
  virtual WorldPrediction step_at(LatentState& state, const LatentMask& mask,
                                  const torch::Tensor& primary, const RegionActions& place,
                                  double temperature, torch::Generator noise) {
    const auto first = first_in_region(mask, primary, place.region);
    return step(state, mask, {primary, first + place.index}, temperature, noise);
  }

  virtual void to_device(torch::Device device) = 0;
  virtual torch::Device device() const = 0;
  /// Adds everything that `load_world_model` needs, tensors under "world".
  virtual void store(Checkpoint& checkpoint) const = 0;
};

/// MDN-LSTM over one latent of the whole graph, or, when S > 1, over the latents of its regions: a
/// step tells those of the region acted in and of its neighbours anew, and carries the rest over. When
/// S > 1 a trajectory also ends where no rule has a choice left.
class MdnWorldModel : public WorldModel {
 public:
  /// Shares the network, which may go on being trained.
  explicit MdnWorldModel(MdnRnn network) : network_(std::move(network)), fused_(network_) {}

  const LatentSpec& spec() const override { return network_->spec; }
  void advance(LatentState& state, const LatentMask& mask,
               const LatentActions& actions) override;
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions,
                       double temperature, torch::Generator noise) override {
    return step_at(state, mask, actions.primary, locate(actions, mask), temperature, noise);
  }
  WorldPrediction step_at(LatentState& state, const LatentMask& mask,
                          const torch::Tensor& primary, const RegionActions& place,
                          double temperature, torch::Generator noise) override;
  void to_device(torch::Device device) override { network_->to(device); }
  torch::Device device() const override { return network_->reward_scale.device(); }
  void store(Checkpoint& checkpoint) const override;

 private:
  struct Step;
  Step run(LatentState& state, const LatentMask& mask, const torch::Tensor& primary,
           const RegionActions& place);

  MdnRnn network_;
  FusedMdn fused_;
};

/// From a checkpoint of kind "world" or "policy".
std::shared_ptr<WorldModel> load_world_model(const Checkpoint& checkpoint);

}  // namespace reverie
