#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "core/search/search_run.h"

namespace reverie::testing {

/// Two objects that came to the same state.
inline void check_same_state(const Problem& one, const Problem& other) {
  EXPECT_EQ(one.cost(), other.cost());
  EXPECT_EQ(one.hash(), other.hash());
  EXPECT_TRUE(one.is(*other.snapshot()));
  EXPECT_EQ(one.over(), other.over());
  EXPECT_EQ(one.feasible(), other.feasible());
  EXPECT_TRUE(one.feasible() || one.may_be_infeasible());
  for (int kind = 0; kind < one.kinds(); ++kind) EXPECT_EQ(one.moves(kind), other.moves(kind));
}

/// A move does what was said of it, to the copy alone and each time the same.
inline void check_move(const Problem& state, const Move& move) {
  const auto before = state.snapshot();
  const auto next = state.copy(), again = state.copy();
  const double change = state.change(move);
  ASSERT_EQ(next->apply(move), state.allows(move));
  EXPECT_TRUE(state.is(*before));
  if (!state.allows(move)) return check_same_state(state, *next);
  EXPECT_NEAR(next->cost() - state.cost(), change, 1e-9 * std::abs(state.cost()));
  EXPECT_GE(next->cost(), state.lower_bound());
  ASSERT_TRUE(again->apply(move));
  check_same_state(*next, *again);
}

/// A problem that keeps its candidates in order gives all of them, the first among equals first.
inline void check_ranked(const Problem& state) {
  const std::unique_ptr<RankedMoves> ranked = state.ranked();
  if (ranked == nullptr) return;
  std::vector<RatedMove> expected;
  for (int kind = 0; kind < state.kinds(); ++kind)
    for (int i = 0; i < state.candidates(kind); ++i)
      expected.push_back({state.candidate(kind, i), state.change(state.candidate(kind, i))});
  std::ranges::stable_sort(expected, {}, &RatedMove::change);
  for (const RatedMove& one : expected) {
    const std::optional<RatedMove> next = ranked->next();
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->move, one.move);
    EXPECT_EQ(next->change, one.change);
  }
  EXPECT_FALSE(ranked->next().has_value());
}

/// What every Problem must do, along a random path of at most so many steps.
inline void check_problem(const Problem& start, int steps, uint64_t seed = 1) {
  Rng rng(seed);
  const auto at = start.copy();
  int taken = 0;
  for (; taken < steps && !at->over(); ++taken) {
    check_same_state(*at, *at->copy());
    check_ranked(*at);
    EXPECT_LE(at->lower_bound(), at->cost());
    ASSERT_EQ(at->kinds(), start.kinds());
    for (int kind = 0; kind < at->kinds(); ++kind) {
      EXPECT_LE(at->candidates(kind), at->moves(kind));
      for (int i = 0; i < at->candidates(kind); ++i) check_move(*at, at->candidate(kind, i));
    }
    const auto move = draw_move(*at, rng);
    if (!move) break;
    at->apply(*move);
  }
  EXPECT_GT(taken, 0) << "nothing was checked";
  if (!at->over()) return;
  for (int kind = 0; kind < at->kinds(); ++kind) EXPECT_EQ(at->moves(kind), 0);
}

}  // namespace reverie::testing
