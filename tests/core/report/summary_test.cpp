#include "core/report/summary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/report/curves.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<FlatRun> runs_of(const std::string& lines) {
  TemporaryDirectory directory;
  write_file(directory / "runs.jsonl", lines);
  return read_runs({directory / "runs.jsonl"});
}

std::string line(const std::string& model, const std::string& method, int seed, double gain,
                 const std::string& more = "") {
  return fmt::format(
      R"({{"model":"dir/{}.onnx","method":"{}","seed":{},"improvement_percent":{}{}}})"
      "\n",
      model, method, seed, gain, more);
}

/// greedy once; mcts with three seeds: on a it closes 0, 50 and 100 percent of a gap of 4, on b
/// nothing lies between them.
std::string two_models() {
  return line("a", "greedy", 1, 10) + line("a", "mcts", 1, 10) + line("a", "mcts", 2, 12) +
         line("a", "mcts", 3, 14) + line("b", "greedy", 1, 20) + line("b", "mcts", 1, 20) +
         line("b", "mcts", 2, 20.5) + line("b", "mcts", 3, 20);
}

/// What is thrown.
template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing is refused";
}

std::string refusal_of(const std::string& lines, const SummaryOptions& options = {}) {
  return refusal([&] { summarize(runs_of(lines), options); });
}

TEST(Runs, LinesAndArraysGiveTheSame) {
  const std::string one = R"({"model":"m/x.onnx","seed":3,"ok":true,"verified":{"a":1},)"
                          R"("trace":[{"s":1,"t":"x"},{"s":2}]})";
  for (const std::string& text : {one + "\n\n" + one + "\n", "[" + one + "," + one + "]"}) {
    const std::vector<FlatRun> runs = runs_of(text);
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[1].word("model"), "x");
    EXPECT_EQ(runs[1].word("ok"), "true");
    EXPECT_EQ(runs[1].word("seed"), "3");
    EXPECT_EQ(runs[1].number("seed"), 3);
    EXPECT_EQ(runs[1].words.count("verified"), 0u);
    ASSERT_EQ(runs[1].trace.size(), 2u);
    EXPECT_EQ(runs[1].trace[1].at("s"), 2);
    EXPECT_EQ(runs[1].trace[0].count("t"), 0u);
  }
}

TEST(Runs, RefusalsNameFileAndLine) {
  EXPECT_THAT(refusal([] { runs_of("{}\n{torn\n"); }), HasSubstr("runs.jsonl:2: is no JSON"));
  EXPECT_THAT(refusal([] { runs_of("7\n"); }), HasSubstr("runs.jsonl:1: is no JSON object"));
  EXPECT_THAT(refusal([] { runs_of("[{},3]"); }), HasSubstr("runs.jsonl[1]: is no JSON object"));
  EXPECT_THAT(refusal([] { runs_of(" \n"); }), HasSubstr("holds no runs"));
  EXPECT_THAT(refusal([] { runs_of("{\"a\":1}").front().word("b"); }),
              HasSubstr("its fields are a"));
  EXPECT_THAT(refusal([] { runs_of("{\"a\":null}").front().number("a"); }),
              HasSubstr("null, no number"));
  EXPECT_THAT(refusal([] { parse_condition("seed"); }), HasSubstr("FIELD=VALUE"));
}

TEST(Runs, PackedFilesAreUnpacked) {
  TemporaryDirectory directory;
  const std::string path = directory / "runs.jsonl.gz", lines = two_models();
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, lines.data(), static_cast<unsigned>(lines.size())),
            static_cast<int>(lines.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  EXPECT_EQ(read_runs({path}).size(), 8u);
  const std::string packed = read_file(path);
  write_file(path, packed.substr(0, packed.size() / 2));
  EXPECT_THAT(refusal([&] { read_runs({path}); }), HasSubstr("runs.jsonl.gz: is damaged"));
  EXPECT_THAT(refusal([&] { read_runs({directory / "none.gz"}); }), HasSubstr("none.gz"));
}

