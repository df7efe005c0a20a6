#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/base/config.h"
#include "core/base/parallel.h"
#include "core/base/stop.h"
#include "core/cost/cost_model.h"
#include "core/search/egraph/saturation_options.h"
#include "core/search/measured_options.h"

namespace reverie {

class RewriteState;

/// One rewrite of a path: the `location`-th entry of RewriteState::locations(rule).
struct RewriteStep {
  int rule = 0;
  int location = 0;
  bool operator==(const RewriteStep&) const = default;
};

/// How far a search has come.
struct SearchProgress {
  double seconds = 0;
  int64_t expansions = 0;  ///< states whose moves were looked at
  int64_t candidates = 0;  ///< successors seen, before duplicates are removed
  double best = 0;         ///< cost, in the unit of the problem; for rewriting picoseconds
};

struct BeamOptions {
  int64_t width = 8;

  template <class V>
  void fields(V& v) {
    v.field("width", width, "States kept at each depth", at_least(1));
  }
};

/// Temperatures are in units of the mean gain of greedy's steps, so that one setting suits graphs
/// of all sizes and costs of all sources.
struct AnnealingOptions {
  double hot = 1;
  double cold = 0.01;
  double sweeps = 20;

  template <class V>
  void fields(V& v) {
    v.field("hot", hot, "Temperature at first, in mean gains of a greedy step", above(0));
    v.field("cold", cold, "Temperature at last", above(0));
    v.field("sweeps", sweeps, "Moves proposed in a chain, per location of the start",
            ConfigRange{.low = 0, .high = 1e6, .low_excluded = true});
  }
};

struct SoftmaxOptions {
  double temperature = 0.3;

  template <class V>
  void fields(V& v) {
    v.field("temperature", temperature, "Of the softmax, in mean gains of a greedy step", above(0));
  }
};

struct MctsOptions {
  double exploration = 0.3;
  double widening = 2;
  int64_t random_steps = 10;
  int64_t batch = 4;

  template <class V>
  void fields(V& v) {
    v.field("exploration", exploration, "Factor of UCT's exploration term", at_least(0));
    v.field("widening", widening, "Children of a node per root of its visits", above(0));
    v.field("random_steps", random_steps, "Random steps of a rollout before the greedy descent",
            at_least(0));
    v.field("batch", batch, "Rollouts chosen before their results are seen", at_least(1));
  }
};

struct ExhaustiveOptions {
  int64_t states = 100000;
  double bound = 0;

  template <class V>
  void fields(V& v) {
    v.field("states", states, "States expanded at most", at_least(1));
    v.field("bound", bound,
            "Successors above this many times the cost of the start are left out, 0: none",
            at_least(0));
  }
};

/// What the budget counts, for help: "expansions (taso, ...), rollouts (mcts), ...".
std::string budget_units();

struct SearchOptions {
  /// taso: a successor is kept when its cost is below alpha times the best known.
  double alpha = 1.05;
  /// taso: expanded states whose successors wait in the queue, at most; beyond, the dearest leave
  /// it. So many graphs are kept to be known again; earlier ones are by their hashes alone.
  int64_t queue = 10000;
  /// What a method does at most, in its own unit; see each method. greedy needs none.
  int64_t budget = 100;
  /// taso, beam: when the budget is spent, the best graph is finished by a greedy descent, whose
  /// expansions come on top.
  bool finish = true;
  /// beam, saturation: greedy search comes first, on top of the budget.
  bool greedy_first = true;
  /// Seconds after which the best graph so far is returned; 0: no limit.
  double time_limit = 0;
  uint64_t seed = 0;
  /// Upper bound of the bytes of weights relative to the original; 0: no bound.
  double max_weight_growth = 0;
  /// Threads that work on a search. The result, its path and all counters are the same for any
  /// number.
  int threads = 1;
  /// greedy, taso, beam, mcts, softmax, exhaustive: of locations that look alike (LocationClass)
  /// only the first is a candidate.
  bool classes = false;
  BeamOptions beam;
  AnnealingOptions annealing;
  SoftmaxOptions softmax;
  SaturationOptions saturation;
  MctsOptions mcts;
  ExhaustiveOptions exhaustive;
  MeasuredOptions measured;
  StopToken stop;
  /// Called about once per expansion, by the thread that called the method.
  std::function<void(const SearchProgress&)> on_progress;
  /// Searches against measurements: called after each, by the thread that called the method.
  std::function<void(const MeasuredReport&)> on_measured;
  /// Rewriting: called for each state that is built and the path that led there from the start, by
  /// all threads of the search; saturation builds none.
  std::function<void(const RewriteState&, std::span<const RewriteStep>)> on_state;
  /// Seconds that have passed since any fixed moment; the steady clock where empty. Called by all
  /// threads of the search.
  std::function<double()> clock;

  template <class V>
  void fields(V& v) {
    v.field("alpha", alpha, "Successors above alpha times the best cost are dropped (taso)",
            at_least(1));
    v.field(
        "queue", queue,
        "Expanded states whose successors wait, at most; beyond, the dearest are dropped (taso)",
        at_least(1));
    v.field("budget", budget, "So many " + budget_units(), at_least(0));
    v.field("finish", finish,
            "Descend greedily from the best when the budget is spent (taso, beam)");
    v.field("greedy_first", greedy_first,
            "Begin with greedy search, on top of the budget (beam, saturation)");
    v.field("time_limit", time_limit, "Seconds after which the best so far is returned, 0: none",
            at_least(0));
    v.field("seed", seed, "Seed of the random methods");
    v.field("max_weight_growth", max_weight_growth,
            "Bound of the bytes of weights relative to the original, 0: none", at_least(0));
    v.field("threads", threads, "Threads that search; the result is the same for any number",
            between(1, kMostThreads));
    v.field("classes", classes,
            "Of locations that look alike only the first is a candidate (greedy, taso, beam, mcts, "
            "softmax, exhaustive)");
    v.section("beam", beam, "Beam search");
    v.section("annealing", annealing, "Simulated annealing");
    v.section("softmax", softmax, "Samples from a softmax on cost change");
    v.section("saturation", saturation, "Equality saturation");
    v.section("mcts", mcts, "Monte-Carlo tree search");
    v.section("exhaustive", exhaustive, "Exhaustive search");
    v.section("measured", measured, "Search against end-to-end measurements");
  }
};

}  // namespace reverie
