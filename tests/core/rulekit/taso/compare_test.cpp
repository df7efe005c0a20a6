#include "core/rulekit/taso/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/rules/rule.h"

namespace reverie {
namespace {

constexpr const char* kLibrary = R"(
rule matmul_right
match
  s = MatMul(a, b; activation = "none")
  y = MatMul(s, c; activation = "none")
where
  rank(a) >= 2, rank(a) == rank(b), rank(b) == rank(c)
  slice(shape(a), 0, -2) == slice(shape(b), 0, -2), slice(shape(b), 0, -2) == slice(shape(c), 0, -2)
  uses(s) == 1
replace
  y = MatMul(a, MatMul(b, c; activation = "none"); activation = "none")

rule relu_of_transpose
match
  y = Relu(Transpose(x; perm = p))
replace
  y = Transpose(Relu(x); perm = p)
)";

const TasoTensor kA{-1}, kB{-2}, kC{-3}, kD{-4};

TasoOp matmul(TasoTensor a, TasoTensor b) { return {taso_op::kMatMul, {a, b}, {{9, 0}}}; }
TasoOp relu(TasoTensor x) { return {taso_op::kRelu, {x}, {}}; }
TasoOp transpose(TasoTensor x) { return {taso_op::kTranspose, {x}, {{10, 2}, {12, 2}}}; }

CompareOutcome compare_one(const TasoRule& rule, const char* library = kLibrary) {
  CompareRulesOptions options;
  options.import.shapes = 16;
  options.limits.states = 500;
  return compare_rules({rule}, std::make_shared<const RuleSet>(RuleSet::parse(library, "library")),
                       options)[0];
}

std::vector<std::string> rules_of(const CompareOutcome& outcome) {
  std::vector<std::string> names;
  for (const taso::DerivationStep& step : outcome.chain)
    names.push_back((step.backward ? "-" : "+") + step.rule);
  return names;
}

const TasoRule kAssociative{
    {matmul(kB, kC), matmul(kA, {0})}, {matmul(kA, kB), matmul({0}, kC)}, {{{1}, {1}}}};

TEST(CompareRules, ARuleTheOtherWayRoundFollowsInOneStepBack) {
  const CompareOutcome outcome = compare_one(kAssociative);
  EXPECT_EQ(outcome.status, CompareStatus::kDerived);
  EXPECT_THAT(rules_of(outcome), testing::ElementsAre("-matmul_right"));
}

TEST(CompareRules, WhatTheLibraryHoldsIsContainedUpToNames) {
  const TasoOutcome imported = import_taso_rules({kAssociative})[0];
  const TasoRule renamed{
      {matmul(kD, kA), matmul(kB, {0})}, {matmul(kB, kD), matmul({0}, kA)}, {{{1}, {1}}}};
  CompareOutcome outcome = compare_one(renamed, imported.text.c_str());
  EXPECT_EQ(outcome.status, CompareStatus::kContained);
  EXPECT_EQ(outcome.library_rule, "taso_000");
  EXPECT_FALSE(outcome.reversed);
  outcome = compare_one({renamed.target, renamed.source, renamed.outputs}, imported.text.c_str());
  EXPECT_EQ(outcome.status, CompareStatus::kContained);
  EXPECT_TRUE(outcome.reversed);
}

TEST(CompareRules, AChainOfTwoRulesIsFoundAndStated) {
  // (a (b c)) turned and cut off, against ((a b) c) cut off and turned.
  const CompareOutcome outcome =
      compare_one({{matmul(kB, kC), matmul(kA, {0}), transpose({1}), relu({2})},
                   {matmul(kA, kB), matmul({0}, kC), relu({1}), transpose({2})},
                   {{{3}, {3}}}});
  EXPECT_EQ(outcome.status, CompareStatus::kDerived);
  EXPECT_THAT(rules_of(outcome),
              testing::UnorderedElementsAre("+relu_of_transpose", "-matmul_right"));
}

TEST(CompareRules, ASharedProductIsComputedTwiceWhereAChainNeedsIt) {
  // Both products use x y, which the library's rule takes for one use only.
  const CompareOutcome outcome = compare_one({{matmul(kA, kB), matmul({0}, kA), matmul(kB, {0})},
                                              {matmul(kB, kA), matmul(kA, {0}), matmul({0}, kB)},
                                              {{{1}, {1}}, {{2}, {2}}}});
  EXPECT_EQ(outcome.status, CompareStatus::kDerived);
  EXPECT_THAT(rules_of(outcome),
              testing::Contains("+" + std::string(taso::DerivationStep::kUnshare)));
}

TEST(CompareRules, WhatTheLibraryDoesNotLeadToIsMissing) {
  const CompareOutcome outcome = compare_one({{matmul(kA, kB), transpose({0})},
                                              {transpose(kB), transpose(kA), matmul({0}, {1})},
                                              {{{1}, {2}}}});
  EXPECT_EQ(outcome.status, CompareStatus::kMissing);
  EXPECT_GE(outcome.states, 2);  // both ends at least
}

TEST(CompareRules, AnUnsoundRuleIsRefusedWithItsCounterexample) {
  const CompareOutcome outcome = compare_one(
      {{matmul(kA, kB), relu({0})}, {relu(kA), relu(kB), matmul({0}, {1})}, {{{1}, {2}}}});
  EXPECT_EQ(outcome.status, CompareStatus::kRefused);
  EXPECT_THAT(outcome.refusal, testing::HasSubstr("x1: ["));
}

TEST(CompareRules, SidesThatAreTheSameNeedNoStep) {
  const CompareOutcome outcome = compare_one({{relu(kA)}, {relu(kA)}, {{{0}, {0}}}});
  EXPECT_EQ(outcome.status, CompareStatus::kDerived);
  EXPECT_TRUE(outcome.chain.empty());
}

/// Both orders of Relu and Transpose.
std::pair<Graph, Graph> orders(int64_t rows, int64_t columns) {
  std::pair<Graph, Graph> result;
  Attributes turn;
  turn.set("perm", std::vector<int64_t>{1, 0});
  for (Graph* graph : {&result.first, &result.second}) {
    const ValueId x = graph->add_input("x", {DType::kFloat32, {rows, columns}});
    const bool first = graph == &result.first;
    graph->add_output("y", first ? graph->add("Transpose", {graph->add("Relu", {x})}, turn)
                                 : graph->add("Relu", {graph->add("Transpose", {x}, turn)}));
  }
  return result;
}

TEST(CompareRules, AChainThatHoldsByCoincidenceOfShapesIsNotConfirmed) {
  const auto library = std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule two_columns
match
  y = Transpose(Relu(x); perm = [1, 0])
where
  dim(x, 1) == 2
replace
  y = Relu(Transpose(x; perm = [1, 0]))
)",
                                                                      "library"));
  const auto [source, target] = orders(3, 2);
  const auto found = taso::derive(source, target, library);
  ASSERT_TRUE(found.chain.has_value());
  ASSERT_EQ(found.chain->size(), 1u);
  EXPECT_TRUE(taso::confirms(*found.chain, orders(5, 2).first, orders(5, 2).second, *library));
  EXPECT_FALSE(taso::confirms(*found.chain, orders(2, 3).first, orders(2, 3).second, *library));
}

