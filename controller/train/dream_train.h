#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "controller/train/trainer_config.h"
#include "core/base/progress.h"
#include "core/base/stop.h"

namespace reverie {

/// How a policy is trained and judged on the way. Where it plays and how it is judged for real is
/// the caller's.
struct TrainingPlan {
  int64_t updates = 20;
  int64_t batch = 256;
  int64_t validate_every = 20;
  bool validate_start = true;
  int chunks = 1;
  /// Requested: the training saves its state after the update under way and throws Interrupted.
  StopToken stop = {};

  template <class V>
  void fields(V& v) {
    v.field("updates", updates, "Updates of the policy; 0: imitation alone", at_least(0));
    v.field("batch", batch, "Episodes played for an update", at_least(1));
    v.field("validate_every", validate_every, "Updates between validations for real", at_least(1));
    v.field("validate_start", validate_start,
            "Whether validations begin before the first update, with the imitation; without "
            "updates they do");
    v.field("chunks", chunks,
            "Parts of a minibatch of ppo whose gradients are added in order; several processes "
            "share them, and the result does not depend on how many they are",
            at_least(1));
  }
};

/// How good a policy is in the real environment, in percent of improvement; larger is better.
struct ValidationScore {
  static constexpr double kSameFound = 0.01;  ///< up to this difference `found` counts as equal

  /// By the best of its episodes; where the environment is stochastic it is `average`.
  double found = -std::numeric_limits<double>::infinity();
  double average = -std::numeric_limits<double>::infinity();  ///< of an episode, on the mean
  /// Where outcomes are noisy: several, each of the same jobs or measured under the same
  /// circumstances as that of another score in its place. Empty elsewhere.
  std::vector<double> repeats = {};

  /// `found` decides, and between equals `average`. Where outcomes are noisy the mean difference
  /// of the repeats has to be above 0 with its 95% interval (paired_difference).
  bool above(const ValidationScore& other) const;
};

/// A validation in the real environment: its score decides which policy is kept; the rest is
/// reported.
struct Validation {
  ValidationScore score;
  Metrics metrics;
};

/// Judges a policy for real. Called with the updates done. `counters` is all real work so far.
struct PolicyJudge {
  std::function<Validation(Policy& policy, int64_t update)> validate;
  std::function<EnvCounters()> counters;
};

struct TrainingResult {
  int64_t updates = 0;
  int64_t best_update = 0;
  ValidationScore best;        ///< of the policy that is kept
  ValidationScore last;        ///< of the last validation
  Metrics best_metrics;        ///< of the validation that was best
  double seconds = 0;          ///< of this run, what went before it was resumed included
  EnvCounters training;        ///< real work of training; zero in a dream
  int64_t computed_steps = 0;  ///< of training in a grey box, which are no real work
  EnvCounters validation;      ///< real work of validation
};

/// Everything about one training run.
struct TrainingRun {
  TrainerConfig trainer;
  TrainingPlan plan;
  CloneConfig clone;
  std::optional<Demonstrations> demonstrations;  ///< imitated before the first update
  std::shared_ptr<WorldModel> world = nullptr;   ///< M, where the trainer is `plan`
  std::optional<Checkpoint> initial;  ///< of the same trainer, whose policy to go on from
  uint64_t origin = 0;  ///< names data, V and M, and `initial`: a run is resumed on the same alone
  uint64_t seed = 0;
  Processes processes = {};   ///< they train together; `plan.chunks` is a multiple of their number
  double seconds_before = 0;  ///< that its data, M and latents took, which its own begin with
  /// What the policy stands on (V and M), written with it; `data` and `spec` name what it is for.
  Checkpoint base;
  std::string directory;
  bool resume = false;
  ProgressStyle progress = ProgressStyle::kQuiet;
  torch::Device device = torch::kCPU;  ///< where the environment and V and M compute
};

/// Trains C. Every validation, and the end, writes to `directory`: policy.pt when its score is
/// above all so far, and training.pt, from which a run with `resume` goes on to the same result as
/// one that did not stop; so does `plan.stop`, after any update. last.pt is the policy at the end,
/// whatever its score. metrics.jsonl holds a row per update. Of several processes, which all call
/// this alike, the first validates and writes; the others need no judge.
TrainingResult train_policy(LatentEnvironment& environment, const PolicyJudge& judge,
                            const TrainingRun& run);

}  // namespace reverie