TEST(Runs, ConditionsChoose) {
  const std::vector<FlatRun> runs = runs_of(two_models());
  EXPECT_EQ(runs_where(runs, {{"method", "mcts"}, {"seed", "2"}}).size(), 2u);
  EXPECT_EQ(runs_where(runs, {{"method", "mcts"}, {"seed", "3,1"}}).size(), 4u);
  EXPECT_EQ(runs_where(runs_of(line("a", "x,y", 1, 1) + line("a", "x", 1, 1)), {{"method", "x,y"}})
                .size(),
            1u);
  EXPECT_THAT(refusal([&] {
                runs_where(runs, {{"seed", "1,9"}});
              }),
              HasSubstr("no run has seed=9; its"));
  EXPECT_THAT(refusal([&] {
                runs_where(runs, {{"seed", "9"}});
              }),
              HasSubstr("its values are 1, 2, 3"));
  EXPECT_THAT(refusal([&] {
                runs_where(runs, {{"sed", "1"}});
              }),
              HasSubstr("no run has that field"));
}

TEST(Summary, HasMeansCountsAndAggregates) {
  SummaryOptions options;
  options.versus = "greedy";
  const Summary summary = summarize(runs_of(two_models()), options);
  EXPECT_THAT(summary.tasks, ElementsAre("a", "b"));
  EXPECT_THAT(summary.methods, ElementsAre("greedy", "mcts"));
  EXPECT_EQ(summary.cells[0][1].value, 12);
  EXPECT_EQ(summary.cells[0][1].runs, 3);
  EXPECT_EQ(summary.cells[0][0].runs, 1);
  const SummaryRow& mcts = summary.rows[1];
  EXPECT_EQ(mcts.runs, 6);
  EXPECT_EQ(mcts.iqm.value, (12 + 14 + 20 + 20) / 4.0);
  EXPECT_NEAR(mcts.difference->value, (2 + 0.5 / 3) / 2, 1e-12);
  EXPECT_GE(mcts.difference->low, 0);
  EXPECT_NEAR(mcts.better->value, (2.5 / 3 + 2.0 / 3) / 2, 1e-12);
  EXPECT_FALSE(summary.rows[0].difference);
  const std::string text = summary_markdown(summary);
  EXPECT_THAT(text, HasSubstr("| model | greedy (1) | mcts (3) |"));
  EXPECT_THAT(text, HasSubstr("| a | 10.00 | **12.00** |"));
  EXPECT_THAT(text, HasSubstr("| mcts | 6 | 16.50 |"));
  EXPECT_THAT(text, HasSubstr("| +1.08 |"));
  EXPECT_THAT(text, HasSubstr("| greedy | 2 | 15.00 |  | | | | |"))
      << "one run a model has no interval";
  EXPECT_THAT(summary_json(summary), HasSubstr(R"("method":"mcts","runs":6,"iqm":{"value":16.5)"));
}

TEST(Summary, TheMedianAndLowerValuesOnDemand) {
  const std::string lines =
      line("a", "x", 1, 1) + line("a", "x", 2, 1) + line("a", "x", 3, 10) + line("a", "y", 1, 3);
  SummaryOptions options;
  options.median = options.lower_is_better = true;
  options.versus = "y";
  const Summary summary = summarize(runs_of(lines), options);
  EXPECT_EQ(summary.cells[0][0].value, 1);
  EXPECT_NEAR(summary.rows[0].better->value, 2.0 / 3, 1e-12);
  EXPECT_THAT(summary_markdown(summary), HasSubstr("| a | **1.00** | 3.00 |"));
}

