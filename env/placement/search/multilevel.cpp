#include "env/placement/search/multilevel.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>

#include "core/base/error.h"
#include "core/base/shuffle.h"
#include "env/placement/search/heuristics.h"

namespace reverie {
namespace {

constexpr int kCoarsest = 200;       ///< clusters, about
constexpr double kPlanShare = 0.4;   ///< of the evaluations or the time
constexpr double kLeastGain = 0.95;  ///< where a level has more of the clusters before, it ends
constexpr double kPlannedWork = 4;   ///< clusters that a device has at least, to plan with
constexpr double kMovedWork = 16;    ///< and to be moved
constexpr double kAnyDevice = 0.5;   ///< that a move is not to a neighbour's device
constexpr double kMoreMoves = 1.5, kFewerMoves = 0.9;  ///< at once: after a gain, and without

/// What clusters exchange, in mean times of transfers, and their work.
struct ClusterGraph {
  ClusterGraph(const Simulator& simulator, const Clusters& clusters)
      : near(static_cast<size_t>(clusters.count)), work(near.size()) {
    const CostGraph& graph = simulator.graph();
    for (int node = 0; node < graph.size(); ++node)
      work[of(clusters, node)] += mean_cost(simulator, node);
    for (int tensor = 0; tensor < std::ssize(graph.tensors()); ++tensor) {
      const CostTensor& one = graph.tensors()[static_cast<size_t>(tensor)];
      const size_t from = of(clusters, one.producer);
      const double time = mean_transfer(simulator, tensor);
      for (const int reader : one.readers)
        if (const size_t to = of(clusters, reader); to != from) {
          near[from].emplace_back(static_cast<int>(to), time);
          near[to].emplace_back(static_cast<int>(from), time);
        }
    }
    for (auto& neighbors : near) add_up(neighbors);
  }
  static size_t of(const Clusters& clusters, int node) {
    return static_cast<size_t>(clusters.of[static_cast<size_t>(node)]);
  }
  static void add_up(std::vector<std::pair<int, double>>& neighbors) {
    std::ranges::sort(neighbors);
    size_t kept = 0;
    for (const auto& [cluster, time] : neighbors)
      if (kept > 0 && neighbors[kept - 1].first == cluster)
        neighbors[kept - 1].second += time;
      else
        neighbors[kept++] = {cluster, time};
    neighbors.resize(kept);
  }

  std::vector<std::vector<std::pair<int, double>>> near;  ///< by cluster, ascending
  std::vector<double> work;
};

class MultilevelSearch {
 public:
  MultilevelSearch(Evaluator& evaluator, Rng rng)
      : evaluator_(evaluator), graph_(evaluator.graph()), rng_(rng) {}

  void run() {
    evaluate(evaluator_.best().device);
    const double begin = evaluator_.used();
    plan_levels(begin + kPlanShare * (1 - begin));
    move_levels();
  }

 private:
  bool goes_on(double until) const { return !evaluator_.spent() && evaluator_.used() < until; }
  double devices() const { return static_cast<double>(evaluator_.topology().size()); }

  void evaluate(std::vector<int> device) {
    if (evaluator_.spent()) return;
    std::vector<int64_t> ranks = placed_ranks(evaluator_.simulator(), device);
    evaluator_.evaluate({std::move(device), std::move(ranks)}, Dispatch::kReady);
  }

  void plan_levels(double until) {
    Clusters clusters = entity_clusters(graph_);
    for (int before = 0; goes_on(until) && clusters.count != before;) {
      plan_level(clusters, until);
      before = clusters.count;
      clusters = next(clusters, kPlannedWork, {});
    }
  }

  void plan_level(const Clusters& clusters, double until) {
    const CostGraph grouped = graph_.with_groups(clusters.of);
    const Simulator simulator(grouped, evaluator_.topology());
    for (const auto transfers : {Plan::Transfers::kFree, Plan::Transfers::kQueued}) {
      if (!goes_on(until)) return;
      Placement placement = heft(simulator, 0, transfers);
      evaluator_.evaluate(placement, Dispatch::kInOrder);
      evaluate(std::move(placement.device));
    }
  }

  /// The same where it cannot become much coarser.
  Clusters next(const Clusters& clusters, double parts, const std::vector<int>& device) {
    if (clusters.count <= kCoarsest) return clusters;
    Clusters joined =
        coarser(evaluator_.simulator(), clusters, 1 / (parts * devices()), device, rng_);
    return joined.count > kLeastGain * clusters.count ? clusters : joined;
  }

  void move_levels() {
    std::vector<Clusters> levels{entity_clusters(graph_)};
    for (size_t known = 0; known < levels.size() && goes_on(1); known = levels.size() - 1) {
      Clusters one = next(levels.back(), kMovedWork, evaluator_.best().device);
      if (one.count == levels.back().count) break;
      levels.push_back(std::move(one));
    }
    const double begin = evaluator_.used();
    for (size_t done = 1; done <= levels.size(); ++done) {
      const double share = static_cast<double>(done) / static_cast<double>(levels.size());
      move(levels[levels.size() - done], begin + share * (1 - begin));
    }
  }

