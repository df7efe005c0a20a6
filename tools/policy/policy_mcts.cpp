#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>

#include "tools/policy/policy_search.h"
#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

struct Edge {
  Action action;
  double prior = 0;
  int child = -1;
  int64_t visits = 0;   ///< those under way too
  bool closed = false;  ///< leads nowhere new, or was forgotten
};

/// A state of the tree.
struct Node {
  std::unique_ptr<RewriteEnvironment> environment;  ///< null once it is forgotten
  SeenState seen;
  int depth = 0;
  double gained = 0;  ///< rewards on the way here
  double value = 0;   ///< of the whole way: `gained` and what the critic expects on top
  bool pending = true;
  bool done = false;        ///< all edges are closed
  std::vector<Edge> edges;  ///< the likeliest first
  int64_t visits = 0;
  double total = 0;  ///< of the values at the ends of all visits
  int64_t used = 0;  ///< number of the last selection that came here

  double mean() const { return total / static_cast<double>(visits); }
};

/// Where a selection ended.
struct Leaf {
  std::vector<int> trail;  ///< nodes from the root on
  std::optional<Arrival> fresh;
};

class PolicyTree {
 public:
  PolicyTree(SearchRun& run, const PolicyGuide& guide, const GuidedSearchOptions& how)
      : run_(run), guide_(guide), how_(how) {}

  void search(const RewriteEnvironment& start) {
    std::vector<Leaf> leaves = {plant(start)};
    for (int64_t left = run_.options().budget; !run_.out_of_time();) {
      if (left == 0) return run_.out_of_budget();
      left -= look(leaves);
      for (const Leaf& leaf : leaves) back_up(leaf);
      forget_beyond_limit();
      leaves = gather(std::min(left, how_.batch));
      if (leaves.empty() && nodes_[0].done) return;
    }
  }

 private:
  Leaf plant(const RewriteEnvironment& start) {
    GuidedStep begin{std::make_unique<RewriteEnvironment>(start), 0, false};
    add(std::move(begin), 0, 0);
    return {{0}, Arrival{nodes_[0].environment.get(), 0, {}, {}}};
  }

  int add(GuidedStep step, int depth, double gained) {
    const auto place = static_cast<int>(nodes_.size());
    by_hash_[step.environment->state().hash()].push_back(place);
    if (place > 0) held_.push_back(place);
    Node& node = nodes_.emplace_back();
    node.depth = depth;
    node.gained = node.value = gained;
    node.done = step.over;
    node.pending = !step.over;
    node.environment = std::move(step.environment);
    return place;
  }

  std::vector<Leaf> gather(int64_t most) {
    std::vector<Leaf> leaves;
    while (std::ssize(leaves) < most && !nodes_[0].done && !run_.out_of_time()) {
      leaves.push_back(select());
      const bool waits = nodes_[at(leaves.back())].pending && !leaves.back().fresh;
      if (waits) break;  // another leaf of the batch has to be looked at first
    }
    return leaves;
  }

  static size_t at(const Leaf& leaf) { return static_cast<size_t>(leaf.trail.back()); }

  Leaf select() {
    Leaf leaf{{0}, {}};
    nodes_[0].used = ++selections_;
    while (!nodes_[at(leaf)].pending && descend(leaf)) nodes_[at(leaf)].used = selections_;
    return leaf;
  }

  /// A step down the tree; false when there is none to take.
  bool descend(Leaf& leaf) {
    Node& node = nodes_[at(leaf)];
    while (!run_.out_of_time()) {
      Edge* edge = choose(node);
      if (edge == nullptr) return false;
      if (edge->child < 0) edge->child = reach(leaf, node, edge->action);
      edge->closed = edge->child < 0 || std::ranges::count(leaf.trail, edge->child) > 0;
      if (edge->closed) continue;
      ++edge->visits;
      leaf.trail.push_back(edge->child);
      return true;
    }
    return false;
  }

  /// The best open edge by PUCT; null where there is none, and then the node is done.
  Edge* choose(Node& node) const {
    int64_t visits = 0;
    for (Edge& edge : node.edges) {
      visits += edge.visits;
      edge.closed |= edge.child >= 0 && nodes_[static_cast<size_t>(edge.child)].done;
    }
    Edge* best = nullptr;
    double highest = -std::numeric_limits<double>::infinity();
    for (Edge& edge : node.edges) {
      if (edge.closed) continue;
      const double found = score(node, edge, std::sqrt(static_cast<double>(visits)));
      if (found <= highest) continue;
      highest = found;
      best = &edge;
    }
    node.done = best == nullptr;
    return best;
  }

