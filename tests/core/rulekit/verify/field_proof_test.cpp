#include "core/rulekit/verify/field_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rules/pattern.h"
#include "tests/core/rulekit/planted_rules.h"

namespace reverie {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

FieldProof proof_of(const std::string& text, int variations = 24) {
  const RuleSet rules = RuleSet::parse(text, "rules");
  return prove_over_field(rules[0], {.points = 2, .variations = variations, .seed = 1});
}

TEST(FieldProof, CatchesEveryPlantedRule) {
  for (const auto& [what, text] : testing::planted_rules()) {
    const FieldProof proof = proof_of(text);
    EXPECT_FALSE(proof.proved()) << what;
    EXPECT_THAT(proof.counterexample, HasSubstr("differs at [")) << what;
  }
}

/// The example itself agrees; a rule that holds there alone needs other shapes to be found out.
TEST(FieldProof, CatchesConditionsThatAreTooWide) {
  for (const auto& [what, text] : testing::too_wide_rules()) {
    EXPECT_TRUE(proof_of(text, 0).proved()) << what;
    const FieldProof proof = proof_of(text);
    EXPECT_FALSE(proof.proved()) << what;
    EXPECT_THAT(proof.counterexample, HasSubstr("differs at [")) << what;
  }
}

TEST(FieldProof, SoundRulesHaveShapesRanksAndAnErrorBound) {
  const FieldProof proof = proof_of(R"(
rule sound
match
  y = Relu(Add(a, b))
where
  shape(a) == shape(b)
replace
  y = Relu(Add(b, a))
example a: [2, 3], b: [2, 3]
)");
  EXPECT_TRUE(proof.proved()) << proof.counterexample << proof.not_covered;
  EXPECT_THAT(proof.assignments, SizeIs(::testing::Gt(8u)));
  EXPECT_THAT(proof.ranks, Contains(1));
  EXPECT_THAT(proof.ranks, Contains(3));
  EXPECT_EQ(proof.degree, 1);
  EXPECT_GT(proof.error, 0);
  EXPECT_LT(proof.error, 1e-20);
}

TEST(FieldProof, ErrorsMultiplyOverPoints) {
  const RuleSet rules = RuleSet::parse(
      "rule r\nmatch\n  y = Mul(a, b)\nreplace\n  y = Mul(b, a)\nexample a: [2], b: [2]\n",
      "rules");
  const double once = prove_over_field(rules[0], {.points = 1, .variations = 0}).error;
  EXPECT_DOUBLE_EQ(once, 2 / 0x1p61);
  EXPECT_DOUBLE_EQ(prove_over_field(rules[0], {.points = 3, .variations = 0}).error,
                   once * once * once);
}

TEST(FieldProof, SaysWhatItDoesNotCover) {
  const FieldProof proof = proof_of(R"(
rule comparison
match
  y = Greater(a, b)
replace
  y = Less(b, a)
example a: [2], b: [2]
)");
  EXPECT_FALSE(proof.proved());
  EXPECT_THAT(proof.not_covered, HasSubstr("Greater"));
  EXPECT_EQ(proof.counterexample, "");
}

TEST(FieldProof, SaysNothingOfIntegers) {
  const FieldProof proof = proof_of(R"(
rule square
match
  y = Mul(x, x)
replace
  y = x
example x: int32 [6]
)");
  EXPECT_FALSE(proof.proved());
  EXPECT_THAT(proof.not_covered, HasSubstr("it computes with integers"));
}

/// Both are undefined everywhere, so that nothing is seen of either.
TEST(FieldProof, ADivisionByZeroIsNoCounterexample) {
  const FieldProof proof = proof_of(R"(
rule always_undefined
match
  y = Div(Add(a, b), Sub(c, c))
replace
  d = Sub(c, c)
  y = Add(Div(a, d), Div(b, d))
example a: [2], b: [2], c: [2]
)");
  EXPECT_FALSE(proof.proved());
  EXPECT_EQ(proof.counterexample, "");
  EXPECT_THAT(proof.not_covered, HasSubstr("c: [2]"));
  EXPECT_THAT(proof.not_covered, HasSubstr("a divisor is 0 at every point tried"));
}

TEST(FieldProof, AnotherAssignmentThanOneThatDividesByZeroIsACounterexample) {
  const FieldProof proof = proof_of(R"(
rule undefined_for_one_row
match
  y = Div(a, b)
replace
  y = Div(a, Mul(b, fill(dim(a, 0) - 1, [1], dtype(a))))
example a: [1, 3], b: [1, 3]
)");
  EXPECT_THAT(proof.not_covered, HasSubstr("a: [1, 3]"));
  EXPECT_THAT(proof.counterexample, HasSubstr("differs at ["));
}

/// A weight and an attribute that hold the same number hold the same element.
TEST(FieldProof, ANumberIsTheSameFractionEverywhere) {
  const FieldProof proof = proof_of(R"(
rule scaled_product
match
  y = Gemm(a, b; alpha = 0.1, beta = 1.0, transA = 0, transB = 0, activation = "none")
replace
  y = Mul(Gemm(a, b; like y, alpha = 1.0), fill(0.1, [1], dtype(a)))
example a: [2, 3], b: [3, 4]
)");
  EXPECT_TRUE(proof.proved()) << proof.counterexample << proof.not_covered;
}

TEST(FieldProof, TheSameSeedGivesTheSameProof) {
  const Rule& rule = RuleSet::builtin()[RuleSet::builtin().find("conv_batchnorm")];
  const FieldProof a = prove_over_field(rule);
  const FieldProof b = prove_over_field(rule);
  EXPECT_EQ(a.assignments.size(), b.assignments.size());
  EXPECT_EQ(a.ranks, b.ranks);
  EXPECT_EQ(a.error, b.error);
}

class ProvedRule : public ::testing::TestWithParam<std::string> {};

TEST_P(ProvedRule, IsProvedOverTheField) {
  const RuleSet& rules = RuleSet::builtin();
  const Rule& rule = rules[rules.find(GetParam())];
  const FieldProof proof = prove_over_field(rule);
  EXPECT_TRUE(proof.proved()) << proof.counterexample << proof.not_covered;
  EXPECT_THAT(proof.assignments, SizeIs(::testing::Ge(4u)));
  EXPECT_LT(proof.error, 1e-15);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (int i = 0; i < RuleSet::builtin().size(); ++i) result.push_back(RuleSet::builtin().name(i));
  return result;
}

INSTANTIATE_TEST_SUITE_P(Field, ProvedRule, ::testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace reverie