TEST(Summary, GapClosedLeavesOutSmallGapsAndNamesThem) {
  SummaryOptions options;
  options.gap_closed = true;
  const std::string all = two_models() + line("a", "oracle", 1, 14) + line("b", "oracle", 1, 20.9);
  options.where = {{"method", "mcts"}};  // the best known and greedy count all the same
  const Summary summary = summarize(runs_of(all), options);
  EXPECT_THAT(summary.tasks, ElementsAre("a"));
  EXPECT_EQ(summary.cells[0][0].value, 50);
  EXPECT_EQ(summary.rows[0].iqm.value, 50);
  EXPECT_NEAR(summary.rows[0].optimality_gap->value, 50, 1e-9);
  const std::string text = summary_markdown(summary);
  EXPECT_THAT(text, HasSubstr("| b | 20.00 | 20.90 | 0.90 |"));
  EXPECT_THAT(text, HasSubstr("Left out, as the gap is below 1: b."));
  EXPECT_THAT(refusal_of(line("a", "mcts", 1, 3), options), HasSubstr("greedy has no run on a"));
}

TEST(Summary, ARunAboveTheBestKnownMakesUpForNoOther) {
  SummaryOptions options;
  options.gap_closed = true;
  options.at = {"seconds", 1};  // the best known is that of whole runs, and worse than one here
  const auto at_once = [](double gain) {
    return fmt::format(R"(,"trace":[{{"seconds":1,"improvement_percent":{}}}])", gain);
  };
  const Summary summary = summarize(
      runs_of(line("a", "greedy", 1, 10, at_once(10)) + line("a", "mcts", 1, 14, at_once(16)) +
              line("a", "mcts", 2, 12, at_once(11))),
      options);
  EXPECT_EQ(summary.rows[1].iqm.value, 87.5);
  EXPECT_EQ(summary.rows[1].optimality_gap->value, 37.5);
  EXPECT_THAT(summary_markdown(summary), HasSubstr("| 37.50 | 0.00 to 75.00 |"));
}

TEST(Summary, WhereNoGapIsLargeEnoughOnlyGapsAreTold) {
  SummaryOptions options;
  options.gap_closed = true;
  options.min_gap = 9;
  const std::string text = summary_markdown(summarize(runs_of(two_models()), options));
  EXPECT_THAT(text, HasSubstr("below 9: a, b."));
  EXPECT_THAT(text, Not(HasSubstr("interquartile")));
}

TEST(Summary, GapsOfCostsCloseTowardsTheLower) {
  SummaryOptions options;
  options.gap_closed = options.lower_is_better = true;
  const std::string lines = line("a", "greedy", 1, 9) + line("a", "x", 1, 6) + line("a", "y", 1, 5);
  const Summary summary = summarize(runs_of(lines), options);
  EXPECT_EQ(summary.cells[0][1].value, 75);
  EXPECT_THAT(summary_markdown(summary), HasSubstr("| a | 0.00 | 75.00 | **100.00** |"));
}

TEST(Summary, AGapIsBetweenRunsOfTheSameCosts) {
  SummaryOptions options;
  options.gap_closed = true;
  const std::string a = ",\"cost_source\":\"A\"", b = ",\"cost_source\":\"B\"";
  const auto runs =
      runs_of(line("a", "greedy", 1, 5, a) + line("a", "x", 1, 7, a) + line("a", "y", 1, 9, a) +
              line("a", "greedy", 1, 1, b) + line("a", "y", 1, 99, b));
  options.where = {{"cost_source", "A"}};
  const Summary summary = summarize(runs, options);
  EXPECT_EQ(summary.gaps[0].base, 5);
  EXPECT_EQ(summary.gaps[0].best, 9);
  options.where.clear();
  EXPECT_THAT(refusal([&] { summarize(runs, options); }), HasSubstr("cost_source is B"));
}

/// The one run of x is paired with each of those of y, which tell how far the difference goes.
TEST(Summary, ASingleRunHasAnIntervalToAMethodOfSeveral) {
  SummaryOptions options;
  options.versus = "y";
  const std::string text = summary_markdown(summarize(
      runs_of(line("a", "x", 1, 1) + line("a", "y", 1, 10) + line("a", "y", 2, 12)), options));
  EXPECT_THAT(text, HasSubstr("| x | 1 | 1.00 |  | -10.00 | -11.00 to -9.00 |"));
}

TEST(Summary, WhatRoundsToNothingHasNoSign) {
  const std::string lines = line("a", "x", 1, -0.004) + line("a", "y", 1, -0.006);
  EXPECT_THAT(summary_markdown(summarize(runs_of(lines), {})),
              HasSubstr("| a | **0.00** | -0.01 |"));
}

