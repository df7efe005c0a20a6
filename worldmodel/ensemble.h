#pragma once

#include <vector>

#include "worldmodel/starts.h"
#include "worldmodel/torch.h"
#include "worldmodel/world_model.h"

namespace reverie {

/// How far members of an ensemble are apart about B steps, [B] float32: the largest over pairs of
/// members of
///
///     sqrt(mean over columns (change_i - change_j)^2) + |reward_i - reward_j|
///
/// of what they expect, in deviations of the data. The change counts only where `goes_on` [B] bool
/// says so, as M learns no latent behind an end. The largest over pairs, of networks that differ in
/// initial weights and order of minibatches, is how MOReL tells what is known (Kidambi et al. 2020);
/// that members agree where there was data and not elsewhere is what PETS rests on (Chua et al.
/// 2018).
torch::Tensor disagreement(const std::vector<StepExpectation>& said, const torch::Tensor& goes_on);

/// The same of every real step of these episodes, in no particular order: all members walk along
/// the real states, each with its own recurrent state.
torch::Tensor real_disagreement(const LatentEpisodes& data, const std::vector<int>& episodes,
                                const Members& members);

/// Tells the steps of dreams about which members disagree more than about nearly all real ones.
class DisagreementGuard {
 public:
  /// `starts`: of each member the states at the N starts, of which the recurrent ones count. Steps
  /// are told that are above `limit`.
  DisagreementGuard(Members members, std::vector<LatentState> starts, double limit);

  /// Trajectories begin at these starts, [B] int64.
  void reset(const torch::Tensor& starts);
  /// Whether the disagreement about B actions is above the limit, [B] bool; the members' recurrent
  /// states go on. `goes_on`: as in `disagreement`.
  torch::Tensor exceeds(const Latents& latents, const LatentMask& mask,
                        const LatentActions& actions, const torch::Tensor& goes_on);

 private:
  Members members_;
  std::vector<LatentState> starts_, now_;  // of each member
  double limit_;
};

}  // namespace reverie
