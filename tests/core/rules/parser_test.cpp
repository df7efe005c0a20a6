#include "core/rules/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/rules/rule.h"

namespace reverie {
namespace {

std::string error_of(const std::string& text) {
  try {
    RuleSet::parse(text, "my.rules");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(RuleParser, ErrorsNameFileLineAndColumn) {
  using testing::HasSubstr;
  using testing::StartsWith;
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Rellu(x)\nreplace\n  y = x\n"),
              StartsWith("my.rules:3:7: 'Rellu' is no operator"));
  EXPECT_THAT(
      error_of("rule a\nmatch\n  y = Pointwise(x; program = \"y = Relu(x0)\")\nreplace\n  y = x\n"),
      StartsWith("my.rules:3:7: 'Pointwise' is no operator that a rule may hold"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  y = z\n"),
              StartsWith("my.rules:5:7: 'z' is no tensor"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  x = Relu(x)\n"),
              HasSubstr("'x' is an input of the pattern"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x; alpha = 1)\nreplace\n  y = x\n"),
              StartsWith("my.rules:3:15: Relu has no attribute 'alpha'"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nwhere\n  rnk(x) == 2\nreplace\n  y = x\n"),
              StartsWith("my.rules:5:3: 'rnk' is no function"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\n"), HasSubstr("expected 'replace'"));
  EXPECT_THAT(error_of("rule a @\n"), StartsWith("my.rules:1:8: character '@'"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Concat(xs; axis = \"0)\n"),
              HasSubstr("a string without end"));
}

TEST(RuleParser, BrokenStructureIsRefused) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\n  z = Relu(w)\nreplace\n  y = x\n"),
              HasSubstr("fall apart"));
  EXPECT_EQ(error_of("rule a\napart\nmatch\n  y = Relu(x)\n  z = Relu(w)\nreplace\n  y = x\n"),
            "no error");
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  t = Tanh(x)\n  y = x\n"),
              HasSubstr("is used by nothing"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  z = Relu(x)\n"),
              HasSubstr("replaces nothing"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  y = Relu(y)\n"),
              HasSubstr("before it has its new meaning"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x, x)\nreplace\n  y = x\n"),
              HasSubstr("takes 1 to 1"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Concat(xs...; axis = 0)\nreplace\n"
                       "  y = Concat(xs; axis = 0)\n"),
              HasSubstr("a sequence needs '...'"));
  const std::string rule = "rule a\nmatch\n  y = Relu(x)\nreplace\n  y = x\n";
  EXPECT_THAT(error_of(rule + rule), HasSubstr("exists already"));
}

/// Whatever prefix of a correct text is read, the outcome is rules or an InputError.
TEST(RuleParser, TruncatedTextsAreRefusedNotCrashed) {
  const std::string text =
      "rule a\nmatch\n  y, z = Split(x; axis = k, split = [2, n])\nwhere\n  dim(x, k) > 3 + -1\n"
      "replace\n  y = Slice(x; starts = [0], ends = y.split, axes = [k])\nexample x: const [2, "
      "3]\n";
  for (size_t length = 0; length < text.size(); ++length) {
    try {
      RuleSet::parse(text.substr(0, length), "cut");
    } catch (const InputError&) {
    }
  }
}

TEST(RuleParser, UsesAreReadByConditionsAlone) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  y = Elu(x; alpha = uses(x))\n"),
              HasSubstr("uses()"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nwhere\n  n = uses(x)\nreplace\n  y = x\n"),
              HasSubstr("uses()"));
}

TEST(RuleParser, DeepNestingIsRefusedNotCrashed) {
  using testing::HasSubstr;
  const std::string deep(100000, '(');
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nwhere\n  " + deep), HasSubstr("nesting"));
  std::string calls;
  for (int i = 0; i < 100000; ++i) calls += "Relu(";
  EXPECT_THAT(error_of("rule a\nmatch\n  y = " + calls), HasSubstr("nesting"));
  EXPECT_THAT(error_of("rule a\nmatch\n  y = Relu(x)\nreplace\n  y = " + calls),
              HasSubstr("nesting"));
}

/// LANGUAGE.md tells of every function.
TEST(RuleLanguage, FunctionsAreDocumented) {
  std::ifstream file(REVERIE_SOURCE_DIR "/core/rules/LANGUAGE.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(text.empty());
  for (const ExprFunction& function : expr_functions()) {
    if (!std::isalpha(static_cast<unsigned char>(function.name[0]))) continue;
    EXPECT_THAT(text, testing::HasSubstr("`" + function.name + "(")) << function.name;
  }
}

TEST(RuleSet, FingerprintIgnoresCommentsAndBlanks) {
  const RuleSet a = RuleSet::parse("rule a\nmatch\n  y = Relu(x)\nreplace\n  y = x\n", "a");
  const RuleSet b =
      RuleSet::parse("# why\nrule a\nmatch y = Relu( x ) # what\nreplace\n\n  y = x\n", "b");
  const RuleSet c = RuleSet::parse("rule a\nmatch\n  y = Tanh(x)\nreplace\n  y = x\n", "c");
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_NE(a.fingerprint(), c.fingerprint());
}

TEST(RuleSet, AMissingFileIsAnInputError) {
  EXPECT_THROW(RuleSet::load("/nowhere/at.rules"), InputError);
}

}  // namespace
}  // namespace reverie
