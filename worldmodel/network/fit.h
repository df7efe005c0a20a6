#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config.h"
#include "core/base/part.h"
#include "core/base/random.h"
#include "core/base/stop.h"
#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/processes.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct FitConfig {
  int epochs = 60;
  int patience = 10;
  double learning_rate = 2e-3;
  double final_learning_rate = 2e-4;
  double clip = 1;
  int chunks = 1;
  Processes processes = {};  ///< they fit together; `chunks` is a multiple of their number
  /// Requested: fit saves its state, also in the midst of an epoch, and throws Interrupted.
  StopToken stop = {};

  template <class V>
  void fields(V& v) {
    v.field("epochs", epochs, "Most passes over the training split", at_least(1));
    v.field("patience", patience, "Stop after this many epochs without a better validation loss",
            at_least(1));
    v.field("learning_rate", learning_rate, "Step size of Adam", above(0));
    v.field("final_learning_rate", final_learning_rate, "Step size at the last epoch (cosine)",
            above(0));
    v.field("clip", clip, "Largest norm of the gradient", above(0));
    v.field(
        "chunks", chunks,
        "Parts of a minibatch whose gradients are added in order; several processes share them, "
        "and the result does not depend on how many they are",
        at_least(1));
  }
};

/// InputError where minibatches, whose size a setting of this name limits, cannot have so many
/// parts.
void require_parts(const FitConfig& config, const std::string& name, int examples);

/// Seed of the noise that validation draws, the same after every epoch.
inline constexpr uint64_t kNoiseOfValidation = 1;

/// Named values of one epoch, in a fixed order.
using FitMetrics = std::vector<std::pair<std::string, double>>;

/// Weighted mean of the terms of several minibatches: "loss", then each term.
class FitMean {
 public:
  void add(const LossTerms& losses, double weight);
  void add(const FitMetrics& terms, double weight);
  /// Names begin with `prefix`.
  FitMetrics metrics(const std::string& prefix = {}) const;
  /// As scores of a checkpoint, from which `restore` makes the same mean.
  void store(std::map<std::string, double>& scores) const;
  void restore(const std::map<std::string, double>& scores);

 private:
  FitMetrics sums_;
  double weight_ = 0;
};

/// At most `count` of the values, evenly spread.
template <class T>
std::vector<T> thin(const std::vector<T>& values, int count) {
  const auto size = static_cast<int64_t>(values.size());
  if (size <= count) return values;
  std::vector<T> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(values[i * size / count]);
  return result;
}

/// Parts of at most `size` values, in order.
template <class T>
std::vector<std::vector<T>> split_into(const std::vector<T>& values, int64_t size) {
  std::vector<std::vector<T>> parts;
  for (int64_t i = 0; i < std::ssize(values); i += size)
    parts.emplace_back(values.begin() + i,
                       values.begin() + std::min<int64_t>(std::ssize(values), i + size));
  return parts;
}

/// The values of a part, in order.
template <class T>
std::vector<T> part_of(const std::vector<T>& values, Part part) {
  const auto [first, end] = part.range(static_cast<int>(values.size()));
  return {values.begin() + first, values.begin() + end};
}

/// What is fitted: a module, its minibatches and its validation.
class FitProblem {
 public:
  virtual ~FitProblem() = default;
  virtual torch::nn::Module& module() = 0;
  /// Draws the minibatches of an epoch and returns their number.
  virtual int begin_epoch(int epoch, Rng& rng) = 0;
  /// Its examples (graphs, episodes).
  virtual int size(int minibatch) const = 0;
  /// Mean over a part of its examples, which is not empty.
  virtual LossTerms loss(int minibatch, Part part, torch::Generator noise) = 0;
  /// On the validation split, in the same way every time; "loss" is what is minimised.
  virtual FitMetrics validate() = 0;
  /// What the steps that follow need: kind, spec, configurations, fingerprint of the data, weights.
  virtual Checkpoint checkpoint() const = 0;
  /// Takes the weights of such a checkpoint.
  virtual void restore(const Checkpoint& checkpoint) = 0;
  /// Names the weights that it goes on from; 0: none.
  virtual uint64_t origin() const { return 0; }
};

struct FitProgress {
  int epoch = 0;   ///< epochs done
  int epochs = 0;  ///< at most
  bool best = false;
  double best_loss = 0;
  FitMetrics metrics;  ///< "train/..." and "validation/..."
};

struct FitResult {
  int epochs = 0;
  int best_epoch = 0;
  double best_loss = 0;
  FitMetrics best_metrics;  ///< of that epoch, as FitProgress has them
  double seconds = 0;       ///< of all epochs, those before it was resumed too
};

/// Minimises by Adam (Kingma and Ba 2015) with early stopping. After every epoch `directory`/`name`
/// is the best checkpoint so far, its validation among the scores ("KIND/validation/loss"), and
/// `directory`/training.pt allows to resume: stopping after any epoch and resuming gives the same
/// result as not stopping; so does `config.stop`, at any time. Ends with the best weights in the
/// module. Each part of a minibatch (`config.chunks`; those with fewer examples are in one part)
/// weighs as its share of the examples. Of several processes, which all call this alike, the first
/// writes and observes. InputError when the state to resume belongs to other data, configuration or
/// origin, and when the loss is not finite.
FitResult fit(FitProblem& problem, const FitConfig& config, uint64_t seed,
              const std::string& directory, const std::string& name, bool resume,
              const std::function<void(const FitProgress&)>& observe);

}  // namespace reverie
