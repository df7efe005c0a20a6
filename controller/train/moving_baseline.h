#pragma once

#include <string>

#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// A moving mean at each of some places, as of the steps of an episode.
class MovingBaseline {
 public:
  /// `decay`: the weight of what was before.
  MovingBaseline(int64_t places, double decay);

  /// The baseline of the first n places, [n]: where nothing was seen before, `mean` [n] itself.
  /// Then `mean` moves it where `seen` [n] is true.
  torch::Tensor advance(const torch::Tensor& mean, const torch::Tensor& seen);

  void to(torch::Device device);
  /// Tensors `name` and `name`_seen.
  void store(Checkpoint& checkpoint, const std::string& name) const;
  void restore(const Checkpoint& checkpoint, const std::string& name);

 private:
  double decay_;
  torch::Tensor mean_;  ///< [places]
  torch::Tensor seen_;  ///< [places], 1 where the mean has a value
};

}  // namespace reverie
