#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/base/error.h"
#include "core/exec/compare.h"
#include "core/rulekit/taso/export.h"
#include "core/rulekit/taso/import.h"
#include "core/rulekit/taso/translate.h"
#include "core/rulekit/verify/example_check.h"
#include "core/rules/example.h"
#include "core/rules/pattern.h"
#include "core/rules/rule.h"
#include "tests/support/random_graph.h"
#include "tests/support/rewrite_checks.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// --- The wire format, by hand
// -----------------------------------------------------------------------

std::string varint(int64_t value) {
  std::string bytes;
  auto rest = static_cast<uint64_t>(value);
  for (; rest >= 128; rest >>= 7) bytes += static_cast<char>(rest | 128);
  return bytes + static_cast<char>(rest);
}
std::string number(int field, int64_t value) { return varint(field << 3) + varint(value); }
std::string message(int field, const std::string& body) {
  return varint(field << 3 | 2) + varint(static_cast<int64_t>(body.size())) + body;
}

struct Op {
  int type;
  std::vector<TasoTensor> inputs;
  std::vector<std::pair<int, int>> parameters = {};
};

std::string bytes_of(const Op& op) {
  std::string body = number(1, op.type);
  for (const TasoTensor& input : op.inputs)
    body += message(2, number(1, input.op) + number(2, input.output));
  for (const auto& [key, value] : op.parameters)
    body += message(3, number(1, key) + number(2, value));
  return body;
}

std::string rule_bytes(const std::vector<Op>& source, const std::vector<Op>& target,
                       const std::vector<TasoOutput>& outputs) {
  std::string body;
  for (const Op& op : source) body += message(1, bytes_of(op));
  for (const Op& op : target) body += message(2, bytes_of(op));
  for (const TasoOutput& output : outputs)
    body += message(3, number(1, output.source.op) + number(2, output.target.op) +
                           number(3, output.source.output) + number(4, output.target.output));
  return message(1, body);
}

Op relu(TasoTensor x) { return {8, {x}}; }
Op add(TasoTensor a, TasoTensor b) { return {16, {a, b}}; }
Op mul(TasoTensor a, TasoTensor b) { return {17, {a, b}}; }
Op matmul(TasoTensor a, TasoTensor b) { return {18, {a, b}, {{9, 0}}}; }
Op conv(TasoTensor x, TasoTensor w, int activation = 0) {
  return {3, {x, w}, {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}, {9, activation}}};
}
Op concat(TasoTensor a, TasoTensor b, int axis, int rank) {
  return {12, {a, b}, {{1, 2}, {11, axis}, {10, rank}}};
}
Op split(TasoTensor x, int axis) { return {13, {x}, {{2, 2}, {11, axis}}}; }

const TasoTensor kA{-1}, kB{-2}, kC{-3}, kD{-4};

std::vector<TasoRule> rules_in(const std::string& bytes) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "rules.pb", std::ios::binary) << bytes;
  return read_taso_rules(directory / "rules.pb");
}

TasoOutcome outcome_of(const std::string& bytes) { return import_taso_rules(rules_in(bytes))[0]; }

void expect_counterexample(const TasoOutcome& outcome) {
  EXPECT_FALSE(outcome.accepted()) << outcome.text;
  EXPECT_THAT(outcome.refusal, HasSubstr("the two sides disagree"));
  EXPECT_THAT(outcome.counterexample, HasSubstr("x1: ["));
  EXPECT_THAT(outcome.counterexample, HasSubstr("seed 1: "));
}

const std::string kAssociative =
    rule_bytes({matmul(kA, kB), matmul({0}, kC)}, {matmul(kB, kC), matmul(kA, {0})}, {{{1}, {1}}});
/// Two convolutions joined become one of two groups, which parts its filters in the middle.
const std::string kGroups =
    rule_bytes({conv(kA, kB), conv(kC, kD), concat({0}, {1}, 1, 4)},
               {concat(kA, kC, 1, 4), concat(kB, kD, 0, 4), conv({0}, {1})}, {{{2}, {2}}});