TEST(Summary, ATaskThatAMethodLacksIsNoPartOfTheAggregate) {
  const Summary summary = summarize(runs_of(two_models() + line("c", "mcts", 1, 99)), {});
  EXPECT_THAT(summary.common, ElementsAre("a", "b"));
  EXPECT_EQ(summary.rows[1].runs, 6);
  EXPECT_THAT(summary_markdown(summary), HasSubstr("has no run there: c."));
  EXPECT_THAT(summary_markdown(summary), HasSubstr("| c |  | **99.00** (1) |"));
}

TEST(Summary, ATaskWithMoreRunsCountsNoMoreInTheAggregate) {
  const std::string lines =
      line("easy", "x", 1, 50) + line("easy", "x", 2, 50) + line("hard", "x", 1, 20);
  EXPECT_DOUBLE_EQ(summarize(runs_of(lines), {}).rows[0].iqm.value, 35);
}

/// The difference of a to b is the negative one of b to a, also where one of them draws nothing and
/// has one run, of a seed or of none.
TEST(Summary, ASingleRunIsPairedWithAllOfTheOther) {
  const std::string many =
      line("m", "dream", 1, 30) + line("m", "dream", 2, 12) + line("m", "dream", 3, 12);
  const std::string unseeded = R"({"model":"m","method":"greedy","improvement_percent":10})";
  for (const std::string& one :
       {line("m", "greedy", 1, 10), line("m", "greedy", 7, 10), unseeded}) {
    const auto runs = runs_of(many + one);
    SummaryOptions options;
    options.versus = "greedy";
    EXPECT_EQ(summarize(runs, options).rows[0].difference->value, 8) << one;
    options.versus = "dream";
    EXPECT_EQ(summarize(runs, options).rows[1].difference->value, -8) << one;
  }
}

TEST(Summary, RefusesWhatCannotStandSideBySide) {
  const std::string one = line("a", "x", 1, 1, R"(,"cost_source":"t4","budget":50)");
  EXPECT_THAT(refusal_of(one + line("a", "y", 1, 1, R"(,"cost_source":"cpu")")),
              HasSubstr("runs.jsonl:2: cost_source is cpu, but t4 in"));
  EXPECT_THAT(refusal_of(one + line("b", "x", 1, 1, R"(,"cost_source":"t4","budget":100)")),
              HasSubstr("budget is 100, but 50"));
  EXPECT_EQ(refusal_of(one + line("a", "y", 1, 1, R"(,"cost_source":"t4","budget":9)")),
            "nothing is refused");
  EXPECT_THAT(refusal_of(two_models() + line("a", "mcts", 2, 1)), HasSubstr("stands in"));
  EXPECT_THAT(
      refusal_of(two_models() + "{\"model\":\"a\",\"method\":\"z\"}"),
      HasSubstr("runs.jsonl:9: has no field 'improvement_percent'; its fields are method, model"));
  SummaryOptions options;
  options.versus = "nobody";
  EXPECT_THAT(refusal_of(two_models(), options), HasSubstr("there are greedy, mcts"));
  options.versus = "x";
  EXPECT_THAT(refusal_of(line("a", "x", 1, 1) + line("a", "x", 2, 1) + line("a", "y", 1, 1) +
                             line("a", "y", 3, 1),
                         options),
              HasSubstr("x has no run of a with seed 3"));
  EXPECT_THAT(refusal_of(line("a", "x", 1, 1) + line("b", "y", 1, 1)),
              HasSubstr("no model on which"));
}

TEST(Summary, TheCorrelationIsOfAllRuns) {
  const std::vector<FlatRun> runs = runs_of(R"({"x":1,"y":1})"
                                            "\n"
                                            R"({"x":2,"y":5})"
                                            "\n"
                                            R"({"x":3,"y":4})"
                                            "\n");
  EXPECT_EQ(correlation_line(runs, "x", "y"),
            "Rank correlation (Spearman) of x and y: 0.500 over 3 runs");
}

