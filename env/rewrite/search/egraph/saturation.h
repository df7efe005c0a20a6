#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/rules/instance.h"
#include "core/rules/matcher.h"
#include "env/rewrite/search/egraph/egraph.h"
#include "env/rewrite/search/egraph/new_matches.h"
#include "env/rewrite/search/egraph/saturation_options.h"

namespace reverie {

/// Applies rules to an e-graph until nothing new comes (equality saturation: Tate et al., POPL
/// 2009; for tensor graphs Yang et al., "TENSAT", MLSys 2021). Conditions on uses are left aside:
/// they say whether a rewrite can pay, not whether it is true, and a node of an e-graph has users
/// in graphs that nobody will choose.
///
/// A pattern with several roots is matched by joining the matches of its parts on what they share.
/// Of each rule so many matches are applied in an iteration, and the rest waits.
class Saturation {
 public:
  Saturation(EGraph& egraph, const RuleSet& rules, CostModel& cost_model,
             const SaturationOptions& options, std::function<bool()> out_of_time);

  /// Finds what has become possible since the last iteration, applies it, cheapest results first,
  /// until the limit of nodes is reached, and makes equal nodes one. False when that was nothing
  /// and nothing waits.
  bool iterate();

  int iterations() const { return iterations_; }
  /// Matches applied.
  int64_t applied() const { return applied_; }
  /// Nothing is left to apply, patterns with several roots in late iterations apart.
  bool saturated() const { return saturated_; }
  /// Nothing can be applied any more.
  bool full() const { return egraph_.node_count() >= options_.node_limit; }

 private:
  struct Found {
    int rule = -1;
    int64_t gain = 0;  ///< cost of the nodes matched less that of those that come
    Binding binding;
    std::shared_ptr<const Instance> instance;
  };

  void match();
  bool apply_best();
  bool takes_part(int rule) const;
  void consider(int rule, const Embedding& embedding);
  const std::vector<ValueId>& parts_of(NodeId node);
  bool overlaps(int rule, const Embedding& embedding);
  bool seen(int rule, const Binding& binding);
  uint64_t key_of(int rule, const Embedding& embedding);
  int64_t gain(const Found& found) const;
  bool apply(const Found& found);
  bool is_loop(const Found& found) const;

  EGraph& egraph_;
  CostModel& cost_model_;
  const SaturationOptions& options_;
  std::function<bool()> out_of_time_;
  const int64_t most_applied_;  // matches of one rule in one iteration
  MatchProgram program_;
  NewMatches matches_;
  std::vector<std::vector<int>> roots_;                     // by rule
  std::unordered_map<NodeId, std::vector<ValueId>> parts_;  // during an iteration
  InstanceCache cache_;
  std::vector<uint64_t> node_signatures_;  // 0: not known
  std::vector<uint64_t> value_signatures_;
  std::unordered_set<uint64_t> seen_;
  std::vector<Found> found_;  // and not applied yet
  int iterations_ = 0;
  int64_t applied_ = 0;
  bool saturated_ = false;
};

}  // namespace reverie
