#include "env/solver.h"

namespace reverie {
namespace {

/// Whether a move was taken.
bool take_first_gain(Walk& walk, SearchRun& run, double least) {
  run.count_expansion();
  for (int kind = 0; kind < walk.state().kinds(); ++kind)
    for (int i = 0; i < walk.state().candidates(kind); ++i) {
      if (run.out_of_time()) return false;
      const Move move = walk.state().candidate(kind, i);
      if (walk.change(move) < -least && walk.take(move)) return true;
    }
  return false;
}

/// Takes the first move that gains, in the order of kinds and moves, until none does or `budget` of
/// them were taken.
struct FirstGain {
  double least = 0;

  template <class V>
  void fields(V& v) {
    v.field("least", least, "What a move gains has to be above this", at_least(0));
  }

  void operator()(SearchRun& run) const {
    Walk walk(run);
    int64_t taken = 0;
    while (taken < run.options().budget && take_first_gain(walk, run, least)) ++taken;
    if (taken == run.options().budget) run.out_of_budget();
  }
};

const bool kRegistered = register_solver<AlgorithmSolver<FirstGain>>(
    SearchText{.name = "first_gain",
               .what = "the first move that gains, until there is none",
               .budget_unit = "moves",
               .usual_budget = 100});

}  // namespace
}  // namespace reverie
