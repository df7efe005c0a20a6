#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/hash.h"
#include "core/rulekit/field/field_executor.h"
#include "core/rulekit/prove/axiom_proof.h"
#include "core/rulekit/prove/prove.h"
#include "core/rulekit/verify/assignments.h"
#include "core/rules/example.h"
#include "core/rules/no_cost.h"
#include "core/rules/pattern.h"
#include "core/rules/rewrite_state.h"
#include "tests/core/rulekit/planted_rules.h"

namespace reverie {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What the prover takes for granted has to be true: in all forms in which it uses it, and on drawn
/// extents besides.
class Axiom : public ::testing::TestWithParam<std::string> {};

FieldProof check(const std::string& text) {
  const RuleSet rules = RuleSet::parse(text, "axioms");
  RulePattern pattern = rules[0].pattern();
  const auto fits = [&](const RuleExample& example) { return rule_applies(rules[0], example); };
  std::vector<RuleExample> all;
  for (const RuleExample& example : pattern.examples)
    for (RuleExample& other : verify::with_more_axes(pattern, example, 4, fits))
      all.push_back(other);
  pattern.examples = std::move(all);
  return prove_over_field(Rule(std::make_shared<const RulePattern>(pattern)),
                          {.points = 1, .variations = 6});
}

TEST_P(Axiom, HoldsOverTheField) {
  const FieldProof proof = check(axioms()[axioms().find(GetParam())].text());
  EXPECT_TRUE(proof.proved()) << proof.counterexample << proof.not_covered;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (int i = 0; i < axioms().size(); ++i) result.push_back(axioms().name(i));
  return result;
}

INSTANTIATE_TEST_SUITE_P(Axioms, Axiom, ::testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

/// Elements 0, 1 and 2, so that divisors, too, are often 0.
std::vector<FieldTensor> small_inputs(const Graph& graph, uint64_t seed) {
  std::vector<FieldTensor> inputs;
  for (const NodeId input : graph.inputs()) {
    FieldTensor tensor = draw_field_tensor(graph.type(graph.output(input)),
                                           Rng(seed).fork(hash_string(graph.input_name(input))));
    for (uint64_t& element : tensor.elements.data<uint64_t>()) element %= 3;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// With x / 0 = 0, as the field executor has it. Then a chain of axioms that leads through a graph
/// with a division by 0 proves nothing that is false where both of its ends are defined.
TEST_P(Axiom, HoldsWhereDivisorsAreZero) {
  const Rule& axiom = axioms()[axioms().find(GetParam())];
  const auto alone = std::make_shared<RuleSet>();
  alone->add(axiom);
  const auto weights = [](const Weight& weight) { return to_field(weight.materialize()); };
  for (const RuleExample& example : axiom.pattern().examples) {
    const Graph source = build_example(axiom.pattern(), example, 1);
    RewriteState state(source, alone, std::make_shared<NoCost>());
    ASSERT_FALSE(state.locations(0).empty());
    state.commit(state.propose(state.locations(0)[0]));
    const Graph& target = state.graph();
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      FieldExecutor executor(seed);
      const auto left = executor.run(source, small_inputs(source, seed), weights);
      const auto right = executor.run(target, small_inputs(target, seed), weights);
      for (size_t i = 0; i < left.size(); ++i)
        EXPECT_TRUE(std::ranges::equal(left[i].elements.bytes(), right[i].elements.bytes()))
            << verify::text_of(axiom.pattern(), example);
    }
  }
}

/// What `identity` makes of a shape with more axes is the kernel of a convolution, no matrix.
TEST(Axioms, AnIdentityOfAProductHasTwoAxes) {
  for (const char* name : {"matmul_identity_right", "matmul_identity_left"}) {
    const Rule& axiom = axioms()[axioms().find(name)];
    RuleExample example = axiom.pattern().examples[0];
    ASSERT_TRUE(rule_applies(axiom, example));
    for (auto& [value, tensors] : example.tensors) tensors[0].type.shape = {3, 3, 3};
    EXPECT_FALSE(rule_applies(axiom, example)) << name;
  }
}

TEST(Axioms, AWrongOneIsCaught) {
  for (const char* text :
       {"rule sub_commutes\nmatch\n  y = Sub(a, b)\nreplace\n  y = Sub(b, a)\nexample a: [2], b: "
        "[2]\n",
        "rule interchange\nmatch\n  y = Mul(Concat(a, b; axis = 0), Concat(c, d; axis = "
        "0))\nreplace\n"
        "  y = Concat(Mul(a, d), Mul(b, c); axis = 0)\nexample a: [2], b: [2], c: [2], d: [2]\n",
        "rule sigmoid_idempotent\nmatch\n  y = Sigmoid(Sigmoid(x))\nreplace\n  y = Sigmoid(x)\n"
        "example x: [2]\n"})
    EXPECT_THAT(check(text).counterexample, HasSubstr("differs at ["));
}

AxiomProof by_axioms(const std::string& text) {
  const RuleSet rules = RuleSet::parse(text, "rules");
  return prove_by_axioms(rules[0], rules[0].pattern().examples);
}

TEST(AxiomProof, PlantedRulesDoNotFollow) {
  for (const auto& [what, text] : testing::planted_rules())
    EXPECT_FALSE(by_axioms(text).proved()) << what;
}

/// These hold in the form of their examples; not in all that their conditions allow.
TEST(AxiomProof, RulesThatAreTooWideDoNotFollowInEveryForm) {
  for (const auto& [what, text] : testing::too_wide_rules()) {
    const RuleSet rules = RuleSet::parse(text, "rules");
    const auto fits = [&](const RuleExample& example) { return rule_applies(rules[0], example); };
    const RulePattern& pattern = rules[0].pattern();
    const auto all = verify::vary(pattern, pattern.examples[0], 60, Rng(1), fits);
    const AxiomProof proof = prove_by_axioms(rules[0], all, {.forms = 60});
    EXPECT_LT(proof.followed, proof.forms) << what;
    EXPECT_THAT(
        proof.ranks,
        ::testing::Not(Contains(pattern.examples[0].tensors.begin()->second[0].type.rank())))
        << what;
    const ProofReport report = prove_rule(rules[0]);
    EXPECT_NE(report.refutation(), "") << what;
    EXPECT_TRUE(report.proof.empty()) << what;
  }
}

/// From false premises anything would follow, also this.
TEST(AxiomProof, NothingFalseFollowsFromTheAxioms) {
  EXPECT_FALSE(by_axioms(R"(
rule different_inputs
match
  y = MatMul(Concat(a, b; axis = 1), Concat(c, d; axis = 0); activation = "none")
where
  dim(a, 1) == dim(c, 0)
replace
  y = Add(MatMul(a, c), MatMul(b, c))
example a: [2, 3], b: [2, 3], c: [3, 4], d: [3, 4]
)")
                   .proved());
}

/// Where the premises of a rule and the axioms contradict each other, everything follows from them.
TEST(AxiomProof, PremisesDoNotContradictEachOther) {
  const RuleSet& rules = RuleSet::builtin();
  int tried = 0;
  for (int i = 0; i < rules.size(); ++i) {
    RulePattern pattern = rules[i].pattern();
    MappedOutput& output = pattern.outputs[0];
    if (!pattern.proof.axioms || pattern.values[static_cast<size_t>(output.source)].sequence)
      continue;
    TargetStep step;
    step.op = &op_named("Erf");
    step.inputs = {output.target};
    step.outputs = {pattern.target_values};
    pattern.target.push_back(step);
    output.target = {false, pattern.target_values++};
    const Rule wrong(std::make_shared<const RulePattern>(pattern));
    const AxiomProof proof = prove_by_axioms(wrong, pattern.examples, {.effort = 100'000});
    EXPECT_EQ(proof.followed, 0) << rules.name(i);
    ++tried;
  }
  EXPECT_GT(tried, 40);
}

TEST(AxiomProof, KnownRulesFollowForAllExtents) {
  const AxiomProof proof = by_axioms(R"(
rule two_products
match
  y1 = MatMul(x, w1; activation = "none")
  y2 = MatMul(x, w2; activation = "none")
where
  rank(x) == 2, rank(w1) == 2, rank(w2) == 2
replace
  y1, y2 = Split(MatMul(x, Concat(w1, w2; axis = 1); activation = "none"); axis = 1, split = [dim(w1, 1), dim(w2, 1)])
example x: [3, 4], w1: [4, 2], w2: [4, 5]
)");
  EXPECT_THAT(proof.ranks, ElementsAre(2)) << proof.not_covered;
  EXPECT_THAT(proof.used, Contains("matmul_concat_columns"));
  EXPECT_THAT(proof.used, Contains("split_of_concat"));
}

TEST(AxiomProof, ASplitPointMattersForAllExtents) {
  EXPECT_FALSE(by_axioms(R"(
rule halves
match
  y1 = MatMul(x, w1; activation = "none")
  y2 = MatMul(x, w2; activation = "none")
where
  rank(x) == 2, rank(w1) == 2, rank(w2) == 2, shape(w1) == shape(w2)
replace
  y2, y1 = Split(MatMul(x, Concat(w1, w2; axis = 1); activation = "none"); axis = 1, split = [dim(w1, 1), dim(w2, 1)])
example x: [3, 4], w1: [4, 2], w2: [4, 2]
)")
                   .proved());
}

/// Whether two constants are proved to be the same, by no axiom.
bool same_constant(const std::string& given, const std::string& made) {
  return by_axioms("rule r\nmatch\n  y = Max(x, c)\nwhere\n  splat(c) == " + given +
                   "\nreplace\n  y = Max(x, fill(" + made +
                   ", shape(c), dtype(c)))\nexample x: [7], c: const [7] = 0.5\n")
      .proved();
}

TEST(AxiomProof, NumbersAreExact) {
  EXPECT_TRUE(same_constant("0.1", "0.1"));
  EXPECT_TRUE(same_constant("1e-25", "1e-25"));
  EXPECT_FALSE(same_constant("1e-25", "0.0"));
  EXPECT_FALSE(same_constant("1e-310", "2e-310"));
  EXPECT_FALSE(same_constant("1e300", "2e300"));
}

/// The rule language rounds towards 0, Z3 does not.
TEST(AxiomProof, QuotientsOfNegativeNumbersAreThoseOfTheRuleLanguage) {
  EXPECT_TRUE(same_constant("(1 - 4) / 2", "-1"));
  EXPECT_FALSE(same_constant("(1 - 4) / 2", "-2"));
  EXPECT_TRUE(same_constant("(1 - 4) % 2", "-1"));
  EXPECT_FALSE(same_constant("(1 - 4) % 2", "1"));
  EXPECT_TRUE(same_constant("(dim(x, 0) + 4) / 2", "dim(x, 0) / 2 + 2"));
  EXPECT_FALSE(
      same_constant("(dim(x, 0) - 4) / 2", "dim(x, 0) / 2 - 2"));  // not for an extent of 1
  EXPECT_TRUE(same_constant("(dim(x, 0) - 1) / 2", "(dim(x, 0) + 1) / 2 - 1"));
  EXPECT_TRUE(same_constant("(dim(x, 0) + 4) % 2", "dim(x, 0) % 2"));
  EXPECT_FALSE(same_constant("(dim(x, 0) - 4) % 2", "dim(x, 0) % 2"));
}

TEST(AxiomProof, SaysWhatNoAxiomSpeaksOf) {
  const AxiomProof proof = by_axioms(
      "rule r\nmatch\n  y = Slice(x; axes = [0], starts = [0], ends = [1], steps = [1])\nreplace\n"
      "  y = Slice(x; axes = [0], starts = [0], ends = [1], steps = [1])\nexample x: [3]\n");
  EXPECT_FALSE(proof.proved());
  EXPECT_THAT(proof.not_covered, HasSubstr("Slice"));
}

TEST(AxiomProof, SaysNothingOfIntegers) {
  const std::string rule =
      "rule r\nmatch\n  y = Div(Add(a, b), c)\nreplace\n  y = Add(Div(a, c), Div(b, c))\n";
  EXPECT_TRUE(by_axioms(rule + "example a: [3], b: [3], c: [3]\n").proved());
  const AxiomProof proof = by_axioms(rule + "example a: int32 [3], b: int32 [3], c: int32 [3]\n");
  EXPECT_FALSE(proof.proved());
  EXPECT_THAT(proof.not_covered, HasSubstr("floating-point"));
}

TEST(Prove, StatesBothProofs) {
  const RuleSet& rules = RuleSet::builtin();
  const ProofReport report = prove_rule(rules[rules.find("matmul_sum_inputs")]);
  ASSERT_TRUE(report.proof.field.has_value());
  ASSERT_TRUE(report.proof.axioms.has_value());
  EXPECT_THAT(report.proof.axioms->used, Contains("matmul_distributes_left"));
  EXPECT_THAT(report.refutation(), IsEmpty());
}

/// And nothing less; a rule that is changed needs `rules verify --write`.
TEST(Prove, FindsWhatTheLibraryStates) {
  const RuleSet& rules = RuleSet::builtin();
  int by_axioms = 0;
  for (int i = 0; i < rules.size(); ++i) {
    const RuleProof& stated = rules[i].pattern().proof;
    EXPECT_TRUE(stated.field.has_value()) << rules.name(i);
    EXPECT_EQ(unconfirmed(stated, prove_rule(rules[i]).proof), "") << rules.name(i);
    by_axioms += stated.axioms.has_value();
  }
  EXPECT_GT(by_axioms, 40);
}

}  // namespace
}  // namespace reverie