  void move(const Clusters& clusters, double until) {
    const ClusterGraph exchange(evaluator_.simulator(), clusters);
    std::vector<std::vector<int>> nodes(static_cast<size_t>(clusters.count));
    for (int node = 0; node < graph_.size(); ++node)
      nodes[ClusterGraph::of(clusters, node)].push_back(node);
    double at_once = 1;
    while (goes_on(until)) {
      std::vector<int> device = evaluator_.best().device;
      for (int i = 0; i < static_cast<int>(at_once); ++i) move_one(exchange, nodes, device);
      const double before = evaluator_.cost(evaluator_.best_outcome());
      evaluate(std::move(device));
      const bool gains = evaluator_.cost(evaluator_.best_outcome()) < before;
      at_once = std::max(1.0, at_once * (gains ? kMoreMoves : kFewerMoves));
    }
  }

  /// Some clusters have no other device to go to, so that several may be drawn.
  void move_one(const ClusterGraph& exchange, const std::vector<std::vector<int>>& nodes,
                std::vector<int>& device) {
    constexpr int kDraws = 100;
    for (int draw = 0; draw < kDraws; ++draw) {
      const size_t cluster = rng_.below(nodes.size());
      const int to = draw_device(exchange.near[cluster], nodes, device);
      if (to == device[static_cast<size_t>(nodes[cluster].front())]) continue;
      for (const int node : nodes[cluster]) device[static_cast<size_t>(node)] = to;
      return;
    }
  }

  int draw_device(const std::vector<std::pair<int, double>>& near,
                  const std::vector<std::vector<int>>& nodes, const std::vector<int>& device) {
    if (near.empty() || rng_.uniform() < kAnyDevice)
      return static_cast<int>(rng_.below(static_cast<uint64_t>(evaluator_.topology().size())));
    const auto neighbor = static_cast<size_t>(near[rng_.below(near.size())].first);
    return device[static_cast<size_t>(nodes[neighbor].front())];
  }

  Evaluator& evaluator_;
  const CostGraph& graph_;
  Rng rng_;
};

}  // namespace

Clusters entity_clusters(const CostGraph& graph) {
  const PlacementEntities entities(graph);
  Clusters clusters{{}, entities.size()};
  for (int node = 0; node < graph.size(); ++node) clusters.of.push_back(entities.of(node));
  return clusters;
}

Clusters coarser(const Simulator& simulator, const Clusters& clusters, double most,
                 const std::vector<int>& device, Rng& rng) {
  const ClusterGraph exchange(simulator, clusters);
  const auto count = static_cast<size_t>(clusters.count);
  std::vector<int> on(count, -1), order(count), with(count, -1), number(count, -1);
  for (size_t node = 0; node < device.size(); ++node)
    on[static_cast<size_t>(clusters.of[node])] = device[node];
  const double limit = most * std::accumulate(exchange.work.begin(), exchange.work.end(), 0.0);
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), rng);
  for (const int cluster : order) {
    const auto one = static_cast<size_t>(cluster);
    if (with[one] >= 0) continue;
    double best = -1;
    for (const auto& [neighbor, time] : exchange.near[one]) {
      const auto other = static_cast<size_t>(neighbor);
      const double a = exchange.work[one], b = exchange.work[other];
      const double rating = time * time / std::max(a * b, 1.0);
      if (with[other] >= 0 || on[one] != on[other] || a + b > limit || rating <= best) continue;
      best = rating;
      with[one] = neighbor;
    }
    if (with[one] >= 0) with[static_cast<size_t>(with[one])] = cluster;
  }
  Clusters joined;
  for (size_t one = 0; one < count; ++one) {
    if (number[one] >= 0) continue;
    number[one] = joined.count++;
    if (with[one] >= 0) number[static_cast<size_t>(with[one])] = number[one];
  }
  for (const int cluster : clusters.of) joined.of.push_back(number[static_cast<size_t>(cluster)]);
  return joined;
}

std::vector<int64_t> placed_ranks(const Simulator& simulator, const std::vector<int>& device) {
  const CostGraph& graph = simulator.graph();
  std::vector<int64_t> ranks(static_cast<size_t>(graph.size()));
  for (const int node : graph.order() | std::views::reverse) {
    const int home = device[static_cast<size_t>(node)];
    int64_t after = 0;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers) {
        const int to = device[static_cast<size_t>(reader)];
        const int64_t sent = to == home ? 0 : simulator.transfer(tensor, home, to).count;
        after = std::max(after, sent + ranks[static_cast<size_t>(reader)]);
      }
    ranks[static_cast<size_t>(node)] = after + simulator.cost(node, home).count;
  }
  return ranks;
}

void multilevel(Evaluator& evaluator, Rng rng) {
  REVERIE_CHECK(evaluator.budget().evaluations > 0 || evaluator.budget().seconds > 0);
  MultilevelSearch(evaluator, rng).run();
}

}  // namespace reverie
