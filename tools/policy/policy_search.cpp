#include "tools/policy/policy_search.h"

namespace reverie {

GuidedStep take_step(SearchRun& run, const RewriteEnvironment& from, const Action& action) {
  GuidedStep step{std::make_unique<RewriteEnvironment>(from), 0, false};
  const StepResult result = step.environment->step(action);
  run.count_step();
  const RewriteState& state = step.environment->state();
  if (run.options().max_weight_growth > 0 && !run.allows_weights(state.graph().weight_bytes())) {
    step.environment = nullptr;
    return step;
  }
  if (run.improves(state.cost())) run.improve(state.cost(), step.environment->path());
  run.reached(state, step.environment->path());
  step.reward = result.reward;
  step.over = result.terminated || result.truncated;
  return step;
}

}  // namespace reverie