/// Two convolutions of one input become one, which mixes up the groups if there are several.
const std::string kParallel = rule_bytes({conv(kA, kB), conv(kA, kC), concat({0}, {1}, 1, 4)},
                                         {concat(kB, kC, 0, 4), conv(kA, {0})}, {{{2}, {1}}});

// --- Sound rules
// ------------------------------------------------------------------------------------

TEST(TasoImport, ReadsARuleAndWritesItAsText) {
  const TasoOutcome outcome = outcome_of(kAssociative);
  EXPECT_EQ(outcome.refusal, "");
  EXPECT_EQ(outcome.counterexample, "");
  EXPECT_EQ(outcome.shapes, 64);
  EXPECT_THAT(outcome.text, HasSubstr("s1 = MatMul(s0, x3; activation = \"none\")"));
  EXPECT_THAT(outcome.text, HasSubstr("uses(s0) == 1"));
  const RuleSet rules = RuleSet::parse(outcome.text, "text");
  ASSERT_EQ(rules.size(), 1);
  EXPECT_EQ(rules.name(0), "taso_000");
  const RuleCheck check = check_examples(rules[0], 2, 99);
  EXPECT_TRUE(check.passed()) << check.failure;
  EXPECT_EQ(check.examples, 3);
}

TEST(TasoImport, SourcesThatShareNothingAreOneRule) {
  const TasoOutcome outcome =
      outcome_of(rule_bytes({relu(kA), relu(kB)}, {concat(kA, kB, 1, 2), relu({0}), split({1}, 1)},
                            {{{0}, {2, 0}}, {{1}, {2, 1}}}));
  EXPECT_TRUE(outcome.accepted()) << outcome.refusal << outcome.counterexample;
  EXPECT_THAT(outcome.text, HasSubstr("apart\n"));
  EXPECT_THAT(outcome.text,
              HasSubstr("s0, s1 = Split(t1; axis = 1, split = [dim(x1, 1), dim(x2, 1)])"));
}

TEST(TasoImport, ASplitOfTheSourceIsPartedAlikeInTheTarget) {
  const TasoOutcome outcome =
      outcome_of(rule_bytes({split(kA, 0), relu({0, 0}), relu({0, 1})}, {relu(kA), split({0}, 0)},
                            {{{1}, {1, 0}}, {{2}, {1, 1}}}));
  EXPECT_TRUE(outcome.accepted()) << outcome.refusal << outcome.counterexample;
}

TEST(TasoImport, AConditionThatTheFileLacksIsFoundAndSaid) {
  const TasoOutcome outcome = outcome_of(kGroups);
  ASSERT_TRUE(outcome.accepted()) << outcome.refusal;
  EXPECT_EQ(outcome.narrowing, "convolutions of one group with filters of equal shape");
  EXPECT_THAT(outcome.counterexample, HasSubstr("seed 1: "));
  EXPECT_THAT(outcome.text, HasSubstr("# Holds for convolutions of one group"));
  EXPECT_THAT(outcome.text, HasSubstr("shape(x2) == shape(x4)"));
  const RuleSet rules = RuleSet::parse(outcome.text, "text");
  const RuleCheck check = check_examples(rules[0], 2, 99);
  EXPECT_TRUE(check.passed()) << check.failure;
  TasoImportOptions options;
  options.strict = true;
  expect_counterexample(import_taso_rules(rules_in(kGroups), options)[0]);
}

