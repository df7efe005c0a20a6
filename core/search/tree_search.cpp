#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/search/algorithms.h"

namespace reverie::search {
namespace {

struct Edge {
  Move move;
  double change = 0;
  int child = -1;
  int64_t visits = 0;
  bool closed = false;  ///< leads back to where the trail has been, to a done node, or is refused
};

/// A state of the tree. What it takes to go on is not kept: a selection steps through the states
/// anew.
struct Node {
  std::shared_ptr<const Snapshot> state;
  bool listed = false;
  bool done = false;        ///< no edge is open: whatever it leads to is in the tree
  std::vector<Edge> edges;  ///< by what they change, the largest gain first
  int64_t visits = 0;
  double total = 0;  ///< of the gains of all visits
  double value = 0;  ///< gain of the rollout from here
};

/// Where a selection ended.
struct Leaf {
  std::vector<int> trail;  ///< nodes from the root on
  Reached at;
  bool fresh = false;  ///< a rollout is due
};

class TreeSearch {
 public:
  TreeSearch(SearchRun& run, const Mcts& options)
      : run_(run), options_(options), seeds_(run.options().seed) {}

  void search() {
    int64_t left = run_.options().budget;
    if (left > 0) {
      evaluate_root();
      --left;
    }
    while (left > 0 && !nodes_[0].done && !run_.out_of_time()) {
      std::vector<Leaf> leaves;
      for (int64_t i = 0; i < std::min(left, options_.batch) && !run_.out_of_time(); ++i)
        leaves.push_back(select());
      left -= static_cast<int64_t>(leaves.size());
      roll_out(leaves);
      for (const Leaf& leaf : leaves) back_up(leaf);
    }
    if (!run_.out_of_time() && (nodes_.empty() || !nodes_[0].done)) run_.out_of_budget();
  }

 private:
  /// By greedy search.
  void evaluate_root() {
    std::vector<Leaf> leaves;
    leaves.push_back({{0}, run_.reached_start(), true});
    node_of(leaves[0].at);
    ++nodes_[0].visits;
    Walk greedy(run_);
    descend(greedy, run_);
    note(leaves[0], run_.initial_cost() - greedy.least_cost());
    back_up(leaves[0]);
  }

  /// The node of a state; a new one at the end when there is none. Hits are confirmed.
  int node_of(const Reached& at) {
    std::vector<int>& same_hash = by_hash_[at.state->hash()];
    for (const int node : same_hash)
      if (at.state->is(*nodes_[static_cast<size_t>(node)].state)) return node;
    same_hash.push_back(static_cast<int>(nodes_.size()));
    nodes_.emplace_back();
    nodes_.back().state = at.state->snapshot();
    nodes_.back().done = at.state->over();
    return same_hash.back();
  }

  void list(Node& node, const Problem& state) {
    if (node.listed) return;
    run_.count_expansion();
    for_each_candidate(state, run_, [&](const Move& move) {
      run_.count_candidate();
      node.edges.push_back({.move = move, .change = state.change(move)});
    });
    std::stable_sort(node.edges.begin(), node.edges.end(),
                     [](const Edge& a, const Edge& b) { return a.change < b.change; });
    node.listed = true;
  }

  /// Gains of all rollouts span 0 to 1.
  double normalised(double gain) const {
    return highest_ > lowest_ ? (gain - lowest_) / (highest_ - lowest_) : 0.5;
  }

  double score(const Node& node, const Edge& edge) const {
    const Node& child = nodes_[static_cast<size_t>(edge.child)];
    const auto visits = static_cast<double>(std::max<int64_t>(edge.visits, 1));
    const double mean = child.total / static_cast<double>(std::max<int64_t>(child.visits, 1));
    return normalised(mean) +
           options_.exploration *
               std::sqrt(std::log(static_cast<double>(std::max<int64_t>(node.visits, 2))) / visits);
  }

