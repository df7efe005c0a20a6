#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/ir/structural_hash.h"
#include "core/rules/change.h"
#include "core/rules/instance.h"
#include "core/rules/location_list.h"
#include "core/rules/match_store.h"
#include "core/rules/matcher.h"
#include "core/rules/neighbourhood.h"
#include "core/rules/node_marks.h"
#include "core/rules/node_order.h"
#include "core/rules/rewrite_state.h"

namespace reverie {

/// What a RewriteState holds: rewrite_matching.cpp finds matches, rewrite_listing.cpp puts them in
/// order and into classes, rewrite_ranking.cpp ranks them by what they change, rewrite_state.cpp
/// takes steps.
struct RewriteState::Impl {
  Impl(Graph g, std::shared_ptr<const RuleSet> r, std::shared_ptr<CostModel> c);
  /// `other` is locked, and caught up.
  Impl(const Impl& other);

  // --- Matching ---------------------------------------------------------------------------------
  void describe(NodeId node);
  void describe_values(NodeId node);
  void match_all();
  std::vector<StoredMatch> matches_at(const NodeMarks& marks) const;
  void match_at(NodeId node, const NodeMarks& marks, Matcher& matcher,
                std::vector<StoredMatch>& found) const;
  void consider(int rule, const Embedding& embedding, std::vector<StoredMatch>& found) const;
  uint64_t key_of(int rule, const Embedding& embedding) const;
  NodeMarks marks_of(const Change::Applied& applied) const;
  Mark watched(const StoredMatch& match) const;
  std::vector<int32_t> stale_matches(const NodeMarks& marks);
  std::vector<int32_t> moved_matches(const NodeOrder::Moved& moved,
                                     const NodeOrder& order_before) const;

  // --- Locations --------------------------------------------------------------------------------
  void list(int32_t slot, const MatchOrder& before);
  void unlist(int32_t slot, const MatchOrder& before);
  void list_anew();
  class Ranking;
  void rank();
  void watch_values_of_twins(int32_t slot);
  LocationList::Entry entry_of(int32_t slot);
  void forget_cost(int32_t slot);
  /// What was made of a rule's list when it was asked for; shared by copies.
  struct Listing {
    std::shared_ptr<const std::vector<Match>> locations;
    std::shared_ptr<const std::vector<Match>> first;  // so many as were asked for
    std::shared_ptr<const std::vector<LocationClass>> classes;
  };
  Listing& listing(int rule) { return listings.edit(static_cast<size_t>(rule)); }
  const Listing& known(int rule) const { return listings[static_cast<size_t>(rule)]; }
  void forget_listings(const std::vector<int>& dirty);
  Match as_match(int32_t slot) const;
  bool some_risky(int rule) const { return matches.risky(rule) > 0; }
  const std::vector<Match>& locations_of(int rule);
  int location_count(int rule);
  std::shared_ptr<const std::vector<Match>> first_locations(int rule, int most);
  std::optional<int> find(const Match& match);
  const std::vector<LocationClass>& classes_of(int rule);
  void update_neighbourhoods();
  uint64_t class_of(const Match& match);

  // --- Steps ------------------------------------------------------------------------------------
  const StructuralHash& up_to_date_hash();
  const StoredMatch& stored(const Match& match) const;
  std::shared_ptr<const Instance> instance_of(const Match& match);
  Cost cost_of(const Change& change, const Instance& instance) const;
  Cost cost_delta(int32_t slot);
  void watch_beyond(int32_t slot, const Change& change);
  Change::Applied apply(const Rewrite& rewrite);
  NodesChanged commit(const Rewrite& rewrite);
  /// Brings matches, their lists and the order up to date with the graph. Where a cost cannot be
  /// had, throws what the cost model throws, changes nothing, and tries again when asked again.
  void catch_up();
  void relist(const Change::Applied& applied, const NodeMarks& marks,
              std::vector<StoredMatch> fresh);
  void note_in_sequence(const NodeOrder::Moved& moved, const std::vector<NodeId>& removed);
  std::shared_ptr<const std::vector<NodeId>> topological_order();
  /// Locks, and catches up.
  std::unique_lock<std::mutex> lock_matched();

  Graph graph;
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<CostModel> cost_model;
  std::shared_ptr<const MatchProgram> program;
  std::shared_ptr<InstanceCache> cache;
  Cost cost;
  SharedVector<Cost> node_costs;               // by node
  SharedVector<uint64_t, 5> node_signatures;   // by node
  SharedVector<uint64_t, 5> value_signatures;  // by value
  OperatorIndex operators;                     // those that rules seek anywhere

  // Computed when asked for, under `mutex`.
  mutable std::mutex mutex;
  NodeOrder order;
  std::shared_ptr<const std::vector<NodeId>> sequence;  // the order when it was last asked for
  std::vector<NodeId> sequence_moved;                   // what may have come, gone or moved since
  MatchStore matches;
  SharedVector<LocationList, 0> lists;  // by rule
  /// Whether the lists hold what matches change; from when that was first asked for.
  bool ranked = false;
  std::vector<int32_t> cost_forgotten;  // slots, while they are brought up to date
  SharedVector<Listing, 1> listings;    // by rule
  /// What the last commit did, until the matches are brought up to date.
  std::optional<Change::Applied> unmatched;
  int64_t looked_at = 0;  // when that was last done
  std::optional<StructuralHash> hash;
  std::vector<NodeId> hash_changed;
  std::vector<NodeId> hash_removed;
  std::optional<Neighbourhoods> neighbourhoods;
  std::vector<NodeId> neighbourhoods_changed;
};

}  // namespace reverie