TEST(TasoImport, RepetitionsAndTrivialRulesAreSaid) {
  const std::string distribute = rule_bytes(
      {add(kA, kB), mul({0}, kC)}, {mul(kA, kC), mul(kB, kC), add({0}, {1})}, {{{1}, {2}}});
  const std::string renamed = rule_bytes({add(kC, kB), mul(kA, {0})},
                                         {mul(kB, kA), mul(kA, kC), add({1}, {0})}, {{{1}, {2}}});
  const std::string trivial = rule_bytes({add(kA, kB)}, {add(kB, kA)}, {{{0}, {0}}});
  const auto outcomes = import_taso_rules(rules_in(distribute + renamed + trivial));
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].remark, "");
  EXPECT_THAT(outcomes[1].remark, HasSubstr("the same as taso_000"));
  EXPECT_EQ(outcomes[2].remark, "both sides are the same");
  for (const TasoOutcome& outcome : outcomes) EXPECT_TRUE(outcome.accepted()) << outcome.refusal;
  EXPECT_EQ(RuleSet::parse(rule_file_text(outcomes, "test"), "text").size(), 3);
}

// --- Planted unsound rules
// --------------------------------------------------------------------------

TEST(TasoImport, PartsThatChangePlacesAreRefused) {
  expect_counterexample(outcome_of(rule_bytes(
      {matmul(kA, kB), matmul(kA, kC)}, {concat(kB, kC, 1, 2), matmul(kA, {0}), split({1}, 1)},
      {{{0}, {2, 1}}, {{1}, {2, 0}}})));
}

TEST(TasoImport, AWrongSplitPointIsRefused) {
  const TasoOutcome outcome =
      outcome_of(rule_bytes({concat(kA, kB, 0, 2), relu({0}), relu(kC)},
                            {concat(kB, kC, 0, 2), concat(kA, {0}, 0, 2), relu({1}), split({2}, 0)},
                            {{{1}, {3, 0}}, {{2}, {3, 1}}}));
  EXPECT_FALSE(outcome.accepted());
  EXPECT_THAT(outcome.refusal, HasSubstr("no small shapes fit both sides"));
}

TEST(TasoImport, AWrongAxisIsRefused) {
  expect_counterexample(outcome_of(rule_bytes(
      {concat(kA, kB, 0, 2), concat(kC, kD, 0, 2), concat({0}, {1}, 1, 2)},
      {concat(kA, kB, 1, 2), concat(kC, kD, 1, 2), concat({0}, {1}, 0, 2)}, {{{2}, {2}}})));
}

TEST(TasoImport, AnActivationMovedAcrossASumIsRefused) {
  expect_counterexample(outcome_of(
      rule_bytes({relu(kA), relu(kB), add({0}, {1})}, {add(kA, kB), relu({0})}, {{{2}, {1}}})));
  expect_counterexample(outcome_of(rule_bytes({conv(kA, kB, 2), conv(kA, kC, 2), add({0}, {1})},
                                              {add(kB, kC), conv(kA, {0}, 2)}, {{{2}, {1}}})));
}

TEST(TasoImport, ADroppedMultiplierIsRefused) {
  expect_counterexample(
      outcome_of(rule_bytes({conv(kA, kB), mul({0}, kC)}, {conv(kA, kB)}, {{{1}, {0}}})));
}

// --- Operators of the generator
// ---------------------------------------------------------------------

Op pool(int type, TasoTensor x) {
  return {type, {x}, {{4, 3}, {5, 3}, {6, 1}, {7, 1}, {8, 0}, {9, 0}}};
}
Op transpose(TasoTensor x) { return {15, {x}, {{10, 2}, {12, 2}}}; }
Op scale(TasoTensor x, TasoTensor s) { return {19, {x, s}}; }
Op kernel_op(int type, std::vector<TasoTensor> inputs) {
  return {type, std::move(inputs), {{4, 3}, {5, 3}}};
}

/// Accepted, and so is the rule the other way round.
void expect_sound(const std::vector<Op>& source, const std::vector<Op>& target,
                  const TasoOutput& output) {
  for (const bool forward : {true, false}) {
    if (!forward && output.target.op < 0) break;
    const TasoOutcome outcome =
        outcome_of(forward ? rule_bytes(source, target, {output})
                           : rule_bytes(target, source, {{output.target, output.source}}));
    EXPECT_TRUE(outcome.accepted()) << outcome.refusal << " " << outcome.counterexample;
    EXPECT_EQ(outcome.narrowing, "") << outcome.counterexample;
    EXPECT_GE(outcome.shapes, 25) << outcome.text;
  }
}

