#include "core/rulekit/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/rulekit/taso/translate.h"
#include "core/rules/pattern.h"
#include "core/rules/rule.h"
#include "tests/support/identities.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using generate::IdentityParser;
using generate::parse_operators;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;

GenerateResult generate_with(const std::string& operators, int depth, int threads = 1,
                             uint64_t seed = 1) {
  GenerateOptions options;
  options.operators = operators;
  options.depth = depth;
  options.threads = threads;
  options.seed = seed;
  return generate_rules(options);
}

std::vector<std::string> forms_of(const GenerateResult& result) {
  std::vector<std::string> forms;
  for (const TasoRule& rule : result.rules) forms.push_back(taso::canonical_form(rule));
  return forms;
}

std::string form(const std::string& operators, const std::string& text) {
  const auto parsed = parse_operators(operators);
  return taso::canonical_form(to_taso(IdentityParser(parsed).parse(text), parsed));
}

TEST(Generate, MatrixProductsAreAssociativeAndNothingElse) {
  for (const int depth : {2, 3})
    EXPECT_THAT(forms_of(generate_with("matmul", depth)),
                UnorderedElementsAreArray(
                    {form("matmul", "matmul(matmul(a,b),c) = matmul(a,matmul(b,c))"),
                     form("matmul", "matmul(a,matmul(b,c)) = matmul(matmul(a,b),c)")}))
        << depth;
}

/// What was left out because it follows from associativity comes back where that is not accepted.
TEST(Generate, NothingFollowsFromWhatIsNotAccepted) {
  GenerateOptions options;
  options.operators = "matmul";
  options.depth = 3;
  options.accepts = [](size_t, const TasoRule&) { return true; };
  EXPECT_EQ(generate_rules(options).rules.size(), 2u);
  const std::string text = "matmul(matmul(matmul(a,b),c),d) = matmul(a,matmul(b,matmul(c,d)))";
  options.accepts = [](size_t, const TasoRule& rule) { return rule.source.size() > 2; };
  const GenerateResult result = generate_rules(options);
  EXPECT_THAT(forms_of(result), Contains(form("matmul", text)));
  EXPECT_GT(result.rules.size(), 2u);
}

TEST(Generate, EveryRuleIsToldOfAndAskedForByItsNumberAndOneOfAnIdentityIsEnough) {
  GenerateOptions options;
  options.operators = "matmul,add";
  options.depth = 2;
  std::vector<std::string> found;
  options.found = [&](size_t number, const TasoRule& rule) {
    EXPECT_EQ(number, found.size());
    found.push_back(taso::canonical_form(rule));
  };
  std::map<size_t, std::string> asked;
  options.accepts = [&](size_t number, const TasoRule& rule) {
    EXPECT_LT(number, found.size());
    asked.emplace(number, taso::canonical_form(rule));
    return number % 2 == 1;  // the other direction
  };
  const GenerateResult result = generate_rules(options);
  const std::vector<std::string> forms = forms_of(result);
  for (const auto& [number, form] : asked) EXPECT_EQ(forms.at(number), form);
  EXPECT_EQ(found, forms);
  EXPECT_EQ(forms, forms_of(generate_with("matmul,add", 2)));
}

TEST(Generate, DistributivityIsFoundOnceForEachSide) {
  const std::string ops = "matmul,add";
  EXPECT_THAT(forms_of(generate_with(ops, 3)),
              UnorderedElementsAreArray(
                  {form(ops, "matmul(matmul(a,b),c) = matmul(a,matmul(b,c))"),
                   form(ops, "matmul(a,matmul(b,c)) = matmul(matmul(a,b),c)"),
                   form(ops, "add(add(a,b),c) = add(a,add(b,c))"),
                   form(ops, "matmul(a,add(b,c)) = add(matmul(a,b),matmul(a,c))"),
                   form(ops, "add(matmul(a,b),matmul(a,c)) = matmul(a,add(b,c))"),
                   form(ops, "matmul(add(a,b),c) = add(matmul(a,c),matmul(b,c))"),
                   form(ops, "add(matmul(a,c),matmul(b,c)) = matmul(add(a,b),c)"),
                   // with a for c it does not follow: the way leads over the square of a, which is
                   // not sought
                   form(ops, "matmul(a,add(matmul(b,c),c)) = matmul(add(matmul(a,b),a),c)"),
                   form(ops, "matmul(add(matmul(a,b),a),c) = matmul(a,add(matmul(b,c),c))")}));
}

class KnownIdentity : public testing::TestWithParam<const char*> {
 protected:
  static const std::vector<std::string>& found() {
    static const std::vector<std::string> forms = forms_of(generate_with("taso", 3));
    return forms;
  }
};

TEST_P(KnownIdentity, IsFound) { EXPECT_THAT(found(), Contains(form("taso", GetParam()))); }

