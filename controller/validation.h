#pragma once

#include <memory>

#include "controller/dream_train.h"
#include "controller/phantoms.h"

namespace reverie {

struct ValidationConfig {
  int64_t sampled = 4;
  int64_t dreams = 2;
  double temperature = 1;

  template <class V> void fields(V& v) {
    v.field("sampled", sampled, "Sampled episodes for real per start graph, beside the greedy one",
            at_least(0));
    v.field("dreams", dreams, "Dreams whose actions are replayed for real", at_least(1));
    v.field("temperature", temperature, "Temperature of these dreams", at_least(0));
  }
};

/// What a batch of real episodes was worth.
struct RealEpisodes {
  double mean_return = 0;
  double mean_improvement = 0;  ///< of the best state over the start, percent of its cost
  double best_improvement = 0;  ///< mean over start graphs of the best episode's
};

/// Plays `episodes_per_start` episodes on every start graph, all at once.
RealEpisodes play_for_real(const Environment& environment, std::shared_ptr<Encoder> encoder,
                           std::shared_ptr<WorldModel> world, Policy& policy, bool greedy,
                           int64_t episodes_per_start, Rng& rng, EnvCounters& counters);

/// Judges policies in the real environment, in percent of improvement by the best states of episodes,
/// mean over start graphs: the score is midway between the greedy episode and the mean of the sampled
/// ones. The best of these and replayed dreams are reported beside it.
class RealJudge {
 public:
  RealJudge(std::shared_ptr<Environment> environment, std::shared_ptr<Encoder> encoder,
            std::shared_ptr<WorldModel> world, const ValidationConfig& config, uint64_t seed);

  Validation validate(Policy& policy, int64_t update);
  const EnvCounters& counters() const { return counters_; }
  /// The same as callbacks; valid as long as this.
  Judge judge();

 private:
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<WorldModel> world_;
  ValidationConfig config_;
  uint64_t seed_;
  EnvCounters counters_;
};

}  // namespace reverie
