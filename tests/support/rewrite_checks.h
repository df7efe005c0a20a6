#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/random.h"
#include "core/ir/structural_hash.h"
#include "core/rules/rewrite_state.h"

namespace reverie {

/// Both states list their locations alike and sort them into the same classes.
inline void expect_equal_classes(const RewriteState& a, const RewriteState& b, int rule) {
  const auto& classes = a.classes(rule);
  const auto& others = b.classes(rule);
  ASSERT_EQ(classes.size(), others.size()) << a.rules().name(rule);
  size_t members = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(classes[i].members, others[i].members) << a.rules().name(rule);
    members += classes[i].members.size();
  }
  EXPECT_EQ(members, a.locations(rule).size()) << a.rules().name(rule);
}

/// The ranking holds all locations, by what they change in run time.
inline void expect_ranked(const RewriteState& state) {
  std::vector<RankedLocation> expected;
  for (int rule = 0; rule < state.rules().size(); ++rule) {
    const auto& locations = state.locations(rule);
    for (size_t i = 0; i < locations.size(); ++i)
      expected.push_back({rule, static_cast<int>(i), state.cost_delta(locations[i]).runtime});
  }
  std::ranges::stable_sort(expected, {},
                           [](const RankedLocation& one) { return one.change.count; });
  const auto next = state.ranking();
  for (const RankedLocation& one : expected) {
    const auto found = next();
    ASSERT_TRUE(found.has_value());
    ASSERT_EQ(found->rule, one.rule);
    ASSERT_EQ(found->index, one.index) << state.rules().name(one.rule);
    ASSERT_EQ(found->change, one.change);
  }
  EXPECT_FALSE(next().has_value());
}

/// What is kept while it does not change is what is there now.
inline void expect_kept(const RewriteState& state) {
  EXPECT_EQ(*state.topological_order(), state.graph().topological_order());
  for (int rule = 0; rule < state.rules().size(); ++rule)
    for (const size_t most : {size_t{4}, state.locations(rule).size() + 1}) {
      const auto& all = state.locations(rule);
      const auto first = state.first_locations(rule, static_cast<int>(most));
      ASSERT_EQ(first->size(), std::min(most, all.size()));
      for (size_t i = 0; i < first->size(); ++i)
        EXPECT_EQ((*first)[i].binding, all[i].binding) << state.rules().name(rule);
    }
}

/// Everything that is kept by difference equals what is computed from scratch.
inline void expect_consistent(const RewriteState& state, std::shared_ptr<const RuleSet> rules,
                              std::shared_ptr<CostModel> cost) {
  state.graph().validate();
  EXPECT_EQ(state.cost(), graph_cost(*cost, state.graph()));
  EXPECT_EQ(state.hash(), StructuralHash(state.graph()).value());
  expect_ranked(state);
  expect_kept(state);
  const RewriteState fresh(state.graph(), rules, cost);
  for (int rule = 0; rule < rules->size(); ++rule) {
    const auto& kept = state.locations(rule);
    const auto& found = fresh.locations(rule);
    ASSERT_EQ(kept.size(), found.size()) << rules->name(rule);
    EXPECT_EQ(state.location_count(rule), static_cast<int>(kept.size()));
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(kept[i].binding->nodes, found[i].binding->nodes) << rules->name(rule);
      EXPECT_EQ(state.location(rule, static_cast<int>(i)).binding, kept[i].binding);
      EXPECT_EQ(state.find(kept[i]), static_cast<int>(i)) << rules->name(rule);
      EXPECT_EQ(kept[i].binding->values, found[i].binding->values) << rules->name(rule);
      EXPECT_EQ(state.cost_delta(kept[i]), fresh.propose(found[i]).cost_delta) << rules->name(rule);
    }
    expect_equal_classes(state, fresh, rule);
  }
}

/// The order of locations does not depend on ids.
inline void expect_canonical(const RewriteState& state, std::shared_ptr<const RuleSet> rules,
                             std::shared_ptr<CostModel> cost) {
  const RewriteState renumbered(state.graph().compacted(), rules, cost);
  EXPECT_EQ(state.hash(), renumbered.hash());
  const auto positions = [](const RewriteState& s, const Match& match) {
    std::map<NodeId, int> at;
    for (const NodeId node : s.graph().topological_order())
      at.emplace(node, static_cast<int>(at.size()));
    std::vector<int> result;
    for (const NodeId node : match.nodes()) result.push_back(at[node]);
    return result;
  };
  for (int rule = 0; rule < rules->size(); ++rule) {
    const auto& here = state.locations(rule);
    const auto& there = renumbered.locations(rule);
    ASSERT_EQ(here.size(), there.size()) << rules->name(rule);
    for (size_t i = 0; i < here.size(); ++i)
      EXPECT_EQ(positions(state, here[i]), positions(renumbered, there[i])) << rules->name(rule);
    expect_equal_classes(state, renumbered, rule);
  }
}

/// A match drawn uniformly over the rules that apply; slot -1 when none does.
inline Match random_match(const RewriteState& state, Rng& rng) {
  std::vector<int> rules;
  for (int rule = 0; rule < state.rules().size(); ++rule)
    if (state.location_count(rule) > 0) rules.push_back(rule);
  if (rules.empty()) return {};
  const auto& matches = state.locations(rules[rng.below(rules.size())]);
  return matches[rng.below(matches.size())];
}

}  // namespace reverie