/// A part of a tensor goes past a convolution, which of the whole becomes one with an identity.
/// With 12 channels in two groups of 6 the filters of the target fall into three groups: nearly all
/// shapes that fit have no such groups, and agree.
TEST(TasoOperators, GroupsThatAreNotDerivedAreOne) {
  const auto rules =
      rules_in(rule_bytes({split(kA, 1), conv({0, 1}, kB), concat({0, 0}, {1}, 1, 4)},
                          {kernel_op(23, {}), concat({0}, kB, 0, 4), conv(kA, {1})}, {{{2}, {2}}}));
  TasoImportOptions options;
  options.derived_groups = true;
  const TasoOutcome outcome = import_taso_rules(rules, options)[0];
  EXPECT_TRUE(!outcome.accepted() || outcome.text.find("group = 1,") != std::string::npos)
      << outcome.text;
  const TasoOutcome kept =
      import_taso_rules(rules_in(rule_bytes({conv(kA, kB), conv(kC, kB), add({0}, {1})},
                                            {add(kA, kC), conv({0}, kB)}, {{{2}, {1}}})),
                        options)[0];
  EXPECT_TRUE(kept.accepted());
  EXPECT_EQ(kept.narrowing, "");  // the target has the groups of the source, whatever they are
}

TEST(TasoOperators, RulesOfTheGeneratorHoldBothWays) {
  expect_sound({transpose(kA), transpose({0})}, {}, {{1}, kA});
  expect_sound({matmul(kA, kB), transpose({0})}, {transpose(kA), transpose(kB), matmul({1}, {0})},
               {{1}, {2}});
  expect_sound({scale(kA, kB), scale({0}, kC)}, {scale(kB, kC), scale(kA, {0})}, {{1}, {1}});
  expect_sound({conv(kA, kB), scale({0}, kC)}, {scale(kB, kC), conv(kA, {0})}, {{1}, {1}});
  for (const int type : {taso_op::kMaxPool, taso_op::kAvgPool})
    expect_sound({pool(type, kA), pool(type, kB), concat({0}, {1}, 1, 4)},
                 {concat(kA, kB, 1, 4), pool(type, {0})}, {{2}, {1}});
  expect_sound({{28, {kA, kB}}, {17, {{0}, kC}}}, {mul(kA, kC), mul(kB, kC), {28, {{0}, {1}}}},
               {{1}, {2}});
  expect_sound({{29, {kA, kB}}, {29, {kC, kB}}, add({0}, {1})}, {add(kA, kC), {29, {{0}, kB}}},
               {{2}, {1}});
  for (const int keep : {0, 1}) {
    const std::vector<std::pair<int, int>> sum = {{11, 1}, {10, 2}, {16, keep}};
    expect_sound({{41, {kA}, sum}, {41, {kB}, sum}, add({0}, {1})}, {add(kA, kB), {41, {{0}}, sum}},
                 {{2}, {1}});
  }
  expect_sound({{14, {kA}, {{11, 0}, {10, 2}}}, relu({0})},
               {relu(kA), {14, {{0}}, {{11, 0}, {10, 2}}}}, {{1}, {1}});
  const std::vector<std::pair<int, int>> last = {{11, 1}, {10, 2}};
  expect_sound({{1000, {kA}, last}, {1000, {kB}, last}, concat({0}, {1}, 0, 2)},
               {concat(kA, kB, 0, 2), {1000, {{0}}, last}}, {{2}, {1}});
}

