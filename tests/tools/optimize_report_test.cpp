#include "tools/optimize_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "core/report/svg.h"
#include "env/rewrite/optimize/file_cost.h"
#include "tests/support/markup.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kOddName[] = "layers.0/<b>&\"odd'";

void name(Graph& graph, ValueId value, const std::string& node) {
  graph.set_names(graph.producer(value), std::make_shared<const NodeNames>(NodeNames{node, {}}));
}

/// Three convolutions, each followed by a normalization and an activation.
ImportedModel model() {
  ImportedModel model;
  Graph& graph = model.graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4, 8, 8}});
  const auto weight = [&](Shape shape, const std::string& weight_name) {
    return graph.add_constant(Weight::fill({DType::kFloat32, std::move(shape)}, 0.5, weight_name));
  };
  for (const std::string layer : {kOddName, "layers.1", "layers.12"}) {
    const ValueId c = graph.add("Conv", {x, weight({8, 4, 3, 3}, layer)});
    const ValueId n =
        graph.add("BatchNormalization", {c, weight({8}, layer + "s"), weight({8}, layer + "b"),
                                         weight({8}, layer + "m"), weight({8}, layer + "v")});
    const ValueId y = graph.add("Relu", {n});
    name(graph, c, layer + "/conv");
    name(graph, n, layer + "/norm");
    name(graph, y, layer + "/relu");
    graph.add_output(layer, y);
  }
  model.nodes = 11;
  model.operators = {{"Conv", 3}, {"BatchNormalization", 3}, {"Relu", 3}, {"Shape", 2}};
  model.untouched = {{"<custom>", "com.example::Fused", "no such operator in the table"}};
  model.warnings = {"dimension 'n' is taken for 1 & nothing else"};
  return model;
}

/// A run, and the page of it.
struct Trial {
  ImportedModel read = model();
  RuleSet rules =
      RuleSet::builtin().subset(std::vector<std::string>{"conv_batchnorm", "conv_relu"});
  OptimizeConfig config;
  std::shared_ptr<CostModel> cost = make_cost_model("roofline:t4");
  Optimized result;
  std::vector<std::string> of_file;

  Trial() {
    config.method = "greedy";
    config.cost = "roofline:t4";
    config.contenders = 2;
  }
  void search() {
    result = optimize(Subject(read.graph), std::make_shared<const RuleSet>(rules), cost,
                      on_rewrites(search::Greedy()), config);
  }
  /// As if the first contender had won.
  void confirm() {
    result.benchmark.contestants.resize(4);
    for (size_t i = 0; i < 3; ++i) result.benchmark.contestants[i].median = 0.010;
    result.benchmark.contestants[0].finalist = true;
    ContestantResult& won = result.benchmark.contestants[1];
    won.ratio.median = 0.8123;
    won.ratio.low = 0.7901;
    won.ratio.high = 0.8345;
    won.finalist = true;
    result.benchmark.contestants[2].ratio.median = 1.1;
    result.benchmark.winner = 1;
    result.contenders.resize(3);
    result.contenders[1].rules = "rules of <another> kind";
    result.machine.device = "a processor";
    result.machine.library = "a runtime 1.2";
  }
  OptimizeAccount account() const {
    OptimizeAccount said = account_of(result, read, config, rules);
    said.file = of_file;
    return said;
  }
  std::string page(const OptimizeAccount& said) const {
    return optimize_page({"a<b.onnx", "reverie 1", "reverie optimize 'a<b.onnx'",
                          "method: greedy\n", said, read, result, config, rules,
                          applied_rewrites(read.graph, rules, *cost, result.search.rewrites),
                          result.changed ? written_operators(result.search.best) : read.operators});
  }
  std::string page() const { return page(account()); }
};

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  return text;
}

/// What a person reads, without blanks; entities stay.
std::string words_of(const std::string& page) {
  return without_blanks(std::regex_replace(page, std::regex("<[^>]*>"), ""));
}

/// But the counts of rules, which the page has in a table of its own.
void expect_all_of_console_on_page(const Trial& run) {
  const std::string words = words_of(run.page());
  std::istringstream lines(text_of(run.account()));
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, std::regex("^ +[0-9]+ x "))) continue;
    EXPECT_THAT(words, HasSubstr(without_blanks(escape_html(line))));
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(OptimizeReport, SaysAllThatTheConsoleSays) {
  Trial run;
  run.search();
  ASSERT_TRUE(run.result.changed);
  run.result.objections = {"rewrite 3 of 4 is left out: a > b"};
  run.result.estimates = 3;
  run.result.search.forgotten = 4;
  run.result.search.details = std::make_shared<SaturationReport>();
  run.result.verified.left_out = {"1 of 2 sets of inputs"};
  run.result.verified.unverified_nodes = 2;
  run.result.verified.not_run = "Gather: index 7";
  run.result.benchmark.fallbacks = 1;
  run.confirm();
  const std::string console = text_of(run.account());
  for (const char* said :
       {"run time", "verified on", "rewrite 3 of 4", "the queue was full", "e-graph",
        "the times of 3 operators", "not compared", "2 nodes that this program", "Gather",
        "end to end on a processor (a runtime 1.2)", "contender 1 is kept", "1 node ran on"})
    EXPECT_THAT(console, HasSubstr(said));
  expect_all_of_console_on_page(run);
}

