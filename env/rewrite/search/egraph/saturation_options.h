#pragma once

#include <cstdint>

#include "core/base/config.h"

namespace reverie {

struct SaturationOptions {
  /// E-graphs one after another, each from the best graph of the one before, as long as that gains
  /// and the limits below left something out; with rules that are not built in so many again.
  int64_t rounds = 5;
  /// Of applying all rules, per round.
  int64_t iterations = 15;
  /// Rules with several roots (parallel products merged) take part in so many iterations: each can
  /// square the number of nodes.
  int64_t multi_iterations = 15;
  /// No match is applied when the e-graph has so many nodes.
  int64_t node_limit = 20000;
  /// Of one rule in one iteration: nodes looked at for its patterns, beyond which the rest waits
  /// for the next iteration. Of what one changed node takes part in, matches beyond it are left
  /// out.
  int64_t match_limit = 500000;
  /// saturation_ilp: of the solver, over all rounds and within the time limit of the search.
  double solver_seconds = 20;

  template <class V>
  void fields(V& v) {
    v.field("rounds", rounds, "E-graphs one after another, each from the best graph so far",
            at_least(1));
    v.field("iterations", iterations, "Iterations over all rules, per round", at_least(0));
    v.field("multi_iterations", multi_iterations,
            "Iterations in which rules with several roots take part", at_least(0));
    v.field("node_limit", node_limit, "Nodes of the e-graph at which it grows no more",
            at_least(1));
    v.field("match_limit", match_limit,
            "Nodes tried for the patterns of a rule in an iteration, beyond which it waits",
            at_least(1));
    v.field("solver_seconds", solver_seconds,
            "Seconds for the integer linear program (saturation_ilp)",
            ConfigRange{.low = 0, .high = 1e6, .low_excluded = true});
  }
};

}  // namespace reverie