  /// An edge not tried yet while there are fewer than the visits allow, otherwise the best by UCT;
  /// edges.size() when all are closed, and then the node is done.
  size_t choose(Node& node) const {
    const auto allowed = static_cast<int64_t>(
        std::ceil(options_.widening * std::sqrt(static_cast<double>(node.visits))));
    int64_t open = 0;
    size_t best = node.edges.size();
    double best_score = -1e300;
    for (size_t i = 0; i < node.edges.size(); ++i) {
      Edge& edge = node.edges[i];
      edge.closed |= edge.child >= 0 && nodes_[static_cast<size_t>(edge.child)].done;
      if (edge.closed) continue;
      if (edge.child < 0) return open < allowed || best == node.edges.size() ? i : best;
      ++open;
      if (const double found = score(node, edge); found > best_score) {
        best_score = found;
        best = i;
      }
    }
    node.done = best == node.edges.size();
    return best;
  }

  Leaf select() {
    Leaf leaf{{0}, run_.reached_start(), false};
    ++nodes_[0].visits;
    while (!leaf.at.state->over() && !run_.out_of_time()) {
      const int from = leaf.trail.back();
      list(nodes_[static_cast<size_t>(from)], *leaf.at.state);
      const size_t place = choose(nodes_[static_cast<size_t>(from)]);
      if (place == nodes_[static_cast<size_t>(from)].edges.size()) break;
      if (!follow(leaf, from, place) || leaf.fresh) break;
    }
    return leaf;
  }

  Edge& edge_at(int node, size_t place) { return nodes_[static_cast<size_t>(node)].edges[place]; }

  /// Whether the edge could be taken.
  bool follow(Leaf& leaf, int from, size_t place) {
    Reached next = successor(leaf.at, edge_at(from, place).move);
    if (next.state == nullptr) {
      edge_at(from, place).closed = true;
      return false;
    }
    run_.count_step();
    const auto known = static_cast<int>(nodes_.size());
    const int child = node_of(next);
    if (std::find(leaf.trail.begin(), leaf.trail.end(), child) != leaf.trail.end()) {
      edge_at(from, place).closed = true;
      return false;
    }
    Edge& edge = edge_at(from, place);
    if (edge.child < 0 && child < known) run_.count_duplicate();
    edge.child = child;
    ++edge.visits;
    ++nodes_[static_cast<size_t>(child)].visits;
    leaf.trail.push_back(child);
    leaf.at = std::move(next);
    leaf.fresh = child == known;
    return true;
  }

  void roll_out(std::vector<Leaf>& leaves) {
    std::vector<double> gains(leaves.size(), 0.0);
    const Rng seeds = seeds_.fork(static_cast<uint64_t>(rounds_++));
    run_walks(run_, static_cast<int64_t>(leaves.size()), [&](SearchRun& part, int64_t i) {
      const auto place = static_cast<size_t>(i);
      if (leaves[place].fresh)
        gains[place] =
            roll_out(part, std::move(leaves[place].at), seeds.fork(static_cast<uint64_t>(i)));
    });
    for (size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].fresh) note(leaves[i], gains[i]);
  }

  void note(const Leaf& leaf, double gain) {
    nodes_[static_cast<size_t>(leaf.trail.back())].value = gain;
    lowest_ = std::min(lowest_, gain);
    highest_ = std::max(highest_, gain);
  }

  double roll_out(SearchRun& part, Reached from, Rng rng) const {
    Walk walk(part, std::move(from));
    for (int64_t i = 0; i < options_.random_steps && !part.out_of_time(); ++i)
      if (const auto move = draw_move(walk.state(), rng)) walk.take(*move);
    descend(walk, part);
    return part.initial_cost() - walk.least_cost();
  }

  void back_up(const Leaf& leaf) {
    const double gain = nodes_[static_cast<size_t>(leaf.trail.back())].value;
    for (const int node : leaf.trail) nodes_[static_cast<size_t>(node)].total += gain;
  }

  SearchRun& run_;
  const Mcts& options_;
  Rng seeds_;
  int64_t rounds_ = 0;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, std::vector<int>> by_hash_;
  double lowest_ = std::numeric_limits<double>::infinity();
  double highest_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

void Mcts::operator()(SearchRun& run) const { TreeSearch(run, *this).search(); }

}  // namespace reverie::search
