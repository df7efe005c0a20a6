#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/cost/fitted.h"
#include "core/cost/measured.h"
#include "core/rulekit/prove/prove.h"
#include "env/adapt/training_source.h"
#include "env/rewrite/search/search.h"
#include "tests/support/random_graph.h"

/// What stands in for libraries that a build does without; linked here in place of what uses them.
namespace reverie {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <class Use>
std::string refusal(Use use) {
  try {
    use();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(WithoutOneDnn, TheProcessorIsNamedAndMeasuresNothing) {
  EXPECT_EQ(profile_of_machine("cpu"), "cpu");
  EXPECT_THAT(refusal([] { make_machine("cpu"); }), HasSubstr("needs oneDNN"));
  const Graph graph = RandomGraph::make(1, 5);
  EXPECT_THAT(refusal([&] { measure_interleaved({graph}); }), HasSubstr("needs oneDNN"));
  EXPECT_THAT(refusal([] { make_cost_model("cpu"); }), HasSubstr("needs oneDNN"));
  EXPECT_THAT(refusal([] { make_cost_model("cuda"); }), Not(HasSubstr("oneDNN")));
}

TEST(WithoutEigen, CostsAreFittedToNothing) {
  EXPECT_THAT(refusal([] { fitted_cost(make_cost_model("roofline:t4"), {}); }),
              HasSubstr("need Eigen"));
}

TEST(WithoutLibTorch, NoNetworkIsTrained) {
  EXPECT_THAT(refusal([] { make_training_source({}, "scenario", {}); }),
              HasSubstr("needs LibTorch"));
}

TEST(WithoutZ3, ProofsByAxiomsAreRefusedAndThoseOverTheFieldAreNot) {
  const RuleSet rules = RuleSet::builtin();
  EXPECT_THAT(refusal([&] { prove_rule(rules[0]); }), HasSubstr("--no-axioms"));
  EXPECT_TRUE(prove_rule(rules[0], {.with_axioms = false}).field.proved());
}

TEST(WithoutCbc, SaturationEndsWithWhatItTakesOutGreedily) {
  const RewriteState start(RandomGraph::make(7, 25),
                           std::make_shared<const RuleSet>(RuleSet::builtin()),
                           make_cost_model("roofline:t4"));
  search::Saturation solved;
  solved.solve = true;
  const SearchResult result = search_rewrites(start, {}, solved);
  EXPECT_EQ(result.best_cost, search_rewrites(start, {}, search::Saturation()).best_cost);
  const auto report = std::dynamic_pointer_cast<const SaturationReport>(result.details);
  EXPECT_THAT(report->extraction, HasSubstr("without CBC"));
  EXPECT_FALSE(result.optimal);
}

}  // namespace
}  // namespace reverie
