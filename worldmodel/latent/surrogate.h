#pragma once

#include "worldmodel/latent/live.h"

namespace reverie {

/// The second dream: transitions by the environment itself, exact and cheap, and rewards of a
/// learned or estimated cost. It looks like the live environment, and nothing that it does is real
/// work.
class SurrogateEnvironment : public LatentEnvironment {
 public:
  /// `environment` takes its costs from where nothing is measured, see
  /// EnvironmentKind::make_surrogate; everything else as LiveLatentEnvironment.
  SurrogateEnvironment(const Environment& environment, std::shared_ptr<Encoder> encoder,
                       std::shared_ptr<WorldModel> world, int batch);

  const LatentSpec& spec() const override { return live_.spec(); }
  int batch() const override { return live_.batch(); }
  LatentObservation reset(uint64_t seed) override { return live_.reset(seed); }
  LatentStep step(const LatentActions& actions) override { return live_.step(actions); }
  LatentObservation observe() const override { return live_.observe(); }
  EnvCounters counters() const override { return {}; }
  int64_t surrogate_steps() const override { return live_.counters().steps; }

 private:
  LiveLatentEnvironment live_;
};

}  // namespace reverie