TEST(CurvesOfAField, HaveAPointForEachOfItsValues) {
  std::string lines;
  for (const int budget : {100, 50})
    for (const int seed : {1, 2})
      lines += line("a", "x", seed, budget / 10.0 + seed, fmt::format(",\"budget\":{}", budget));
  const std::vector<FlatRun> runs = runs_of(lines);
  const Curves found = curves(runs, {});
  ASSERT_EQ(found.series.size(), 1u);
  EXPECT_THAT(found.series[0].points, ElementsAre(std::pair(50, 6.5), std::pair(100, 11.5)));
  EXPECT_EQ(found.series[0].band[0].low, 6);
  EXPECT_EQ(found.series[0].band[0].high, 7);
  EXPECT_THAT(curve_page(runs, {}), HasSubstr(">a</text>"));
}

std::string traced(const std::string& method, int seed, const std::string& trace) {
  return line("a", method, seed, 9, fmt::format(",\"trace\":[{}]", trace));
}
std::string point(double x, double gain) {
  return fmt::format(R"({{"seconds":{},"improvement_percent":{}}})", x, gain);
}

TEST(CurvesOfATrace, HoldTheLastValue) {
  CurveOptions options;
  options.x = "seconds";
  options.points = 5;
  const Curves found = curves(runs_of(traced("x", 1, point(0, 0) + "," + point(2, 4)) +
                                      traced("y", 1, point(0, 1) + "," + point(4, 3))),
                              options);
  using Points = std::vector<std::pair<double, double>>;
  EXPECT_EQ(found.series[0].points, (Points{{0, 0}, {1, 0}, {2, 4}, {3, 4}, {4, 4}}));
  EXPECT_EQ(found.series[1].points, (Points{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 3}}));
  EXPECT_TRUE(found.series[0].steps);
}

TEST(PerformanceProfiles, HaveTheShareOfRunsThatReachEachValue) {
  CurveOptions options;
  options.profile = true;
  const std::string runs = line("a", "x", 1, 1) + line("a", "x", 2, 3) + line("a", "y", 1, 2) +
                           line("b", "x", 1, 3) + line("b", "y", 1, 1) + line("c", "y", 1, 9);
  using Points = std::vector<std::pair<double, double>>;
  Curves found = curves(runs_of(runs), options);
  EXPECT_THAT(found.tasks, ElementsAre("a", "b"));
  EXPECT_EQ(found.series[0].points, (Points{{1, 100}, {1, 75}, {2, 75}, {2, 75}, {3, 75}}));
  EXPECT_EQ(found.series[1].points, (Points{{1, 100}, {1, 50}, {2, 50}, {2, 0}, {3, 0}}));
  EXPECT_EQ(found.series[0].band[2].low, 50);
  EXPECT_EQ(found.series[0].band[2].high, 100);
  EXPECT_THAT(curve_chart(runs_of(runs), options).svg, HasSubstr("runs that reach it, percent"));
  options.summary.lower_is_better = true;
  found = curves(runs_of(runs), options);
  EXPECT_EQ(found.series[0].points, (Points{{1, 25}, {2, 25}, {2, 25}, {3, 25}, {3, 100}}));
}

/// One method with two seeds, another with one; the dream promises more than its replay gives.
std::vector<FlatRun> dreams() {
  const auto run = [](const std::string& method, int seed, double dream, double replayed) {
    return line(
        "a", method, seed, 9,
        fmt::format(
            R"(,"dream":{0},"replayed":{1},"trace":[{{"updates":0,"dream":{0},"replayed":{1}}},)"
            R"({{"updates":10,"dream":{1},"replayed":{1}}}])",
            dream, replayed));
  };
  return runs_of(run("short", 1, 40, 30) + run("short", 2, 44, 32) + run("lean", 1, 50, 20));
}

