#include "env/placement/search/exact.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "env/placement/search/exact_bound.h"
#include "env/placement/search/exact_orders.h"
#include "env/placement/search/list_search.h"
#include "env/placement/search/local_search.h"
#include "env/placement/simulator/bounds.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

/// Whether devices can be swapped in every placement without a change of its outcome.
bool are_equal(const Topology& topology, int one, int other) {
  // Several devices get a tensor in the order of their numbers.
  if (topology.size() > 2 && sends_one_by_one(topology)) return false;
  const Device& a = topology.devices[static_cast<size_t>(one)];
  const Device& b = topology.devices[static_cast<size_t>(other)];
  if (a.kind != b.kind || a.memory_bytes != b.memory_bytes ||
      topology.link(one, other) != topology.link(other, one))
    return false;
  for (int third = 0; third < topology.size(); ++third)
    if (third != one && third != other &&
        (topology.link(one, third) != topology.link(other, third) ||
         topology.link(third, one) != topology.link(third, other)))
      return false;
  return true;
}

/// Branch and bound over the devices of entities, in topological order, and then over orders.
class ExactSearch {
 public:
  explicit ExactSearch(Evaluator& evaluator);
  /// Returns what no placement costs less than.
  double run();

 private:
  struct Choice {
    double bound;
    int device;
  };

  void search(size_t decided, double bound);
  std::vector<Choice> choices(int entity, double bound);
  bool is_repeated(int device) const;
  void put(int entity, int device);
  double bound_now();

  Evaluator& evaluator_;
  const Topology& topology_;
  PlacementEntities entities_;
  std::vector<int> order_;  ///< of entities
  ScheduleBound bound_;
  OpenBranches open_;
  OrderSearch orders_;
  PartialSchedule partial_;
};

ExactSearch::ExactSearch(Evaluator& evaluator)
    : evaluator_(evaluator),
      topology_(evaluator.topology()),
      entities_(evaluator.graph()),
      bound_(evaluator.simulator()),
      open_(evaluator),
      orders_(evaluator, bound_, open_) {
  const auto nodes = static_cast<size_t>(evaluator.graph().size());
  const auto devices = static_cast<size_t>(topology_.size());
  partial_.order = evaluator.graph().order();
  partial_.device.assign(nodes, PartialSchedule::kOpen);
  partial_.run.resize(nodes);
  partial_.first.resize(devices);
  for (const int node : partial_.order)
    if (std::ranges::count(order_, entities_.of(node)) == 0) order_.push_back(entities_.of(node));
}

double ExactSearch::run() {
  search(0, evaluator_.cost({.makespan = lower_bound(evaluator_.graph(), topology_)}));
  return open_.proved();
}

void ExactSearch::search(size_t decided, double bound) {
  if (open_.are_closed_at(bound)) return;
  if (decided == order_.size()) return orders_.run(partial_.device, bound);
  evaluator_.charge(1);
  const int entity = order_[decided];
  for (const Choice& choice : choices(entity, bound)) {
    put(entity, choice.device);
    search(decided + 1, choice.bound);
  }
  put(entity, PartialSchedule::kOpen);
}

std::vector<ExactSearch::Choice> ExactSearch::choices(int entity, double bound) {
  std::vector<Choice> all;
  for (int device = 0; device < topology_.size(); ++device) {
    if (is_repeated(device)) continue;
    put(entity, device);
    all.push_back({std::max(bound, bound_now()), device});
    put(entity, PartialSchedule::kOpen);
  }
  std::ranges::stable_sort(all, {}, &Choice::bound);
  return all;
}

/// It is empty, and so is an equal one.
bool ExactSearch::is_repeated(int device) const {
  const auto is_empty = [&](int one) { return std::ranges::count(partial_.device, one) == 0; };
  for (int other = 0; is_empty(device) && other < device; ++other)
    if (is_empty(other) && are_equal(topology_, other, device)) return true;
  return false;
}

void ExactSearch::put(int entity, int device) {
  for (const int node : entities_.nodes(entity))
    partial_.device[static_cast<size_t>(node)] = device;
}

double ExactSearch::bound_now() {
  const std::vector<int64_t> bytes =
      least_bytes(evaluator_.graph(), partial_.device, topology_.size());
  return evaluator_.cost(outcome_of(bound_.of(partial_), bytes, topology_));
}

/// The best of list search and local search within a quarter of the budget.
void find_start(Evaluator& evaluator, Rng rng) {
  constexpr int64_t kMostEvaluations = 2000;
  constexpr double kListShare = 0.4;
  EvaluationBudget budget = evaluator.budget();
  budget.evaluations = budget.evaluations > 0
                           ? std::clamp<int64_t>(budget.evaluations / 4, 1, kMostEvaluations)
                           : kMostEvaluations;
  budget.seconds /= 4;
  Evaluator start(evaluator.graph(), evaluator.topology(), evaluator.objective(), budget);
  list_search(start, kListShare, rng.fork(0));
  local_search(start, Placement(start.best()), rng.fork(1));
  evaluator.charge(start.evaluations() - 1);
  evaluator.evaluate(start.best(), Dispatch::kInOrder);
}

}  // namespace

void exact_from_best(Evaluator& evaluator) {
  REVERIE_CHECK(evaluator.has_best() && evaluator.fusion().empty());
  evaluator.prove(ExactSearch(evaluator).run());
}

void exact(Evaluator& evaluator, Rng rng) {
  if (evaluator.graph().size() > kMostNodesForExact)
    throw InputError("exact takes graphs of up to {} nodes, and this one has {}: try local",
                     kMostNodesForExact, evaluator.graph().size());
  if (evaluator.fusion().empty()) {
    find_start(evaluator, rng);
    return exact_from_best(evaluator);
  }
  Evaluator plain(evaluator.graph(), evaluator.topology(), evaluator.objective(),
                  evaluator.budget());
  exact(plain, rng);
  evaluator.charge(plain.evaluations() - 1);
  evaluator.evaluate(plain.best(), Dispatch::kInOrder);
}

}  // namespace reverie
