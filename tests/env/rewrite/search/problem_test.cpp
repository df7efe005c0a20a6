#include <gtest/gtest.h>

#include "env/rewrite/search/rewrite_problem.h"
#include "tests/support/problem_conformance.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using testing::check_problem;

TEST(ProblemConformance, Rewriting) {
  const RewriteState start = testing::unary_state(
      {{"Tanh", "Sqrt", "Exp"}, {"Relu", "Tanh", "Exp"}, {"Exp", "Sqrt", "Relu"}});
  check_problem(RewriteProblem(start, {}), 20);
  RewriteSearchOptions options;
  options.classes = true;
  options.max_weight_growth = 1;
  check_problem(RewriteProblem(start, options), 20);
}

}  // namespace
}  // namespace reverie
