#include "core/rules/apply_everywhere.h"

namespace reverie {
namespace {

int64_t apply(RewriteState& state, int rule, int most_nodes) {
  const int count = state.location_count(rule);
  int64_t taken = 0;
  for (; taken < count && state.location_count(rule) > 0; ++taken) {
    if (state.graph().node_count() > most_nodes) break;
    state.commit(state.propose(state.location(rule, 0)));
  }
  return taken;
}

/// One round; whether anything was taken.
bool apply_all(RewriteState& state, int most_nodes, std::vector<int64_t>& taken) {
  bool changed = false;
  for (int rule = 0; rule < state.rules().size(); ++rule) {
    const int64_t now = apply(state, rule, most_nodes);
    taken[static_cast<size_t>(rule)] += now;
    changed |= now > 0;
  }
  return changed;
}

int64_t matches(RewriteState& state) {
  int64_t total = 0;
  for (int rule = 0; rule < state.rules().size(); ++rule) total += state.location_count(rule);
  return total;
}

}  // namespace

Applied apply_everywhere(RewriteState& state, const ApplyLimits& limits) {
  Applied applied;
  applied.taken.resize(static_cast<size_t>(state.rules().size()));
  for (int round = 0; round < limits.rounds; ++round)
    if (!apply_all(state, limits.nodes, applied.taken)) break;
  applied.matches_left = matches(state);
  if (applied.matches_left > 0)
    applied.end =
        state.graph().node_count() > limits.nodes ? Applied::End::kNodes : Applied::End::kRounds;
  return applied;
}

}  // namespace reverie
