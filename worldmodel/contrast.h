#pragma once

#include "worldmodel/encoder.h"
#include "worldmodel/modules.h"
#include "worldmodel/state_pairs.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Tells what follows from an action: InfoNCE (van den Oord et al. 2018, equation 4) with the
/// log-bilinear score of a prediction, made from the latent of a state and the action taken there,
/// and the latent of a state. Every other state of the minibatch counts against the one that
/// follows, above all the one that the action was taken in.
///
/// When S > 1 the same is asked of the latents of the regions acted on, against those of the
/// minibatch's other steps, before and after; one that equals the right answer does not count.
struct ContrastImpl : torch::nn::Module {
  ContrastImpl(const EncoderConfig& config, const EnvSpec& spec);

  /// Adds the losses, times `weight`. latents, mask: of the minibatch's states.
  void add_losses(LossTerms& losses, const Latents& latents, const LatentMask& mask,
                  const StatePairs& pairs, double weight);

 private:
  /// `step`: what is known of each step, [T, inputs]; before, after: its region's latents.
  torch::Tensor region_loss(const torch::Tensor& step, const torch::Tensor& before,
                            const torch::Tensor& after);

  EnvSpec spec_;
  torch::nn::Embedding rules_{nullptr};
  Mlp state_{nullptr}, region_{nullptr};
};
TORCH_MODULE(Contrast);

}  // namespace reverie
