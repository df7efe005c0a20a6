#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worldmodel/encoder/entity_latents.h"
#include "worldmodel/latent/latent_environment.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

/// B trajectories of states that V sees and M remembers: what the latent environments with real or
/// computed transitions share.
class Trajectories {
 public:
  /// `spec`: of what is observed.
  Trajectories(std::shared_ptr<Encoder> encoder, std::shared_ptr<WorldModel> world, EnvSpec spec,
               int batch);

  int batch() const { return static_cast<int>(steps_.size()); }
  bool over(int64_t b) const { return terminated_[b] != 0 || truncated_[b] != 0; }
  /// Begins all of them anew, at these states.
  void begin(const std::vector<Observation>& seen);
  /// Counts a step of one of them.
  void count(int64_t b, bool terminated, bool truncated);
  /// Takes these, of which none was terminated, over their actions to the states reached.
  void move(const LatentActions& actions, const std::vector<int64_t>& rows,
            const std::vector<Observation>& reached);
  LatentObservation observe() const;
  /// Rewards [B] on any device, and how each stands.
  LatentStep result(const torch::Tensor& rewards) const;

 private:
  EncodedStates see(const std::vector<Observation>& seen);

  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<WorldModel> world_;
  EnvSpec spec_;
  EntityLatents latents_;
  LatentState state_;
  LatentMask mask_;
  std::vector<int> steps_;
  std::vector<char> terminated_;
  std::vector<char> truncated_;
};

}  // namespace reverie
