#include "env/rewrite/search/rule_list.h"

namespace reverie {
namespace {

/// Goes through the locations of a rule once and applies it where it gains, or everywhere. At most
/// as many times as it had locations at first, so that rules that undo themselves end too.
bool apply(Walk& walk, SearchRun& run, int rule, bool everywhere) {
  bool changed = false;
  int location = 0;
  for (int left = walk.state().moves(rule); left > 0 && location < walk.state().moves(rule);
       --left) {
    if (run.out_of_time()) return false;
    const Move move{rule, location};
    const bool gains = walk.change(move) < 0;
    if ((gains || everywhere) && walk.take(move)) {
      run.count_expansion();
      changed = true;
    } else {
      ++location;
    }
  }
  return changed;
}

}  // namespace

Walk run_list(SearchRun& run, const RuleList& list) {
  Walk walk(run);
  run.count_expansion();
  for (const int rule : list.order) apply(walk, run, rule, list.forced[static_cast<size_t>(rule)]);
  for (bool changed = true; changed && !run.out_of_time();) {
    changed = false;
    for (const int rule : list.order) changed |= apply(walk, run, rule, false);
  }
  return walk;
}

void search::RuleLists::operator()(SearchRun& run) const {
  const SearchOptions& options = run.options();
  if (options.budget > 0) begin_greedily(run);
  const Rng rng(options.seed);
  run_walks(run, options.budget - 1, [&](SearchRun& part, int64_t i) {
    run_list(part, draw_forced_order(run.start().kinds(), rng.fork(static_cast<uint64_t>(i))));
  });
  if (!run.out_of_time()) run.out_of_budget();
}

}  // namespace reverie