INSTANTIATE_TEST_SUITE_P(
    Taso, KnownIdentity,
    testing::Values("mul(a,add(b,c)) = add(mul(a,b),mul(a,c))", "relu(conv(x,w)) = conv_relu(x,w)",
                    "conv(x,w) = conv(x,enlarge(w))", "conv(x,add(u,v)) = add(conv(x,u),conv(x,v))",
                    "conv(add(x,y),w) = add(conv(x,w),conv(y,w))", "conv(x,identity_conv()) = x",
                    "matmul(x,identity_matrix()) = x", "mul(one_2(),x) = x",
                    "average_pool(x) = conv(x,pool_kernel())",
                    "matmul(scale(x,s),w) = scale(matmul(x,w),s)", "relu(relu(x)) = relu(x)",
                    "relu(concat_1_2(x,y)) = concat_1_2(relu(x),relu(y))",
                    "max_pool(concat_1_4(x,y)) = concat_1_4(max_pool(x),max_pool(y))",
                    "concat_1_4(conv(x,u),conv(x,v)) = conv(x,concat_0_4(u,v))",
                    "add(conv(x,u),conv(y,v)) = conv(concat_1_4(x,y),concat_1_4(u,v))",
                    "add(matmul(x,u),matmul(y,v)) = matmul(concat_1_2(x,y),concat_0_2(u,v))",
                    "transpose(matmul(a,b)) = matmul(transpose(b),transpose(a))",
                    "transpose(concat_0_2(a,b)) = concat_1_2(transpose(a),transpose(b))",
                    "split_1_0_2(concat_1_2(x,y)) = x",
                    // several sources, connected through an input or not at all
                    "matmul(x,u) = split_1_0_2(matmul(x,concat_1_2(u,v)));"
                    "matmul(x,v) = split_1_1_2(matmul(x,concat_1_2(u,v)))",
                    "conv(x,u) = split_1_0_4(conv(x,concat_0_4(u,v)));"
                    "conv(x,v) = split_1_1_4(conv(x,concat_0_4(u,v)))",
                    "relu(x) = split_0_0_2(relu(concat_0_2(x,y)));"
                    "relu(y) = split_0_1_2(relu(concat_0_2(x,y)))"));

TEST(Generate, WhatDoesNotHoldIsNotFound) {
  const std::string ops = "all";
  const auto found = forms_of(generate_with(ops, 3));
  for (const char* text :
       {"relu(add(a,b)) = add(relu(a),relu(b))", "sigmoid(sigmoid(a)) = sigmoid(a)",
        "tanh(a) = sigmoid(a)", "sub(a,b) = sub(b,a)", "sub(sub(a,b),c) = sub(a,sub(b,c))",
        "div(a,b) = div(b,a)", "div(mul(a,b),b) = a", "matmul(a,b) = matmul(b,a)",
        "softmax(concat_1_2(a,b)) = concat_1_2(softmax(a),softmax(b))",
        "max_pool(add(a,b)) = add(max_pool(a),max_pool(b))",
        "conv_relu(add(a,b),w) = add(conv_relu(a,w),conv_relu(b,w))"})
    EXPECT_THAT(found, Not(Contains(form(ops, text)))) << text;
  for (const char* text :
       {"softmax(concat_0_2(a,b)) = concat_0_2(softmax(a),softmax(b))",
        "div(add(a,b),c) = add(div(a,c),div(b,c))", "div(div(a,b),c) = div(a,mul(b,c))",
        "sub(sub(a,b),c) = sub(a,add(b,c))", "tanh(transpose(a)) = transpose(tanh(a))",
        "reduce_sum_1(matmul(a,b)) = matmul(a,reduce_sum_1(b))",
        "sigmoid(reshape(a)) = reshape(sigmoid(a))"})
    EXPECT_THAT(found, Contains(form(ops, text))) << text;
}

TEST(Generate, NoRuleTwiceNoneTrivialAndEachWellFormed) {
  const GenerateResult result = generate_with("taso", 3);
  const auto forms = forms_of(result);
  EXPECT_EQ(std::set<std::string>(forms.begin(), forms.end()).size(), forms.size());
  EXPECT_EQ(result.counts.pairs, result.counts.renamed + result.counts.follows +
                                     result.counts.unequal + result.counts.repeated +
                                     result.counts.identities);
  for (const TasoRule& rule : result.rules) {
    EXPECT_FALSE(taso::is_trivial(rule)) << taso::canonical_form(rule);
    EXPECT_LE(rule.source.size(), 3u);
    EXPECT_LE(rule.target.size(), 3u);
    EXPECT_FALSE(rule.source.empty());
  }
}

