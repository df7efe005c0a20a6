#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "env/placement/search/plan.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

/// A graph whose entities are placed one after the other, in the order of their first nodes.
class PlacingOrder {
 public:
  /// Nodes are in the order of order_by. The simulator must outlive it.
  PlacingOrder(const Simulator& simulator, const std::vector<int64_t>& priority);

  const PlacementEntities& entities() const { return entities_; }
  const std::vector<int>& nodes() const { return nodes_; }

 private:
  friend class PlacingSteps;

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
/// | columns          | what                                                                    |
/// | ---------------- | ----------------------------------------------------------------------- |
/// | start, end,      | when the entity's first node would start, end and have its inputs       |
/// | inputs           | there; each less the earliest device's: log(1 + x / mean time of a node) |
/// | lead             | time of the entities there, with this one, less the least device's:     |
/// |                  | log(1 + x / own)                                                        |
/// | lead in shares   | the same over a share                                                   |
/// | work             | time of the entities there, over a share                                |
/// | near, far        | transfers with entities there, and with those on other devices, over    |
/// |                  | the mean link: log(1 + x / own)                                         |
/// | memory           | persistent bytes there, with this entity's, over the memory, 1.5 at most |
class PlacingSteps {
 public:
  static constexpr std::array kNames = {"start", "end",  "inputs", "lead",  "lead in shares",
                                        "work",  "near", "far",    "memory"};
  static constexpr int64_t kColumns = std::ssize(kNames);

  /// Nothing is placed. The order must outlive it.
  explicit PlacingSteps(const PlacingOrder& order);

  /// The entity that comes next; -1: all are placed.
  int next() const { return next_; }
  /// Of the next entity: [devices, kColumns].
  void describe(float* columns) const;
  /// Of the nodes that are scheduled: when each runs, in the order in which they were put.
  std::vector<Timeline::Run> runs() const;
  /// Places the next entity.
  void place(int device);

 private:
  struct Near;

  void schedule();
  Near near() const;

  const PlacingOrder* order_;
  Plan plan_;
  std::vector<int> device_;    ///< by entity; -1: not yet placed
  std::vector<double> work_;   ///< by device: of entities
  std::vector<double> bytes_;  ///< by device: persistent
  size_t scheduled_ = 0;       ///< nodes
  int next_ = -1;
};

}  // namespace reverie
