#pragma once

#include <memory>

#include "core/base/config.h"
#include "worldmodel/latent/latent_environment.h"
#include "worldmodel/memory/starts.h"
#include "worldmodel/memory/world_model.h"

namespace reverie {

struct DreamConfig {
  double temperature = 1;
  int depth = 6;

  template <class V>
  void fields(V& v) {
    v.field("temperature", temperature, "Temperature of the mixture; 0 takes the likeliest",
            at_least(0));
    v.field("depth", depth,
            "Steps after which a dream is truncated and the critic stands for the rest; 0: at the "
            "horizon alone",
            at_least(0));
  }
};

/// M alone: real states as starts, no environment anywhere. B trajectories begin at stored states
/// drawn with the seed. They are short, as the error of M grows with every step that it takes on
/// its own predictions (Janner et al. 2019). A short dream rests on the critic for what it leaves
/// out, in states that M dreamt and no data corrects: without rounds of real play between a policy
/// learns in time to put off what gains.
class DreamEnvironment : public LatentEnvironment {
 public:
  /// `starts` on the world model's device; see `dream_starts`.
  DreamEnvironment(std::shared_ptr<WorldModel> world, StartStates starts, const DreamConfig& config,
                   int batch);

  const LatentSpec& spec() const override { return world_->spec(); }
  int batch() const override { return batch_; }
  LatentObservation reset(uint64_t seed) override;
  LatentStep step(const LatentActions& actions) override;
  LatentObservation observe() const override;
  EnvCounters counters() const override { return {}; }

 private:
  std::shared_ptr<WorldModel> world_;
  StartStates starts_;
  DreamConfig config_;
  int batch_;
  torch::Generator noise_;
  LatentState state_;
  LatentMask mask_;
  torch::Tensor steps_;       // [B] int64, real steps before the start included
  torch::Tensor terminated_;  // [B] bool
  torch::Tensor truncated_;   // [B] bool
  int dreamed_ = 0;
};

/// States of the training split at which an action was taken, at most 4096, evenly spread, as each
/// holds the recurrent states of all entities. InputError where there are none.
StartStates dream_starts(const LatentEpisodes& data, WorldModel& world);

}  // namespace reverie
