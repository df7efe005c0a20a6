#include "core/rules/apply_everywhere.h"

namespace reverie {
namespace {

int64_t apply(RewriteState& state, int rule) {
  const int count = state.location_count(rule);
  int64_t taken = 0;
  for (; taken < count && state.location_count(rule) > 0; ++taken)
    state.commit(state.propose(state.location(rule, 0)));
  return taken;
}

}  // namespace

std::vector<int64_t> apply_everywhere(RewriteState& state, int rounds) {
  std::vector<int64_t> taken(static_cast<size_t>(state.rules().size()), 0);
  for (bool changed = true; changed && rounds > 0; --rounds) {
    changed = false;
    for (int rule = 0; rule < state.rules().size(); ++rule) {
      const int64_t now = apply(state, rule);
      taken[static_cast<size_t>(rule)] += now;
      changed |= now > 0;
    }
  }
  return taken;
}

}  // namespace reverie
