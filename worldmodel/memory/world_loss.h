#pragma once

#include "core/base/config.h"
#include "worldmodel/memory/mdn_rnn.h"
#include "worldmodel/memory/starts.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct WorldLossConfig {
  double latent = 1;
  double reward = 1;
  double end = 0.5;
  double counts = 20;
  double unroll = 1;
  int unroll_steps = 8;
  int unroll_starts = 24;

  template <class V>
  void fields(V& v) {
    v.field("latent", latent, "Weight of the change of the latent, per dimension", at_least(0));
    v.field("reward", reward, "Weight of the reward", at_least(0));
    v.field("end", end, "Weight of the end", at_least(0));
    v.field("counts", counts,
            "Weight of the action mask: the mean over actions, of which a step changes few",
            at_least(0));
    v.field("unroll", unroll, "Weight of the losses on own predictions", at_least(0));
    v.field("unroll_steps", unroll_steps, "Steps on own predictions at the end of the growth",
            at_least(1));
    v.field("unroll_starts", unroll_starts, "Unrolls in a minibatch", at_least(1));
  }
};

/// Losses of M on a batch of episodes: with the real states as inputs at every step, and, where
/// `unroll_steps` is above 1, on unrolls of that many steps that begin at real states and go on
/// from M's own latents (the expected change, with gradients) and masks: means over all steps after
/// their first, which is the same as with real inputs. Padding counts nowhere; latent and mask
/// losses leave out what follows a termination. These two are means over the entities acted in and
/// their neighbours (see RowTargets), and actions are taken at the real entities whatever the
/// predicted mask says.
LossTerms world_losses(MdnRnnImpl& network, const SequenceBatch& batch,
                       const WorldLossConfig& config, int unroll_steps, torch::Generator noise);

}  // namespace reverie
