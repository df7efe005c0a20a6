#include "env/placement/search/list_search.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/plan.h"
#include "env/placement/simulator/fusion.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

// Chosen on generated graphs and on graphs without communication.
constexpr double kMore = 0.5;      ///< that a step changes one thing more
constexpr double kFix = 0.3;       ///< that a change is of a device, not of the order
constexpr double kFree = 0.9;      ///< that it then frees the entity
constexpr double kReserve = 0.05;  ///< that a change is of the reserve, where memory is limited

struct ListState {
  std::vector<int> order;   ///< all nodes, each after those that it reads of
  std::vector<int> device;  ///< by entity; -1: it is free
  double reserve = 0;
  Plan::Transfers transfers = Plan::Transfers::kFree;
};

class ListWalk {
 public:
  ListWalk(Evaluator& evaluator, Rng rng)
      : evaluator_(evaluator),
        graph_(evaluator.graph()),
        entities_(graph_),
        plan_(evaluator.simulator()),
        rng_(rng),
        place_(static_cast<size_t>(graph_.size())),
        is_limited_(std::ranges::any_of(evaluator.topology().devices, [](const Device& device) {
          return device.memory_bytes != Device::kUnlimited;
        })) {
    const auto ranks = upward_ranks(evaluator.simulator(), /*with_transfers=*/true);
    state_.order = graph_.order();
    std::ranges::stable_sort(state_.order, std::greater(),
                             [&](int node) { return ranks[static_cast<size_t>(node)]; });
    state_.device.assign(static_cast<size_t>(entities_.size()), -1);
    start();
  }

  void step() {
    tried_ = state_;
    do change(tried_);
    while (rng_.uniform() < kMore);
    try_one();
  }

 private:
  void start() {
    const ListState free = state_;
    tried_ = free;
    for (int device = 0; device < evaluator_.topology().size() && !evaluator_.spent(); ++device) {
      std::ranges::fill(tried_.device, device);
      try_one();
    }
    for (const double reserve : kReserves) {
      bool fits = false;
      for (const auto transfers : {Plan::Transfers::kFree, Plan::Transfers::kQueued}) {
        if (evaluator_.spent()) return;
        tried_ = free;
        tried_.reserve = reserve;
        tried_.transfers = transfers;
        fits = try_one().feasible() || fits;
      }
      if (fits) return;
    }
  }

  Outcome try_one() {
    plan_.clear(tried_.reserve, tried_.transfers);
    for (const int node : tried_.order) {
      const int device = tried_.device[static_cast<size_t>(entities_.of(node))];
      if (device >= 0)
        plan_.put(node, device, plan_.earliest(node, device, /*gaps=*/true));
      else
        plan_.put_where_it_ends_first(node, /*gaps=*/true);
    }
    const Outcome outcome = evaluator_.evaluate(plan_.placement(), Dispatch::kInOrder);
    const double cost = evaluator_.cost(outcome);
    if (!cost_ || cost <= *cost_) {
      std::swap(state_, tried_);
      cost_ = cost;
    }
    return outcome;
  }

  void change(ListState& state) {
    if (is_limited_ && rng_.uniform() < kReserve) {
      state.reserve = rng_.uniform();
    } else if (rng_.uniform() < kFix) {
      const auto devices = static_cast<uint64_t>(evaluator_.topology().size());
      int& device = state.device[rng_.below(state.device.size())];
      device = rng_.uniform() < kFree ? -1 : static_cast<int>(rng_.below(devices));
    } else {
      shift(state.order);
    }
  }

  /// A node to any other place between what it waits for and what waits for it.
  void shift(std::vector<int>& order) {
    for (size_t i = 0; i < order.size(); ++i)
      place_[static_cast<size_t>(order[i])] = static_cast<int>(i);
    const auto at = static_cast<int>(rng_.below(order.size()));
    const auto [low, high] = room(order[static_cast<size_t>(at)]);
    if (low == high) return;
    int to = low + static_cast<int>(rng_.below(static_cast<uint64_t>(high - low)));
    if (to >= at) ++to;
    const auto begin = order.begin();
    if (to > at)
      std::rotate(begin + at, begin + at + 1, begin + to + 1);
    else
      std::rotate(begin + to, begin + at, begin + at + 1);
  }

  /// The first and the last place that a node may have.
  std::pair<int, int> room(int node) const {
    const auto& tensors = graph_.tensors();
    const auto place = [&](int other) { return place_[static_cast<size_t>(other)]; };
    int low = 0, high = graph_.size() - 1;
    for (const int input : graph_.inputs(node))
      low = std::max(low, place(tensors[static_cast<size_t>(input)].producer) + 1);
    const auto [first, last] = graph_.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : tensors[static_cast<size_t>(tensor)].readers)
        high = std::min(high, place(reader) - 1);
    return {low, high};
  }

  Evaluator& evaluator_;
  const CostGraph& graph_;
  PlacementEntities entities_;
  Plan plan_;
  Rng rng_;
  std::vector<int> place_;
  bool is_limited_;
  ListState state_, tried_;
  std::optional<double> cost_;  ///< of the state
};

}  // namespace

void list_search(Evaluator& evaluator, double until, Rng rng) {
  REVERIE_CHECK(evaluator.budget().evaluations > 0 || evaluator.budget().seconds > 0);
  ListWalk walk(evaluator, rng);
  while (!evaluator.spent() && evaluator.used() < until) walk.step();
}

void list_kernels(Evaluator& evaluator, double until, Rng rng) {
  const auto rest = evaluator.rest_until(until);
  if (!rest) return;
  const FusedGraph fused = fuse(evaluator.graph(), evaluator.best().kernel);
  Evaluator of_kernels(fused.graph, evaluator.topology(), evaluator.objective(), *rest);
  list_search(of_kernels, 1, rng);
  evaluator.charge(of_kernels.evaluations());
  Placement whole{.device = {}, .priority = {}, .kernel = fused.node_of};
  for (const int kernel : fused.node_of) {
    whole.device.push_back(of_kernels.best().device[static_cast<size_t>(kernel)]);
    whole.priority.push_back(of_kernels.best().priority[static_cast<size_t>(kernel)]);
  }
  evaluator.evaluate(whole, Dispatch::kInOrder);
}

}  // namespace reverie