TEST(OptimizeReport, SaysAllThatTheConsoleSaysWhereNothingChanged) {
  Trial run;
  run.rules = RuleSet();
  run.search();
  ASSERT_FALSE(run.result.changed);
  EXPECT_THAT(text_of(run.account()), HasSubstr("nothing to gain"));
  expect_all_of_console_on_page(run);
  EXPECT_THAT(run.page(), Not(HasSubstr("What changed where")));
}

TEST(OptimizeReport, SaysWhatAMeasuredSearchDid) {
  Trial run;
  run.search();
  MeasuredReport& measured = run.result.search.measured.emplace();
  measured.trace = {{1, 0.010, 0.010}, {2, 0.012, 0.010}, {3, 0.008, 0.008}};
  measured.graphs = 3;
  EXPECT_THAT(text_of(run.account()), HasSubstr("measured end to end 3 times"));
  expect_all_of_console_on_page(run);
  EXPECT_THAT(run.page(), HasSubstr("measured end to end</text>"));
}

TEST(OptimizeReport, EscapesWhatFilesHold) {
  Trial run;
  run.search();
  run.confirm();
  run.of_file = {"<out>: dimension 'n' is fixed at 1"};
  const std::string page = run.page();
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr(escape_html(kOddName)), HasSubstr("&lt;custom&gt;"),
                          HasSubstr("&lt;out&gt;"), HasSubstr("taken for 1 &amp; nothing"),
                          HasSubstr("a&lt;b.onnx")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr(kOddName)), Not(HasSubstr("<custom>")),
                          Not(HasSubstr("<another>"))));
}

TEST(OptimizeReport, SaysWhichRulesChangedWhichNodes) {
  Trial run;
  run.search();
  const std::string words = words_of(run.page());
  EXPECT_THAT(words, HasSubstr(without_blanks("Conv, BatchNormalization \u2192 Conv")));
  EXPECT_THAT(words, HasSubstr("layers.{1..12}/conv,layers.{1..12}/norm"));
  EXPECT_THAT(words, HasSubstr(without_blanks("3 more rewrites without a trace in the file")))
      << "an activation that goes into a convolution";
  EXPECT_THAT(words, HasSubstr("BatchNormalization30-3"));
  EXPECT_THAT(words, HasSubstr("Shape20-2"));
  EXPECT_THAT(words, HasSubstr("all116-5"));
  EXPECT_THAT(
      words,
      HasSubstr(without_blanks("Operators with as many nodes before as after: Conv 3, Relu 3.")));
}

TEST(OptimizeReport, DrawsTimesWithIntervals) {
  Trial run;
  run.search();
  EXPECT_THAT(run.page(), Not(HasSubstr("<h2>Times</h2>")));
  run.confirm();
  const std::string page = run.page();
  const Bar won{"contender 1", 18.77, 16.55, 20.99};
  const Bar lost{"contender 2, screened", -10, -10, -10};
  EXPECT_THAT(page,
              HasSubstr(gain_chart("Time saved in a run, with 95 % intervals", {won, lost}).svg))
      << "contender 3 was not measured";
  EXPECT_THAT(words_of(page), HasSubstr("0.81230.7901to0.8345kept"));
}

TEST(OptimizeReport, IsShortWhereTheModelWasSimplifiedAlone) {
  Trial run;
  run.config.method = "simplify";
  run.result.search.best = run.read.graph;
  run.result.changed = true;
  const OptimizeAccount account = account_of_simplified(11, 9, "values at 3 of 4 other extents");
  EXPECT_EQ(text_of(account), "nodes 11 -> 9\nnot compared: values at 3 of 4 other extents\n");
  const std::string page = run.page(account);
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_THAT(words_of(page), AllOf(HasSubstr("nodes11-&gt;9"), HasSubstr("Shape20-2")));
  for (const char* absent : {"<h2>Times", "<h2>What changed where", "<h2>The search", "ms</td>"})
    EXPECT_THAT(page, Not(HasSubstr(absent)));
}

TEST(OptimizeReport, PlacesThatDifferInNumbersAreOneText) {
  EXPECT_EQ(common_text({"layer.0/Conv_12"}), "layer.0/Conv_12");
  EXPECT_EQ(common_text({"layer.9/Conv_1", "layer.10/Conv_1", "layer.2/Conv_1"}),
            "layer.{2..10}/Conv_1");
}

}  // namespace
}  // namespace reverie
