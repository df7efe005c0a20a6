#pragma once

#include <memory>

#include "core/base/config.h"
#include "worldmodel/latent.h"
#include "worldmodel/starts.h"
#include "worldmodel/world_model.h"

namespace reverie {

struct DreamConfig {
  double temperature = 1;
  int depth = 6;
  int depth_start = 0;
  double depth_growth = 0.5;
  bool from_first_states = false;
  bool warm_up = true;

  template <class V>
  void fields(V& v) {
    v.field("temperature", temperature, "Temperature of the mixture; 0 takes the likeliest",
            at_least(0));
    v.field("depth", depth, "Steps after which a dream is truncated and the critic stands for the rest; 0: at the "
            "horizon alone", at_least(0));
    v.field("depth_start", depth_start, "Depth before the first update, from which it grows; 0: the same "
            "throughout", at_least(0));
    v.field("depth_growth", depth_growth, "Share of the updates after which it has grown to `depth`",
            ConfigRange{.low = 0, .high = 1, .low_excluded = true});
    v.field("from_first_states", from_first_states,
            "Begin only where episodes begin, not at every stored state");
    v.field("warm_up", warm_up, "Carry the recurrent state along the real steps before the start");
  }
};

/// M alone: real states as starts, no environment anywhere. B trajectories begin at stored states
/// drawn with the seed. They are short, as the error of M grows with every step that it takes on its
/// own predictions (Janner et al. 2019), and may grow over a training, as rollouts do there: linearly in
/// the share of it that is done, from `depth_start` to `depth` (or the horizon).
class DreamEnvironment : public LatentEnvironment {
 public:
  /// `starts` on the world model's device; see `dream_starts`. InputError when the depth would shrink.
  DreamEnvironment(std::shared_ptr<WorldModel> world, StartStates starts, const DreamConfig& config,
                   int batch);

  const LatentSpec& spec() const override { return world_->spec(); }
  int batch() const override { return batch_; }
  LatentObservation reset(uint64_t seed) override;
  LatentStep step(const LatentActions& actions) override;
  LatentObservation observe() const override;
  EnvCounters counters() const override { return {}; }

  void set_progress(double progress) override;
  /// depth, where it grows.
  Metrics metrics() const override;

 private:
  int full_depth() const { return config_.depth > 0 ? config_.depth : spec().env.horizon; }

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
  int depth_;  // of the present
};

/// Starts for a dream from the training split, as `config` wants them; when S > 1 at most 4096, evenly
/// spread, as each holds the recurrent states of all regions.
StartStates dream_starts(const LatentEpisodes& data, WorldModel& world, const DreamConfig& config);

}  // namespace reverie
