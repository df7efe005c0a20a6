#pragma once

#include <cstdint>
#include <vector>

#include "controller/agents/placed_groups.h"
#include "controller/agents/placeto_network.h"

namespace reverie {

/// A placement on its way: groups before `current` have been placed again.
struct PlacetoState {
  std::vector<int> devices;  ///< by group
  int current = 0;
};

/// A graph as Placeto sees it (placeto.h).
class PlacetoGraph {
 public:
  /// Columns of features: cost, bytes that leave, persistent bytes, whether it was placed again,
  /// whether it is the current one, start, and 1 for its device.
  static constexpr int64_t columns(int devices) { return 6 + devices; }

  PlacetoGraph(Evaluator& evaluator, int most_groups);

  const JudgedGraph& judged() const { return judged_; }
  const PlacetoRelations& relations() const { return relations_; }
  int size() const { return judged_.groups().size(); }
  /// All groups on the device that is best alone.
  PlacetoState start() const;
  /// [groups, columns] of a state. Cost (the mean over the devices), bytes and start (from the
  /// simulator, less that of the current group) are divided by their largest size.
  torch::Tensor features(const PlacetoState& state) const;
  /// What a placement's rewards are the decrease of: JudgedGraph::ratio. Where memory is exceeded
  /// 2 more for each 1e9 bytes (their code), but at least 1 (chosen), and at most 10 (their code).
  double judgement(const Outcome& outcome) const;

 private:
  void measure(const Simulator& simulator);

  JudgedGraph judged_;
  PlacetoRelations relations_;
  torch::Tensor fixed_;  ///< [groups, 3]
};

}  // namespace reverie
