#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "env/placement/search/exact_bound.h"
#include "env/placement/simulator/evaluator.h"

namespace reverie {

/// What branch and bound still has to look at.
class OpenBranches {
 public:
  /// `evaluator` holds a best placement and must outlive it.
  explicit OpenBranches(const Evaluator& evaluator) : evaluator_(&evaluator) {}

  /// Whether nothing in a branch of this bound need be looked at: it holds nothing cheaper than the
  /// best, or the evaluator is spent. Then the branch stays open.
  bool are_closed_at(double bound);
  bool has_nothing_below(double bound) const {
    return bound >= evaluator_->cost(evaluator_->best_outcome());
  }
  /// No placement of any branch so far costs less.
  double proved() const;

 private:
  const Evaluator* evaluator_;
  double lowest_ = std::numeric_limits<double>::infinity();
};

/// Branch and bound over the orders in which given devices can run their nodes. The device that is
/// free first is told which of its nodes is next, until all are told. What happens before that is
/// the same for all that it can be told, and is what the simulator says.
class OrderSearch {
 public:
  /// All must outlive it. At most 64 nodes.
  OrderSearch(Evaluator& evaluator, ScheduleBound& bound, OpenBranches& open);

  /// Evaluates what may be cheaper than the best. `device`: by node. No order costs less than
  /// `bound`.
  void run(const std::vector<int>& device, double bound);

 private:
  /// A device that is free, and nodes of which any can be its next; -1: all are told.
  struct Turn {
    int device;
    std::vector<int> nodes;
  };

  void search(size_t depth, double bound);
  bool complete_order();
  void simulate(Timeline& timeline);
  Turn next_turn();
  int free_device();
  std::vector<int> next_on(size_t device) const;
  void tell(int device, int node);
  void look_back(const Timeline& timeline);
  double bound_of(const Timeline& timeline, double bound);
  std::vector<int> undominated(const std::vector<int>& nodes) const;

  Evaluator& evaluator_;
  const CostGraph& graph_;
  ScheduleBound& bound_;
  OpenBranches& open_;
  bool is_free_;                           ///< neither memory, engines nor buses are limited
  std::vector<int64_t> rank_;              ///< by node: the longest path behind it
  std::vector<uint64_t> inputs_, before_;  ///< by node: producers, and all that it waits for
  PartialSchedule partial_;
  std::vector<int64_t> bytes_;             ///< by device: needed in any order
  std::vector<uint64_t> untold_;           ///< by device: nodes that are not among its first
  std::vector<const Timeline::Run*> run_;  ///< by node, of the last simulation
  Placement placement_;
  std::deque<Timeline> timelines_;  ///< by depth
};

/// Whether a device or a bus sends one tensor at a time: then it matters in which order.
bool sends_one_by_one(const Topology& topology);

}  // namespace reverie