std::string published_rules() {
  const char* folder = std::getenv("REVERIE_RULES");
  return std::string(folder != nullptr ? folder : REVERIE_SOURCE_DIR "/../shared/rules") +
         "/graph_subst.pb";
}

TEST(CompareRules, ThePublishedRulesFollowFromTheGeneratedLibrary) {
  const std::string path = published_rules();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  CompareRulesOptions options;
  options.import.shapes = 16;
  const auto outcomes = compare_rules(
      read_taso_rules(path), std::make_shared<const RuleSet>(RuleSet::load("generated")), options);
  ASSERT_EQ(outcomes.size(), 133u);
  for (const CompareOutcome& outcome : outcomes)
    EXPECT_TRUE(outcome.status == CompareStatus::kContained ||
                outcome.status == CompareStatus::kDerived)
        << outcome.name;
}

TEST(CompareRules, ThePublishedRulesAgainstThemselvesAreContained) {
  const std::string path = published_rules();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  std::vector<TasoRule> rules = read_taso_rules(path);
  rules.resize(12);
  TasoImportOptions import;
  import.shapes = 8;
  const std::string text = rule_file_text(import_taso_rules(rules, import), "published");
  CompareRulesOptions options;
  options.import = import;
  options.limits.states = 100;
  const auto outcomes = compare_rules(
      rules, std::make_shared<const RuleSet>(RuleSet::parse(text, "published")), options);
  for (const CompareOutcome& outcome : outcomes)
    EXPECT_EQ(outcome.status, CompareStatus::kContained) << outcome.name;
}

}  // namespace
}  // namespace reverie