TEST(CurvesOfSeveralMetrics, AreNamedByMethodAndMetricAndShareTheMethodsColour) {
  CurveOptions options;
  options.x = "updates";
  options.points = 2;
  options.summary.metric = "dream";
  options.beside = {"replayed"};
  const Curves found = curves(dreams(), options);
  std::vector<std::string> names;
  std::vector<std::pair<int, int>> looks;
  for (const Series& one : found.series) {
    names.push_back(one.name);
    looks.emplace_back(one.color, one.dash);
  }
  EXPECT_THAT(names,
              ElementsAre("short, dream", "short, replayed", "lean, dream", "lean, replayed"));
  EXPECT_THAT(looks,
              ElementsAre(std::pair(0, 0), std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)));
  EXPECT_THAT(found.series[0].points, ElementsAre(std::pair(0, 42), std::pair(10, 31)));
  EXPECT_THAT(found.series[3].points, ElementsAre(std::pair(0, 20), std::pair(10, 20)));
  EXPECT_EQ(found.series[0].band[0].low, 40);
  EXPECT_EQ(found.series[1].band[0].high, 32);
  EXPECT_THAT(found.tasks, ElementsAre("a"));
  const std::string chart = curve_chart(dreams(), options).svg;
  EXPECT_THAT(chart, HasSubstr(">dream, replayed</text>")) << "the axis";
  EXPECT_THAT(chart, HasSubstr(">lean, replayed</text>")) << "the legend";
}

TEST(CurvesOfSeveralMetrics, AreThoseOfEachAlone) {
  CurveOptions options;
  options.x = "seed";
  options.summary.where = {{"method", "short"}};
  options.summary.metric = "dream";
  options.beside = {"replayed"};
  const Curves both = curves(dreams(), options);
  ASSERT_EQ(both.series.size(), 2u);
  EXPECT_THAT(both.series[0].points, ElementsAre(std::pair(1, 40), std::pair(2, 44)));
  EXPECT_THAT(both.series[1].points, ElementsAre(std::pair(1, 30), std::pair(2, 32)));
  options.summary.metric = "replayed";
  options.beside.clear();
  const Curves alone = curves(dreams(), options);
  EXPECT_EQ(alone.series[0].name, "short") << "one metric needs no name";
  EXPECT_EQ(alone.series[0].points, both.series[1].points);
  options.beside = {"nonsense"};
  EXPECT_THAT(refusal([&] { curves(dreams(), options); }), HasSubstr("has no field 'nonsense'"));
}

TEST(CurvesOfATrace, WeighTasksAlike) {
  const auto traced_on = [](const std::string& model, int seed, double gain) {
    return line(model, "x", seed, 9, fmt::format(",\"trace\":[{}]", point(1, gain)));
  };
  CurveOptions options;
  options.x = "seconds";
  const std::string lines =
      traced_on("easy", 1, 50) + traced_on("easy", 2, 50) + traced_on("hard", 1, 20);
  for (const bool straight : {false, true}) {
    options.straight = straight;
    EXPECT_THAT(curves(runs_of(lines), options).series[0].points, ElementsAre(std::pair(1, 35)));
  }
}

TEST(CurvesOfATrace, HaveLabelsOfFieldsUnlessTheyAreGiven) {
  CurveOptions options;
  options.x = "updates";
  options.log_x = options.log_y = true;
  options.summary.metric = "dream";
  const std::string chart = curve_chart(dreams(), options).svg;
  EXPECT_THAT(chart, HasSubstr(">updates, logarithmic</text>"));
  EXPECT_THAT(chart, HasSubstr(">dream, logarithmic</text>"));
  options.x_label = "number of updates";
  options.y_label = "return, percent";
  EXPECT_THAT(curve_chart(dreams(), options).svg, HasSubstr(">number of updates</text>"));
  EXPECT_THAT(curve_chart(dreams(), options).svg, HasSubstr(">return, percent</text>"));
  const std::string labelled = curve_chart(dreams(), options).svg;
  EXPECT_THAT(labelled, Not(HasSubstr("logarithmic")));
  options.log_y = false;
  EXPECT_NE(curve_chart(dreams(), options).svg, labelled) << "lines lie elsewhere";
}

