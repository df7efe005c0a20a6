#include <algorithm>

#include "core/base/hash.h"
#include "core/base/sort_unique.h"
#include "core/rules/change.h"

namespace reverie {

/// StructuralHash of the successor: levels of new nodes and of what lies downstream of the change
/// are computed beside the graph's, the rest is taken from it.
class ChangeHash {
 public:
  ChangeHash(const Change& change, const StructuralHash& base)
      : change_(change), graph_(change.graph_), base_(base), fresh_(change.comes_.size()) {}

  uint64_t run() {
    collect_downstream();
    for (size_t i = 0; i < fresh_.size(); ++i)
      fresh_[i].level[0] = change_.instance_.nodes[i].local_hash;
    for (int level = 1; level <= StructuralHash::kRadius; ++level) {
      for (size_t i = 0; i < fresh_.size(); ++i)
        if (change_.comes(i)) compute_fresh(i, level);
      for (Downstream& old : downstream_) compute_old(old, level);
    }
    const std::vector<uint64_t> outputs = output_hashes();
    return StructuralHash::combine(sum(), graph_, outputs, output_indices_);
  }

 private:
  using Ref = Change::Ref;
  struct Levels {
    uint64_t level[StructuralHash::kRadius + 1] = {};
  };
  struct Downstream {
    NodeId node;
    Levels levels;
  };

  void collect_downstream() {
    std::vector<NodeId> nodes;
    const auto add_users = [&](ValueId value) {
      for (const NodeId user : graph_.users(value))
        if (!change_.is_removed(user)) nodes.push_back(user);
    };
    const auto tidy = [&] { sort_unique(nodes); };
    for (const auto& move : change_.moved_) add_users(move.first);
    tidy();
    for (int step = 1; step < StructuralHash::kRadius; ++step) {
      for (size_t i = 0, n = nodes.size(); i < n; ++i)
        for (const ValueId output : graph_.outputs(nodes[i])) add_users(output);
      tidy();
    }
    for (const NodeId node : nodes) {
      downstream_.push_back({node, {}});
      downstream_.back().levels.level[0] = base_.level(node, 0);
    }
  }

  const Downstream* downstream(NodeId node) const {
    const auto at =
        std::lower_bound(downstream_.begin(), downstream_.end(), node,
                         [](const Downstream& old, NodeId wanted) { return old.node < wanted; });
    return at != downstream_.end() && at->node == node ? &*at : nullptr;
  }

  uint64_t level_of(Ref ref, int level) const {
    if (ref.fresh)
      return fresh_[static_cast<size_t>(change_.owner_[static_cast<size_t>(ref.index)])]
          .level[level];
    const NodeId node = graph_.producer({ref.index});
    const Downstream* old = downstream(node);
    return old != nullptr ? old->levels.level[level] : base_.level(node, level);
  }

  int output_index(Ref ref) const {
    if (!ref.fresh) return graph_.output_index({ref.index});
    const int32_t owner = change_.owner_[static_cast<size_t>(ref.index)];
    return ref.index - change_.first_output_[static_cast<size_t>(owner)];
  }

  uint64_t input_hash(Ref ref, int level) const {
    return hash_combine(level_of(ref, level - 1), static_cast<uint64_t>(output_index(ref)));
  }

  void compute_fresh(size_t i, int level) {
    const NewNode& node = change_.instance_.nodes[i];
    uint64_t hash = node.local_hash;
    for (const Operand& input : node.inputs)
      hash = hash_combine(
          hash, input.absent() ? 0 : input_hash(change_.follow(change_.ref(input)), level));
    fresh_[i].level[level] = hash;
  }

  void compute_old(Downstream& old, int level) {
    uint64_t hash = old.levels.level[0];
    for (const ValueId input : graph_.inputs(old.node))
      hash = hash_combine(hash, input.valid() ? input_hash(change_.resolve(input), level) : 0);
    old.levels.level[level] = hash;
  }

  uint64_t sum() const {
    constexpr int kTop = StructuralHash::kRadius;
    uint64_t sum = base_.sum();
    for (const NodeId node : change_.removed_) sum -= mix64(base_.level(node, kTop));
    for (const Downstream& old : downstream_)
      sum += mix64(old.levels.level[kTop]) - mix64(base_.level(old.node, kTop));
    for (size_t i = 0; i < fresh_.size(); ++i)
      if (change_.comes(i)) sum += mix64(fresh_[i].level[kTop]);
    return sum;
  }

  std::vector<uint64_t> output_hashes() {
    std::vector<uint64_t> hashes;
    for (const GraphOutput& output : graph_.outputs()) {
      const Ref ref = change_.resolve(output.value);
      hashes.push_back(level_of(ref, StructuralHash::kRadius));
      output_indices_.push_back(output_index(ref));
    }
    return hashes;
  }

  const Change& change_;
  const Graph& graph_;
  const StructuralHash& base_;
  std::vector<Levels> fresh_;
  std::vector<Downstream> downstream_;  // by node
  std::vector<int> output_indices_;
};

uint64_t Change::hash_after(const StructuralHash& hash) const {
  return ChangeHash(*this, hash).run();
}

}  // namespace reverie
