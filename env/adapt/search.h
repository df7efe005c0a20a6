#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "env/adapt/adapt_environment.h"
#include "env/adapt/table.h"

namespace reverie {

// Searches over sequences of decisions, which learn from `episodes` jobs of a scenario (at least 1)
// with seeds of their own. Each returns the decisions that it holds best, a plan to `follow`.
// Accuracies are means of the last epochs, as AdaptStart says. Errors of the source's.

/// Plays a job of `source` to its end. At each decision it takes the plan's for this place. It goes
/// on without a change where that is not offered, as the network went back (see TrainingSource), or
/// the plan has no more. A job whose budget ends before does not take the plan's last.
void follow(const Decisions& plan, const JobSource& source, TrainingJob& job);

/// Chooses among the decisions that are offered at a place, the first of which goes on.
using ChooseDecision =
    std::function<std::optional<ChangeAtRate>(size_t place, const Decisions& choices)>;

/// A plan from a job's state on. No job is trained for it: the network is imagined to grow by each
/// decision, and never to go back.
Decisions imagined(const AdaptStart& start, JobState first, const ChooseDecision& choose);

/// Sequences whose decisions are drawn, every choice equally likely; the best of them.
Decisions random_best(const AdaptStart& start, int episodes, uint64_t seed);

/// Successive halving (Jamieson and Talwalkar 2016) on learning curves. Twice as many random
/// sequences begin as there are episodes. At a quarter of the budget that is left at the first
/// decision the better half goes on, at a half of it the better quarter. A job counts as far as it
/// was followed, which makes `episodes` in all.
Decisions successive_halving(const AdaptStart& start, int episodes, uint64_t seed);

/// Thompson sampling with a linear model (Agrawal and Goyal 2013): a normal posterior over what
/// each decision adds to the accuracy, part of it wherever it is taken and part at its place in the
/// sequence. A job follows the plan that is best for a draw of it; at the end, for its mean. What
/// is planned counts, also where it is not offered when it comes.
Decisions thompson(const AdaptStart& start, int episodes, uint64_t seed);

/// A plan, and what a model expects that it gains: points of accuracy over the first decision's.
struct ExpectedPlan {
  Decisions decisions;
  double gain = 0;
  /// As each member of an ensemble expects; empty, or of the same number in all plans.
  std::vector<double> by_member = {};
};

/// Thompson sampling among `plans`, one at least. The linear model is of what decisions add to what
/// is expected, which is less where an ensemble expects it. That also says in which directions
/// `gain` can be off together, by how its members differ.
Decisions thompson_among(const std::vector<ExpectedPlan>& plans, const AdaptStart& start,
                         int episodes, uint64_t seed);

}  // namespace reverie
