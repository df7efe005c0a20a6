#include "env/placement/simulator/grouping.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

/// Groups of nodes that are joined step by step.
class Groups {
 public:
  explicit Groups(const CostGraph& graph) : graph_(graph) {
    const PlacementEntities entities(graph);
    count_ = entities.size();
    work_.resize(static_cast<size_t>(count_));
    consumers_.resize(work_.size());
    barred_.resize(work_.size());
    for (int node = 0; node < graph.size(); ++node) {
      of_node_.push_back(entities.of(node));
      for (int kind = 0; kind < std::ssize(graph.kinds()); ++kind)
        add_kind(static_cast<size_t>(of_node_.back()), node, kind);
    }
    for (const CostTensor& tensor : graph.tensors())
      for (const int reader : tensor.readers) consumers(tensor.producer).insert(reader);
    parent_.resize(work_.size());
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  int count() const { return count_; }

  /// Joins pairs of a group and a consumer, the least work first, but no group twice. `single`:
  /// only groups that have one consumer. False: there was none.
  bool join_consumers(int most, bool single) {
    std::vector<std::tuple<double, int, int>> pairs;  // work, and the two
    for (int group = 0; group < std::ssize(parent_); ++group) {
      if (parent_[static_cast<size_t>(group)] != group) continue;
      const std::set<int> next = next_of(group);
      if (single && next.size() != 1) continue;
      for (const int consumer : next)
        if (may_join(group, consumer))
          pairs.emplace_back(
              work_[static_cast<size_t>(group)] + work_[static_cast<size_t>(consumer)], group,
              consumer);
    }
    std::ranges::sort(pairs);
    std::vector<bool> is_taken(parent_.size());
    for (const auto& [work, group, consumer] : pairs) {
      if (count_ <= most) break;
      if (is_taken[static_cast<size_t>(group)] || is_taken[static_cast<size_t>(consumer)]) continue;
      is_taken[static_cast<size_t>(group)] = is_taken[static_cast<size_t>(consumer)] = true;
      join(group, consumer);
    }
    return !pairs.empty();
  }

  void join_by_order(int most) {
    std::vector<int> order;  // by first nodes
    std::vector<bool> is_known(parent_.size());
    for (const int node : graph_.order()) {
      if (is_known[static_cast<size_t>(root(node))]) continue;
      is_known[static_cast<size_t>(root(node))] = true;
      order.push_back(root(node));
    }
    const double all = std::accumulate(work_.begin(), work_.end(), 0.0);
    double before = 0;
    std::map<std::pair<int, std::set<int>>, int> first;  // of each part, by what it cannot run on
    for (const int group : order) {
      const double share = all > 0 ? (before + work_[static_cast<size_t>(group)] / 2) / all : 0;
      before += work_[static_cast<size_t>(group)];
      const int part = std::min(static_cast<int>(share * most), most - 1);
      parent_[static_cast<size_t>(group)] =
          first.try_emplace({part, barred_[static_cast<size_t>(group)]}, group).first->second;
    }
  }

  CostGraph apply() const {
    std::vector<int> groups;
    for (int node = 0; node < graph_.size(); ++node) groups.push_back(root(node));
    return graph_.with_groups(groups);
  }

 private:
  void add_kind(size_t group, int node, int kind) {
    if (!graph_.can_run(node, kind))
      barred_[group].insert(kind);
    else
      work_[group] += static_cast<double>(graph_.cost(node, kind).count);
  }
  /// Whether one of them runs wherever both do, so that no devices are too few for them together.
  bool may_join(int one, int other) const {
    const std::set<int>&a = barred_[static_cast<size_t>(one)],
          &b = barred_[static_cast<size_t>(other)];
    return std::ranges::includes(a, b) || std::ranges::includes(b, a);
  }
  int find(int group) const {
    while (parent_[static_cast<size_t>(group)] != group)
      group = parent_[static_cast<size_t>(group)];
    return group;
  }
  int root(int node) const { return find(of_node_[static_cast<size_t>(node)]); }
  std::set<int>& consumers(int node) {
    return consumers_[static_cast<size_t>(of_node_[static_cast<size_t>(node)])];
  }
  std::set<int> next_of(int group) const {
    std::set<int> next;
    for (const int reader : consumers_[static_cast<size_t>(group)]) next.insert(root(reader));
    next.erase(group);
    return next;
  }
  void join(int group, int consumer) {
    parent_[static_cast<size_t>(group)] = consumer;
    work_[static_cast<size_t>(consumer)] += work_[static_cast<size_t>(group)];
    consumers_[static_cast<size_t>(consumer)].merge(consumers_[static_cast<size_t>(group)]);
    barred_[static_cast<size_t>(consumer)].merge(barred_[static_cast<size_t>(group)]);
    --count_;
  }

  const CostGraph& graph_;
  int count_ = 0;
  std::vector<int> of_node_, parent_;     ///< groups; a root is its own parent
  std::vector<double> work_;              ///< by root, over all kinds of devices
  std::vector<std::set<int>> consumers_;  ///< nodes, by root
  std::vector<std::set<int>> barred_;     ///< kinds that cannot run it, by root
};

}  // namespace

CostGraph grouped(const CostGraph& graph, int most) {
  REVERIE_CHECK(most > 0);
  Groups groups(graph);
  for (const bool single : {true, false})
    while (groups.count() > most && groups.join_consumers(most, single)) {
    }
  if (groups.count() > most) groups.join_by_order(most);
  return groups.apply();
}

CostGraph grouped_by(const CostGraph& by, const CostGraph& graph, int most) {
  const CostGraph like = grouped(by, most);
  std::vector<int> groups;
  for (const CostNode& node : like.nodes()) groups.push_back(node.group);
  return graph.with_groups(groups);
}

}  // namespace reverie
