#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "env/placement/search/methods.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// An agent of the literature that learns to place graphs on a number of devices, from placements
/// that are evaluated.
class PlacementLearner {
 public:
  virtual ~PlacementLearner() = default;

  /// Learns from placements of these graphs, one after the other in rounds, until all of the
  /// evaluators are spent. A second call goes on with what was learned. InputError for another
  /// number of devices than it was made for.
  virtual void learn(std::span<Evaluator* const> evaluators) = 0;
  /// Has what it holds best without further learning evaluated: one placement, or for agents that
  /// guide a search, that search until the evaluator is spent.
  virtual void place(Evaluator& evaluator) = 0;
  /// What it has learned, for files.
  virtual torch::nn::Module& module() = 0;
};

struct LearnerKind {
  std::string name;  ///< on the command line
  std::string what;  ///< it does, in a few words
  /// For so many devices; equal seeds learn equally.
  std::function<std::unique_ptr<PlacementLearner>(int devices, uint64_t seed)> make;
};

std::span<const LearnerKind> learner_kinds();
/// InputError that lists the names where there is none of this name.
const LearnerKind& learner_kind(const std::string& name);

/// A learner that knows nothing yet and learns from the one graph until the budget is spent.
PlaceMethod single_graph_method(const LearnerKind& kind);

/// A checkpoint of kind "agent": its name, devices and weights.
void save_learner(const std::string& path, const std::string& kind, int devices,
                  PlacementLearner& learner);
/// InputError where the file is missing, damaged or none of these, or of the form before
/// checkpoints.
struct SavedLearner {
  std::string kind;
  int devices = 0;
  std::unique_ptr<PlacementLearner> learner;
};
SavedLearner load_learner(const std::string& path, uint64_t seed);

}  // namespace reverie