TEST(TasoOperators, ConstantsStandOnEitherSide) {
  expect_sound({{22, {}}, matmul(kA, {0})}, {}, {{1}, kA});
  expect_sound({kernel_op(23, {}), conv(kA, {0})}, {}, {{1}, kA});
  expect_sound({{24, {}}, mul(kA, {0})}, {}, {{1}, kA});
  expect_sound({kernel_op(25, {}), conv(kA, {0})}, {pool(7, kA)}, {{1}, {0}});
  expect_sound({matmul(kA, kB), add({0}, kA)}, {{22, {}}, add(kB, {0}), matmul(kA, {1})},
               {{1}, {2}});
  expect_sound({conv(kA, kB), conv(kA, kC), add({0}, {1})},
               {kernel_op(20, {kB}), kernel_op(20, {kC}), add({0}, {1}), conv(kA, {2})},
               {{2}, {3}});
}

TEST(TasoOperators, ASplitOfTheTargetPartsWhatMeetsAConcat) {
  expect_sound({concat(kA, kB, 0, 2), matmul(kC, {0})},
               {split(kC, 1), matmul({0, 0}, kA), matmul({0, 1}, kB), add({1}, {2})}, {{1}, {3}});
}

TEST(TasoOperators, ARuleThatNeedsMatricesSaysSo) {
  const TasoOutcome outcome = outcome_of(rule_bytes(
      {split(kA, 1), matmul(kB, {0, 0})}, {matmul(kB, kA), split({0}, 1)}, {{{1}, {1, 0}}}));
  EXPECT_TRUE(outcome.accepted()) << outcome.refusal;
  EXPECT_EQ(outcome.narrowing, "tensors of two dimensions");
  EXPECT_THAT(outcome.text, HasSubstr("rank(x2) == 2"));
}

TEST(TasoOperators, JoinedTensorsOfEqualShapesMayChangePlaces) {
  const TasoOutcome outcome = outcome_of(
      rule_bytes({concat(kA, kB, 1, 2), concat(kC, kD, 0, 2), matmul({0}, {1})},
                 {concat(kB, kA, 1, 2), concat(kD, kC, 0, 2), matmul({0}, {1})}, {{{2}, {2}}}));
  EXPECT_TRUE(outcome.accepted()) << outcome.refusal;
  EXPECT_EQ(outcome.narrowing, "joined tensors of equal shape");
  EXPECT_THAT(outcome.text, HasSubstr("shape(x1) == shape(x2)"));
}

TEST(TasoOperators, WhatOnlyTheTargetDemandsIsACondition) {
  // Sums of two tensors of unequal length have equal shapes; the tensors cannot be added.
  const std::vector<std::pair<int, int>> sum = {{11, 1}, {10, 2}, {16, 1}};
  const TasoOutcome outcome =
      outcome_of(rule_bytes({{41, {kA}, sum}, {41, {kB}, sum}, add({0}, {1})},
                            {add(kA, kB), {41, {{0}}, sum}}, {{{2}, {1}}}));
  EXPECT_THAT(outcome.text, HasSubstr("dim(x1, 1) == dim(x2, 1)"));
  EXPECT_THAT(outcome_of(kAssociative).text, Not(HasSubstr("dim(")));
}

TEST(TasoOperators, RulesThatDivideAskForFloats) {
  const auto div = [](TasoTensor a, TasoTensor b) { return Op{29, {a, b}, {}}; };
  const TasoOutcome outcome = outcome_of(rule_bytes({div(kA, kC), div(kB, kC), add({0}, {1})},
                                                    {add(kA, kB), div({0}, kC)}, {{{2}, {1}}}));
  EXPECT_TRUE(outcome.accepted()) << outcome.refusal;
  EXPECT_THAT(outcome.text, HasSubstr("is_float(x1)"));
  EXPECT_THAT(outcome_of(kAssociative).text, Not(HasSubstr("is_float")));
}

