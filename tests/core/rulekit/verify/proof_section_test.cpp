#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/rulekit/verify/write_proofs.h"
#include "core/rules/pattern.h"
#include "core/rules/proof.h"
#include "core/rules/rule.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kRules[] = R"(# A file.
rule first   # a comment
match
  y = Add(a, b)
replace
  y = Add(b, a)
example a: [2, 3],
  b: [3]   # behind

# What the second one is.
rule second
match
  y = Relu(Relu(x))
replace
  y = Relu(x)
example x: [2]
)";

RuleProof proof() {
  RuleProof proof;
  proof.field = {9, {1, 2}, 3, 1.234e-20};
  proof.axioms = {{2, 3}, {"relu_idempotent", "add_commutes"}};
  return proof;
}

TEST(ProofSection, IsWrittenReadAndTakenOut) {
  const std::string text = with_proofs(kRules, "rules", {{"first", proof()}});
  EXPECT_THAT(text, HasSubstr(R"(
  b: [3]   # behind
proof
  field(assignments = 9, ranks = [1, 2], degree = 3, error = 1.3e-20)
  axioms(ranks = [2, 3], used = "relu_idempotent, add_commutes")

# What the second one is.
rule second)"));
  const RuleSet rules = RuleSet::parse(text, "rules");
  EXPECT_EQ(rules[0].pattern().proof, as_written(proof()));
  EXPECT_TRUE(rules[1].pattern().proof.empty());
  EXPECT_EQ(with_proofs(text, "rules", {{"first", proof()}}), text);
  EXPECT_EQ(with_proofs(text, "rules", {{"first", {}}}), kRules);

  const std::string both = with_proofs(text, "rules", {{"second", proof()}});
  EXPECT_EQ(RuleSet::parse(both, "rules")[1].pattern().proof, as_written(proof()));
  EXPECT_THAT(both, ::testing::EndsWith("add_commutes\")\n"));
}

TEST(ProofSection, IsNoPartOfTheFingerprint) {
  const std::string text = with_proofs(kRules, "rules", {{"first", proof()}, {"second", proof()}});
  EXPECT_EQ(RuleSet::parse(text, "rules").fingerprint(),
            RuleSet::parse(kRules, "rules").fingerprint());
}

TEST(ProofSection, MistakesAreNamed) {
  const auto error_of = [](const std::string& section) {
    try {
      RuleSet::parse(
          std::string("rule r\nmatch\n  y = Relu(x)\nreplace\n  y = Relu(x)\nproof\n") + section,
          "rules");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(error_of("  axioms(ranks = [2], used = \"a\")\n"), "");
  EXPECT_THAT(error_of("  belief(strong)\n"), HasSubstr("rules:7:3: expected 'field' or 'axioms'"));
  EXPECT_THAT(error_of("  field(ranks = [2])\n"), HasSubstr("expected 'assignments'"));
  EXPECT_THAT(error_of("  axioms(ranks = 2, used = \"a\")\n"), HasSubstr("rules:7:10"));
  EXPECT_THAT(
      error_of("  axioms(ranks = [2], used = \"a\")\n  axioms(ranks = [2], used = \"a\")\n"),
      HasSubstr("each once"));
  EXPECT_THAT(error_of(""), HasSubstr("expected"));
}

TEST(ProofSection, WhatIsClaimedHasToBeFound) {
  EXPECT_EQ(unconfirmed(as_written(proof()), proof()), "");
  RuleProof found = proof();
  found.axioms->ranks = {2};
  EXPECT_THAT(unconfirmed(as_written(proof()), found), HasSubstr("not [2, 3]"));
  found.axioms.reset();
  EXPECT_THAT(unconfirmed(as_written(proof()), found), HasSubstr("axioms"));
  found = proof();
  found.field->assignments = 8;
  EXPECT_NE(unconfirmed(as_written(proof()), found), "");
  found = proof();
  found.field->error = 1e-19;
  EXPECT_NE(unconfirmed(as_written(proof()), found), "");
  found.field.reset();
  EXPECT_NE(unconfirmed(as_written(proof()), found), "");
  EXPECT_EQ(unconfirmed(RuleProof{}, found), "");
}

}  // namespace
}  // namespace reverie