TEST(Generate, TheGoldenFileComesOutByteForByte) {
  GenerateOptions options;
  options.depth = 2;
  const GenerateResult result = generate_rules(options);
  std::string text = description(options, result.counts);
  for (const std::string& form : forms_of(result)) text += form + "\n";
  const std::string golden = REVERIE_SOURCE_DIR "/tests/golden/generated_depth2.txt";
  if (std::getenv("REVERIE_WRITE_GOLDEN") != nullptr) write_file(golden, text);
  EXPECT_EQ(text, read_file(golden))
      << "If that is meant, write it anew with REVERIE_WRITE_GOLDEN=1";
}

TEST(Generate, TheEmbeddedLibraryIsReadAndNotBuiltin) {
  const RuleSet generated = RuleSet::load("generated");
  EXPECT_GT(generated.size(), 500);
  for (int i = 0; i < generated.size(); ++i) {
    EXPECT_LT(RuleSet::builtin().find(generated.name(i)), 0);
    EXPECT_TRUE(generated[i].pattern().proof.field) << generated.name(i);
  }
}

TEST(Generate, ThreadsMakeNoDifference) {
  const GenerateResult one = generate_with("taso", 3, 1);
  for (const int threads : {2, 3}) {
    const GenerateResult several = generate_with("taso", 3, threads);
    EXPECT_EQ(forms_of(several), forms_of(one));
    EXPECT_EQ(several.counts, one.counts);
  }
}

TEST(Generate, AnotherSeedFindsTheSame) {
  EXPECT_EQ(forms_of(generate_with("taso", 3, 1, 7)), forms_of(generate_with("taso", 3)));
}

TEST(Generate, BadOptionsAreRefused) {
  EXPECT_THROW(generate_with("taso", 0), InputError);
  EXPECT_THROW(generate_with("taso", 5), InputError);
  EXPECT_THROW(generate_with("taso", 2, 0), InputError);
  try {
    generate_with("matmul,gemm", 2);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'gemm'"));
    EXPECT_THAT(error.what(), HasSubstr("matmul, add"));
  }
}

TEST(Generate, StopsWhenAsked) {
  const StopToken stop;
  stop.request();
  GenerateOptions options;
  const GenerateResult result = generate_rules(options, stop);
  EXPECT_FALSE(result.complete);
}

TEST(Generate, AStopWhileRulesOfAnEarlierLevelAreTestedLeavesACheckpoint) {
  const TemporaryDirectory directory;
  const StopToken stop;
  GenerateOptions options;
  options.checkpoint = directory / "state";
  options.accepts = [&](size_t, const TasoRule&) {
    stop.request();
    return true;
  };
  EXPECT_FALSE(generate_rules(options, stop).complete);
  EXPECT_TRUE(file_exists(options.checkpoint));
  options.accepts = nullptr;
  EXPECT_TRUE(generate_rules(options).complete);
}

TEST(Generate, AResumedRunGivesTheSame) {
  const TemporaryDirectory directory;
  GenerateOptions options;
  options.depth = 3;
  options.accepts = [](size_t number, const TasoRule&) { return number % 7 != 0; };
  const GenerateResult whole = generate_rules(options);
  options.checkpoint = directory / "state";
  int stops = 0;
  GenerateResult result;
  for (;; ++stops) {  // each run gets a little further
    const StopToken stop;
    int64_t first = 0;
    result = generate_rules(options, stop, [&](const std::string& what, int64_t done, int64_t) {
      if (what != "graphs of 3" && what != "pairs of 3") return;
      if (first == 0) first = done;
      if (done >= first + (what == "graphs of 3" ? 700 : 7000)) stop.request();
    });
    if (result.complete) break;
    ASSERT_LT(stops, 20);
  }
  EXPECT_GE(stops, 4);
  EXPECT_EQ(forms_of(result), forms_of(whole));
  EXPECT_EQ(result.counts, whole.counts);
}

TEST(Generate, ACheckpointOfOtherOptionsOrDamagedIsRefused) {
  const TemporaryDirectory directory;
  GenerateOptions options;
  options.depth = 2;
  options.operators = "matmul,add";
  options.checkpoint = directory / "state";
  const GenerateResult result = generate_rules(options);
  EXPECT_EQ(forms_of(generate_rules(options)), forms_of(result));
  options.seed = 2;
  EXPECT_THROW(generate_rules(options), InputError);
  options.seed = 1;
  const std::string bytes = read_file(options.checkpoint);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{40}, bytes.size() - 1}) {
    write_file(options.checkpoint, std::string_view(bytes).substr(0, size));
    EXPECT_THROW(generate_rules(options), InputError) << size;
  }
  std::string changed = bytes;
  changed[bytes.size() - 10] ^= 1;
  write_file(options.checkpoint, changed);
  EXPECT_THROW(generate_rules(options), InputError);
}

}  // namespace
}  // namespace reverie