TEST(TasoOperators, AnUnknownExtentOfAConstantIsSaid) {
  EXPECT_THAT(outcome_of(rule_bytes({relu(kA)}, {{24, {}}, relu(kA)}, {{{0}, {1}}})).refusal,
              HasSubstr("nothing says how large"));
}

TEST(TasoOperators, UnsoundRulesAreRefused) {
  expect_counterexample(outcome_of(rule_bytes({pool(6, kA), pool(6, kB), add({0}, {1})},
                                              {add(kA, kB), pool(6, {0})}, {{{2}, {1}}})));
  expect_counterexample(
      outcome_of(rule_bytes({matmul(kA, kB), transpose({0})},
                            {transpose(kA), transpose(kB), matmul({0}, {1})}, {{{1}, {2}}})));
  expect_counterexample(
      outcome_of(rule_bytes({scale(kA, kB), relu({0})}, {relu(kA), scale({0}, kB)}, {{{1}, {1}}})));
  const std::vector<std::pair<int, int>> first = {{11, 0}, {10, 2}};
  expect_counterexample(
      outcome_of(rule_bytes({{1000, {kA}, first}, {1000, {kB}, first}, concat({0}, {1}, 0, 2)},
                            {concat(kA, kB, 0, 2), {1000, {{0}}, first}}, {{{2}, {1}}})));
}

// --- What cannot be said
// ----------------------------------------------------------------------------

TEST(TasoImport, StatedGroupsAreACondition) {
  Op grouped = conv(kA, kB);
  grouped.parameters.emplace_back(taso_key::kGroup, 2);
  Op other = conv(kA, kC);
  other.parameters.emplace_back(taso_key::kGroup, 2);
  const TasoOutcome sound = outcome_of(
      rule_bytes({grouped, other, add({0}, {1})}, {add(kB, kC), conv(kA, {0})}, {{{2}, {1}}}));
  EXPECT_TRUE(sound.accepted()) << sound.refusal;
  EXPECT_THAT(sound.text, HasSubstr("group = 2"));
  expect_counterexample(
      outcome_of(rule_bytes({grouped, other, concat({0}, {1}, 1, 4)},
                            {concat(kB, kC, 0, 4), conv(kA, {0})}, {{{2}, {1}}})));
}

TEST(TasoImport, WhatIsNotUnderstoodIsSaid) {
  EXPECT_THAT(outcome_of(rule_bytes({{21, {kA}}}, {relu(kA)}, {{{0}, {0}}})).refusal,
              HasSubstr("operator type 21 is not one that is understood"));
  EXPECT_THAT(
      outcome_of(rule_bytes({{3, {kA, kB}, {{6, 2}, {7, 2}}}}, {conv(kA, kB)}, {{{0}, {0}}}))
          .refusal,
      HasSubstr("stride 2"));
  EXPECT_THAT(outcome_of(rule_bytes({relu(kA), relu(kB)}, {relu(kA), split({0}, 1)},
                                    {{{0}, {1, 0}}, {{1}, {1, 1}}}))
                  .refusal,
              HasSubstr("nothing says where"));
  EXPECT_THAT(outcome_of(rule_bytes({relu(kA)}, {add(kA, kB)}, {{{0}, {0}}})).refusal,
              HasSubstr("x2, which the source does not hold"));
}

TEST(TasoImport, ABrokenFileIsRefused) {
  EXPECT_THROW(rules_in("rule a\nmatch\n"), InputError);
  EXPECT_THROW(rules_in(""), InputError);
  EXPECT_THROW(rules_in(rule_bytes({relu({1})}, {relu(kA)}, {{{0}, {0}}})), InputError);
  EXPECT_THROW(rules_in(rule_bytes({relu(kA)}, {relu(kA)}, {{{0}, {0, 1}}})), InputError);
  EXPECT_THROW(rules_in(rule_bytes({relu(kA)}, {relu(kA)}, {{{0}, {7}}})), InputError);
}

// --- Export
// -----------------------------------------------------------------------------------------