  double score(const Node& node, const Edge& edge, double root_of_visits) const {
    const Node* child = edge.child < 0 ? nullptr : &nodes_[static_cast<size_t>(edge.child)];
    const double mean = child != nullptr && child->visits > 0 ? child->mean() : node.mean();
    return normalised(mean) + how_.exploration * edge.prior * root_of_visits /
                                  (1 + static_cast<double>(edge.visits));
  }

  double normalised(double mean) const {
    return highest_ > lowest_ ? (mean - lowest_) / (highest_ - lowest_) : 0.5;
  }

  /// The node that an action leads to, a new one where the state is not known; -1 where it must not
  /// be taken.
  int reach(Leaf& leaf, const Node& from, const Action& action) {
    GuidedStep step = take_step(run_, *from.environment, action);
    if (step.environment == nullptr) return -1;
    if (const int known = find(step.environment->state()); known >= 0) {
      run_.count_duplicate();
      return known;
    }
    const double gained = from.gained + step.reward;
    const int place = add(std::move(step), from.depth + 1, gained);
    const Node& node = nodes_[static_cast<size_t>(place)];
    if (node.pending) leaf.fresh = Arrival{node.environment.get(), node.depth, from.seen, action};
    return place;
  }

  int find(const RewriteState& state) const {
    const auto same_hash = by_hash_.find(state.hash());
    if (same_hash == by_hash_.end()) return -1;
    for (const int place : same_hash->second) {
      const auto& known = nodes_[static_cast<size_t>(place)].environment;
      if (known == nullptr || isomorphic(known->state().graph(), state.graph())) return place;
    }
    return -1;
  }

  /// Asks about the new leaves in one batch; gives their number.
  int64_t look(const std::vector<Leaf>& leaves) {
    std::vector<Arrival> arrivals;
    std::vector<size_t> places;
    for (const Leaf& leaf : leaves)
      if (leaf.fresh) {
        arrivals.push_back(*leaf.fresh);
        places.push_back(at(leaf));
      }
    if (arrivals.empty()) return 0;
    std::vector<Guidance> guidance = guide_.look(arrivals, run_.pool());
    for (size_t i = 0; i < places.size(); ++i) open(nodes_[places[i]], std::move(guidance[i]));
    return std::ssize(arrivals);
  }

  void open(Node& node, Guidance guidance) {
    for (const auto& [action, log_prior] : guidance.actions)
      node.edges.push_back({.action = action, .prior = std::exp(log_prior)});
    node.seen = std::move(guidance.seen);
    node.value = node.gained + guidance.value;
    node.pending = false;
    run_.count_candidates(std::ssize(node.edges));
    run_.count_expansion();
  }

  void back_up(const Leaf& leaf) {
    const double value = nodes_[at(leaf)].value;
    for (const int place : leaf.trail) {
      Node& node = nodes_[static_cast<size_t>(place)];
      ++node.visits;
      node.total += value;
      lowest_ = std::min(lowest_, node.mean());
      highest_ = std::max(highest_, node.mean());
    }
  }

  void forget_beyond_limit() {
    while (std::ssize(held_) >= how_.states && !held_.empty()) {
      const auto oldest = std::ranges::min_element(
          held_, {}, [&](int place) { return nodes_[static_cast<size_t>(place)].used; });
      forget(nodes_[static_cast<size_t>(*oldest)]);
      held_.erase(oldest);
    }
  }

  void forget(Node& node) {
    for (Edge& edge : node.edges) {
      if (edge.child >= 0 || edge.closed) continue;
      edge.closed = true;
      run_.count_forgotten(1);
    }
    node.environment = nullptr;
    node.seen = {};
  }

  SearchRun& run_;
  const PolicyGuide& guide_;
  const GuidedSearchOptions& how_;
  std::deque<Node> nodes_;
  std::vector<int> held_;  // nodes with their states, the root left out
  std::unordered_map<uint64_t, std::vector<int>> by_hash_;
  int64_t selections_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
  double highest_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

void policy_mcts(SearchRun& run, const PolicyGuide& guide, const RewriteEnvironment& start,
                 const GuidedSearchOptions& how) {
  if (run.options().greedy_first) begin_greedily(run);
  PolicyTree(run, guide, how).search(start);
  if (!run.out_of_time()) finish_greedily(run);
}

}  // namespace reverie
