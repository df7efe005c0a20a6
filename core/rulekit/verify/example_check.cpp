#include "core/rulekit/verify/example_check.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/exec/compare.h"
#include "core/rules/example.h"
#include "core/rules/no_cost.h"
#include "core/rules/rewrite_state.h"

namespace reverie {
RuleCheck check_examples(const Rule& rule, int draws, uint64_t seed) {
  RuleCheck check;
  auto alone = std::make_shared<RuleSet>();
  alone->add(rule);
  for (const RuleExample& example : rule.pattern().examples) {
    ++check.examples;
    const Graph original = build_example(rule.pattern(), example, seed + check.examples);
    original.validate();
    const RewriteState state(original, alone, std::make_shared<NoCost>());
    if (state.locations(0).empty()) {
      check.failure = fmt::format("example {}: the rule does not apply", check.examples);
      return check;
    }
    for (const Match& match : state.locations(0)) {
      RewriteState next = state;
      next.commit(state.propose(match));
      next.graph().validate();
      CompareOptions options;
      options.inputs = draws;
      options.seed = seed;
      const Agreement agreement = compare(original, next.graph(), options);
      ++check.compared;
      check.max_error = std::max(check.max_error, agreement.max_rel_error);
      if (!agreement.agree) {
        check.failure = fmt::format("example {}: {}", check.examples, agreement.reason);
        return check;
      }
    }
  }
  return check;
}

}  // namespace reverie