/// Exported, written and read again.
std::vector<TasoRule> round_trip(const TasoExport& exported) {
  const TemporaryDirectory directory;
  write_taso_rules(exported.rules, directory / "rules.pb");
  return read_taso_rules(directory / "rules.pb");
}

TEST(TasoExport, OperatorsOfTheGeneratorComeBack) {
  const std::vector<std::pair<int, int>> last = {{11, 1}, {10, 2}};
  const std::vector<std::pair<int, int>> sum = {{11, 1}, {10, 2}, {16, 0}};
  const auto original = rules_in(
      rule_bytes({matmul(kA, kB), transpose({0})}, {transpose(kA), transpose(kB), matmul({1}, {0})},
                 {{{1}, {2}}}) +
      rule_bytes({scale(kA, kB), scale({0}, kC)}, {mul(kB, kC), scale(kA, {0})}, {{{1}, {1}}}) +
      rule_bytes({pool(7, kA), pool(7, kB), concat({0}, {1}, 1, 4)},
                 {concat(kA, kB, 1, 4), pool(7, {0})}, {{{2}, {1}}}) +
      rule_bytes({{1000, {kA}, last}, {1000, {kB}, last}, concat({0}, {1}, 0, 2)},
                 {concat(kA, kB, 0, 2), {1000, {{0}}, last}}, {{{2}, {1}}}) +
      rule_bytes({{28, {kA, kB}}, {41, {{0}}, sum}},
                 {{41, {kA}, sum}, {41, {kB}, sum}, {28, {{0}, {1}}}}, {{{1}, {2}}}));
  const auto outcomes = import_taso_rules(original);
  for (const TasoOutcome& outcome : outcomes)
    EXPECT_TRUE(outcome.accepted()) << outcome.refusal << outcome.counterexample;
  const TasoExport exported =
      export_taso_rules(RuleSet::parse(rule_file_text(outcomes, "test"), "text"));
  for (const auto& [name, reason] : exported.left_out) ADD_FAILURE() << name << ": " << reason;
  const auto back = round_trip(exported);
  ASSERT_EQ(back.size(), original.size());
  for (size_t i : {0, 2, 4})
    EXPECT_EQ(taso::canonical_form(back[i]), taso::canonical_form(original[i]));
}

TEST(TasoExport, WhatWasImportedComesBack) {
  const auto original = rules_in(kAssociative + kGroups + kParallel);
  const RuleSet rules = RuleSet::parse(rule_file_text(import_taso_rules(original), "test"), "text");
  const TasoExport exported = export_taso_rules(rules);
  EXPECT_THAT(exported.names, testing::ElementsAre("taso_000", "taso_002"));
  const auto back = round_trip(exported);
  EXPECT_EQ(taso::canonical_form(back[0]), taso::canonical_form(original[0]));
  EXPECT_NE(taso::canonical_form(back[1]), taso::canonical_form(original[2]));
  EXPECT_EQ(back[1].source[0].parameter(taso_key::kGroup, 0), 1);
  const auto again = import_taso_rules(back);
  EXPECT_TRUE(again[1].accepted());
  EXPECT_EQ(again[1].narrowing, "");  // the file states it now
  ASSERT_EQ(exported.left_out.size(), 1u);
  EXPECT_THAT(exported.left_out[0].second, HasSubstr("it demands ==(shape(x2), shape(x4))"));
}

TEST(TasoExport, LibraryRulesKeepTheirMeaningOrAreLeftOut) {
  const TasoExport exported = export_taso_rules(RuleSet::builtin());
  EXPECT_EQ(exported.rules.size() + exported.left_out.size(),
            static_cast<size_t>(RuleSet::builtin().size()));
  for (const auto& [name, reason] : exported.left_out) EXPECT_THAT(reason, Not(IsEmpty())) << name;
  const RuleSet plain = RuleSet::parse(
      "rule f\nmatch\n  y = Mul(Add(a, b), c)\nwhere\n  shape(a) == shape(b)\nreplace\n"
      "  y = Add(Mul(a, c), Mul(b, c))\n",
      "text");
  const TasoExport one = export_taso_rules(plain);
  ASSERT_EQ(one.rules.size(), 1u) << one.left_out[0].second;
  EXPECT_TRUE(import_taso_rules(round_trip(one))[0].accepted());
}