TEST(CurvesOfATrace, GoStraightThroughEveryPointOnDemand) {
  CurveOptions options;
  options.x = "seconds";
  options.straight = true;
  const auto at = [](double gain) {
    return point(0, gain) + "," + point(2, 5) + "," + point(2, 1);
  };
  const std::string agreeing =
      traced("x", 1, at(0)) + traced("x", 2, at(4)) + traced("y", 1, point(7, 3));
  const Curves found = curves(runs_of(agreeing), options);
  EXPECT_THAT(found.series[0].points,
              ElementsAre(std::pair(0, 2), std::pair(2, 5), std::pair(2, 1)));
  EXPECT_THAT(found.series[1].points, ElementsAre(std::pair(7, 3)));
  EXPECT_EQ(found.series[0].band[0].high, 4);
  EXPECT_FALSE(found.series[0].steps);
  for (const std::string& other : {at(0) + "," + point(9, 9), point(0, 0),
                                   point(0, 0) + "," + point(1, 1) + "," + point(2, 1)})
    EXPECT_THAT(refusal([&] { curves(runs_of(agreeing + traced("x", 3, other)), options); }),
                HasSubstr("the traces of x do not have their points at the same seconds"));
}

TEST(Summary, AtAPlaceTheBestKnownIsThatOfWholeRuns) {
  SummaryOptions options;
  options.gap_closed = true;
  options.at = {"seconds", 1};
  const std::string lines = line("a", "greedy", 1, 5, fmt::format(",\"trace\":[{}]", point(0, 5))) +
                            traced("x", 1, point(0, 5) + "," + point(1, 6) + "," + point(2, 9));
  const Summary summary = summarize(runs_of(lines), options);
  EXPECT_EQ(summary.gaps[0].best, 9);
  EXPECT_EQ(summary.cells[0][1].value, 25);
}

TEST(CurvesOfATrace, GoBeforeAFieldOfThatName) {
  CurveOptions options;
  options.x = "seconds";
  const std::string whole =
      fmt::format(",\"seconds\":7,\"trace\":[{},{}]", point(0, 0), point(2, 4));
  EXPECT_EQ(curves(runs_of(line("a", "x", 1, 4, whole)), options).series[0].points.size(), 60u);
}

TEST(CurvesOfATrace, RefuseWhatATraceLacks) {
  CurveOptions options;
  options.x = "steps";
  EXPECT_THAT(refusal([&] { curves(runs_of(traced("x", 1, point(0, 0))), options); }),
              HasSubstr("runs.jsonl:1: a point of its trace has no number 'steps'"));
  EXPECT_THAT(refusal([&] { curves(runs_of(line("a", "x", 1, 1)), options); }),
              HasSubstr("neither a number 'steps' nor a trace"));
}

TEST(RunsAt, AreAsTheirTracesHadThem) {
  const auto run = [](double expansions, const std::string& stopped_by) {
    return runs_of(fmt::format(
        R"({{"improvement_percent":9,"expansions":{},"stopped_by":"{}","trace":[)"
        R"({{"expansions":0,"improvement_percent":0}},{{"expansions":10,"improvement_percent":4}},)"
        R"({{"expansions":20,"improvement_percent":9}}]}})",
        expansions, stopped_by));
  };
  EXPECT_EQ(runs_at(run(30, "budget"), "expansions", 19)[0].number("improvement_percent"), 4);
  EXPECT_EQ(runs_at(run(30, "budget"), "expansions", 30)[0].number("improvement_percent"), 9);
  EXPECT_EQ(runs_at(run(30, "exhausted"), "expansions", 99)[0].number("improvement_percent"), 9);
  EXPECT_THAT(refusal([&] { runs_at(run(30, "time limit"), "expansions", 31); }),
              HasSubstr("runs.jsonl:1: its time limit ended it at expansions = 30, before 31"));
  EXPECT_THAT(refusal([&] { runs_at(run(30, "budget"), "steps", 3); }),
              HasSubstr("its trace has no point at steps = 3 or before"));
}

}  // namespace
}  // namespace reverie
