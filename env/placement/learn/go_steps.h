#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "env/placement/search/plan.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

/// What GO knows of a graph whose entities it places one after the other: in the order in which
/// their first nodes come where the longest path always goes first (path_ranks). The simulator must
/// outlive it.
class GoOrder {
 public:
  explicit GoOrder(const Simulator& simulator);

  const PlacementEntities& entities() const { return entities_; }

 private:
  friend class GoSteps;

  void sum_work();
  void sum_transfers();

  const Simulator* simulator_;
  PlacementEntities entities_;
  std::vector<int> nodes_;
  std::vector<double> work_;                               ///< entity x device
  std::vector<double> bytes_;                              ///< by entity: persistent
  std::vector<std::vector<std::pair<int, double>>> sent_;  ///< by entity: with whom, and its time
  double mean_ = 0, share_ = 0;  ///< time of a node, and of all over the devices
};

/// Entities placed one after the other, and a list schedule of the nodes that can be scheduled
/// because they and all before them in the order are placed (Plan, with queued transfers).
///
/// Columns of a device, for the entity that comes next. Times are picoseconds; *own* is the
/// entity's time on the mean device, a tenth of the mean node at least; a *share* is an even part
/// of the time of all nodes.
///
/// | columns | what                                                                             |
/// | ------- | -------------------------------------------------------------------------------- |
/// | 3       | when the entity's first node would start, end and have its inputs there; each    |
/// |         | less the earliest device's, log(1 + x / mean time of a node)                     |
/// | 1       | time of the entities there, with this one, less the least device's:              |
/// |         | log(1 + x / own)                                                                 |
/// | 1       | the same over a share                                                            |
/// | 1       | time of the entities there, over a share                                         |
/// | 2       | transfers with entities there, and with those on other devices, over the mean    |
/// |         | link: log(1 + x / own)                                                           |
/// | 1       | persistent bytes there, with this entity's, over the memory, 1.5 at most         |
class GoSteps {
 public:
  static constexpr int64_t kColumns = 9;

  /// Nothing is placed. The order must outlive it.
  explicit GoSteps(const GoOrder& order);

  /// The entity that comes next; -1: all are placed.
  int next() const { return next_; }
  /// Of the next entity: [devices, kColumns].
  void describe(float* columns) const;
  /// Places the next entity.
  void place(int device);

 private:
  struct Near;

  void schedule();
  Near near() const;

  const GoOrder* order_;
  Plan plan_;
  std::vector<int> device_;    ///< by entity; -1: not yet placed
  std::vector<double> work_;   ///< by device: of entities
  std::vector<double> bytes_;  ///< by device: persistent
  size_t scheduled_ = 0;       ///< nodes
  int next_ = -1;
};

}  // namespace reverie