// --- The published file
// -----------------------------------------------------------------------------

std::filesystem::path published_rules() {
  const char* given = std::getenv("REVERIE_RULES");
  const std::filesystem::path folder =
      given != nullptr ? std::filesystem::path(given)
                       : std::filesystem::path(REVERIE_SOURCE_DIR) / "../shared/rules";
  return folder / "graph_subst.pb";
}

TEST(TasoPublished, AllRulesLoadAndEachIsVerified) {
  if (!std::filesystem::exists(published_rules()))
    GTEST_SKIP() << published_rules() << " is not there";
  const auto original = read_taso_rules(published_rules());
  ASSERT_EQ(original.size(), 133u);
  const auto outcomes = import_taso_rules(original);
  int as_stated = 0, narrowed = 0;
  for (const TasoOutcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.accepted())
        << outcome.name << ": " << outcome.refusal << ": " << outcome.counterexample;
    EXPECT_EQ(outcome.narrowing.empty(), outcome.counterexample.empty()) << outcome.name;
    ++(outcome.narrowing.empty() ? as_stated : narrowed);
  }
  const RuleSet rules = RuleSet::parse(rule_file_text(outcomes, "published"), "text");
  EXPECT_EQ(rules.size(), 133);
  const TasoExport exported = export_taso_rules(rules);
  const auto back = round_trip(exported);
  EXPECT_EQ(as_stated, 122);
  EXPECT_EQ(narrowed, 11);
  EXPECT_EQ(back.size(), 129u);  // the format states groups, and no equal filters
  for (size_t i = 0; i < back.size(); ++i) {
    const auto number = static_cast<size_t>(std::stoi(exported.names[i].substr(5)));
    EXPECT_EQ(taso::canonical_form(back[i]) == taso::canonical_form(original[number]),
              outcomes[number].narrowing.empty());
  }
}

/// All rules together, from the examples of each and from graphs that were not drawn to fit them,
/// with broadcasts, shared values and other ranks.
TEST(TasoPublished, RandomRewritesAgree) {
  if (!std::filesystem::exists(published_rules()))
    GTEST_SKIP() << published_rules() << " is not there";
  constexpr int kRewrites = 1500;
  constexpr int kSteps = 8;
  const auto outcomes = import_taso_rules(read_taso_rules(published_rules()));
  const auto rules = std::make_shared<const RuleSet>(
      RuleSet::parse(rule_file_text(outcomes, "published"), "text"));
  const auto cost = make_cost_model("roofline:t4");
  std::set<int> seen;
  int done = 0;
  for (uint64_t seed = 1; done < kRewrites; ++seed) {
    const int rule = static_cast<int>(seed) - 1;
    const Graph original =
        rule < rules->size()
            ? build_example((*rules)[rule].pattern(), (*rules)[rule].pattern().examples[0], seed)
            : RandomGraph::make(seed, 25);
    Rng rng(seed);
    RewriteState state(original, rules, cost);
    for (int step = 0; step < kSteps; ++step, ++done) {
      const Match match = random_match(state, rng);
      if (match.slot < 0) break;
      seen.insert(match.rule);
      state.commit(state.propose(match));
      expect_consistent(state, rules, cost);
    }
    const Agreement agreement = compare(original, state.graph(), {.inputs = 1, .seed = seed});
    EXPECT_TRUE(agreement.agree) << "seed " << seed << ": " << agreement.reason;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(seen.size(), 90u) << "the graphs reach too few rules";
}

}  // namespace
}  // namespace reverie
