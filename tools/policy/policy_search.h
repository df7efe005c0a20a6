#pragma once

#include <memory>

#include "tools/policy/guided_options.h"
#include "tools/policy/policy_guide.h"
#include "core/search/search_run.h"

namespace reverie {

// Searches of the real graph that a policy guides. They begin greedily (`greedy_first`) and, unless
// the time is over, end with a greedy descent from the best (`finish`), both on top of the budget: no
// result is worse than greedy search's where that fits into the time. A budget counts expansions, of
// states whose actions the policy was asked for. No state is expanded twice, however it was reached
// (hits of the hash are confirmed as KnownStates does), so each is encoded once. NO-OP, which leads
// nowhere, is left out: priors are given that the episode goes on. Nothing is drawn: the seed and the
// number of threads change nothing. Episodes end at the environment's horizon. Steps that take the
// weights beyond their bound are left out.

/// Beam search: of the successors of the states kept at one depth the SearchOptions::beam.width best new
/// ones are kept, by
///   sum of the log-priors along the way + gain_weight * gain so far in percent of the initial cost
/// which orders ways w by the posterior  p(w) exp(gain_weight * gain(w))  of a policy as prior and gains
/// as likelihood (Levine, "Reinforcement Learning and Control as Probabilistic Inference", 2018, section
/// 2). Successors are scored by their change in cost before any is built.
void policy_beam(SearchRun& run, const PolicyGuide& guide, const RewriteEnvironment& start,
                 const GuidedSearchOptions& how);

/// Monte-Carlo tree search by PUCT (Silver et al., "Mastering the game of Go without human knowledge",
/// Nature 2017, methods; AlphaZero, Science 2018): from state s the action taken is that of the largest
///   Q'(s, a) + exploration * P(a | s) * sqrt(sum_b N(s, b)) / (1 + N(s, a))
/// A new state is worth the rewards on the way there plus the learned value, and no rollout is played;
/// Q is the mean of this over visits, that of s itself where a was never taken. Q' is Q on a scale from
/// the least to the greatest Q seen, 0 to 1 (Schrittwieser et al., MuZero, Nature 2020, eq. 5), so that
/// no unit has to be set. States reached in several ways are merged: one node, which keeps
/// the recurrent state and the steps left of the way that came first. `batch` leaves are chosen before
/// any is looked at; visits under way count in N and not in Q (Liu et al., "Watch the Unobserved",
/// ICLR 2020). Where more than `states` states would be held, those not visited for longest are left
/// with the children that they have; what they had not tried is counted as forgotten, and they
/// are known by their hashes alone. Ends, exhausted, when everything within reach is in the tree.
void policy_mcts(SearchRun& run, const PolicyGuide& guide, const RewriteEnvironment& start,
                 const GuidedSearchOptions& how);

/// Where a step of a search led.
struct GuidedStep {
  std::unique_ptr<RewriteEnvironment> environment;  ///< null where its weights grew too much
  double reward = 0;
  bool over = false;  ///< the episode: nothing is left to do, or the horizon is reached
};

/// Takes the action on a copy of `from`. Counts the step and records a new best.
GuidedStep take_step(SearchRun& run, const RewriteEnvironment& from, const Action& action);

}  // namespace reverie
