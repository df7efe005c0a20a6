#include "tests/recipes/first_gain.h"

namespace reverie {
namespace {

/// Whether a move was taken.
bool take_first_gain(Walk& walk, SearchRun& run) {
  run.count_expansion();
  for (int kind = 0; kind < walk.state().kinds(); ++kind)
    for (int i = 0; i < walk.state().candidates(kind); ++i) {
      if (run.out_of_time()) return false;
      const Move move = walk.state().candidate(kind, i);
      if (walk.change(move) < 0 && walk.take(move)) return true;
    }
  return false;
}

}  // namespace

void run_first_gain(SearchRun& run) {
  Walk walk(run);
  int64_t taken = 0;
  while (taken < run.options().budget && take_first_gain(walk, run)) ++taken;
  if (taken == run.options().budget) run.out_of_budget();
}

}  // namespace reverie
