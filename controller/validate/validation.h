#pragma once

#include <memory>
#include <vector>

#include "controller/train/dream_train.h"
#include "controller/validate/dream_check.h"
#include "env/task.h"

namespace reverie {

struct ValidationConfig {
  int64_t sampled = 4;
  int64_t dreams = 2;
  double temperature = 1;
  Measuring measure = Measuring::kAuto;

  template <class V>
  void fields(V& v) {
    v.field("sampled", sampled, "Sampled episodes for real per start graph, beside the greedy one",
            at_least(0));
    v.field("dreams", dreams,
            "Dreams whose actions are replayed for real; they tell of invalid actions and choose "
            "nothing",
            at_least(0));
    v.field("temperature", temperature, "Temperature of these dreams", at_least(0));
    v.field("measure", measure,
            "Judge by the best states measured end to end: always, never, or auto: where costs or "
            "rewards are "
            "measured");
  }
};

/// Of one number per episode.
struct Gains {
  std::vector<double> episodes;  ///< on each of the start graphs in turn
  double mean = 0;
  std::vector<double> best;  ///< of each start graph's episodes

  /// Mean over start graphs of the best episode's.
  double mean_of_best() const;
};

/// Results of a batch of real episodes.
struct RealEpisodes {
  double mean_return = 0;
  Gains improvement;  ///< of the best feasible state over the start, percent of its objective
  Gains measured;     ///< Environment::measured_gain, where asked for
  /// Where asked for: of each start graph, the end of the episode that measured best.
  std::vector<std::unique_ptr<Environment>> fastest;
};

/// Plays `episodes_per_start` episodes on every start graph, all at once. InputError where
/// `measure` and the environment has nothing to measure.
RealEpisodes play_for_real(const Environment& environment, std::shared_ptr<Encoder> encoder,
                           std::shared_ptr<WorldModel> world, Policy& policy, bool greedy,
                           int64_t episodes_per_start, bool measure, Rng& rng,
                           EnvCounters& counters);

/// Judges policies in the real environment, in percent of improvement by the best states of
/// episodes, mean over start graphs: by what the best of the greedy and the sampled episodes found,
/// and midway between the greedy episode and the mean of the sampled ones
/// (ValidationScore::average). Improvements are of costs, or where `measure` says so of what is
/// measured end to end. The parts of these are reported beside it, and replayed dreams where there
/// are any: of M, or where `known` is given of its known dynamics.
///
/// Luck: where the environment is stochastic the average alone counts, every validation plays the
/// same seeds, and the gains of its episodes are the score's repeats. What measured best is
/// measured kRepeats times anew: these are the repeats, and their median is what was found.
class RealJudge {
 public:
  static constexpr int kRepeats = 5;

  RealJudge(std::shared_ptr<Environment> environment, std::shared_ptr<Encoder> encoder,
            std::shared_ptr<WorldModel> world, const ValidationConfig& config, uint64_t seed,
            std::shared_ptr<const Environment> known = nullptr);

  /// Metrics with "measured" in their names are there when it measures.
  Validation validate(Policy& policy, int64_t update);
  const EnvCounters& counters() const { return counters_; }
  /// The same as callbacks; valid as long as this.
  PolicyJudge judge();

 private:
  bool measures() const;
  /// `sampled`: the greedy ones where there are no others.
  ValidationScore score_of(const RealEpisodes& greedy, const RealEpisodes& sampled);
  /// kRepeats times the mean over start graphs.
  std::vector<double> measured_anew(const RealEpisodes& greedy, const RealEpisodes& sampled);

  std::shared_ptr<Environment> environment_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<WorldModel> world_;
  ValidationConfig config_;
  uint64_t seed_;
  std::shared_ptr<const Environment> known_;
  EnvCounters counters_;
};

}  // namespace reverie
