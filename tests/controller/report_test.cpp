#include "controller/evaluate/report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/base/json.h"
#include "core/report/svg.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EnvSpec seconds_spec() {
  EnvSpec spec;
  spec.name = "invented";
  spec.metrics = {{"waste", "kg"}, {"run time", "s"}};
  spec.objective = 1;
  spec.less_is_better = true;
  return spec;
}

/// More is better.
EnvSpec value_spec() {
  EnvSpec spec = seconds_spec();
  spec.metrics[1] = {"value", ""};
  spec.less_is_better = false;
  return spec;
}

/// A report of gains alone, in percent, from a start of 100; the measured interval is one percent each
/// way.
EvaluationReport invented(const EnvSpec& spec, const std::vector<std::pair<std::string, double>>& gains,
                          double measured_factor) {
  EvaluationReport report;
  report.spec = spec;
  StartReport start;
  start.name = "invented";
  start.initial = 100;
  for (const auto& [method, gain] : gains) {
    MethodBest best;
    best.method = method;
    best.best = spec.less_is_better ? 100 - gain : 100 + gain;
    if (!std::isfinite(gain)) best.best = spec.worst();
    if (measured_factor > 0) {
      const double measured = measured_factor * gain;
      best.measured = {100 - measured, 99 - measured, 101 - measured, measured, measured - 1,
                       measured + 1,   30};
    }
    start.best.push_back(std::move(best));
  }
  report.starts.push_back(std::move(start));
  return report;
}

std::string verdict_on(const EvaluationReport& report) { return verdict(report, report.starts.front()); }

constexpr double kInfeasible = std::numeric_limits<double>::infinity();

TEST(VerdictTest, SaysPlainlyWhereThePolicyStands) {
  const std::vector<std::pair<std::string, double>> gains = {
      {"no-op", 0}, {"policy (greedy)", 12}, {"policy (sampled)", 20}, {"greedy", 15}, {"taso", 25}};
  EXPECT_EQ(verdict_on(invented(seconds_spec(), gains, 0)),
            "By run time the policy gains 20.00 %: ABOVE greedy (15.00 %), BELOW the best baseline, "
            "taso (25.00 %).");
  EXPECT_THAT(verdict_on(invented(seconds_spec(), gains, 1)),
              HasSubstr("Measured, it gains 20.00 % (19.00 to 21.00): above greedy (15.00 %, 14.00 to "
                        "16.00), below taso (25.00 %, 24.00 to 26.00)."));
  EXPECT_THAT(verdict_on(invented(seconds_spec(), gains, 0.1)), HasSubstr("not told apart from greedy"));
}

TEST(VerdictTest, ALossIsNoGainBelowZero) {
  const std::vector<std::pair<std::string, double>> gains = {{"policy (greedy)", -18.29}, {"greedy", 15}};
  EXPECT_THAT(verdict_on(invented(seconds_spec(), gains, 1)),
              ::testing::AllOf(HasSubstr("the policy loses 18.29 %: BELOW greedy"),
                               HasSubstr("Measured, it loses 18.29 % (17.29 to 19.29): below greedy")));
}

TEST(VerdictTest, KnowsWhereMoreIsBetter) {
  const EvaluationReport report = invented(
      value_spec(), {{"no-op", 0}, {"policy (greedy)", 12}, {"policy (sampled)", -3}, {"greedy", 15}}, 0);
  EXPECT_EQ(verdict_on(report),
            "By value the policy gains 12.00 %: BELOW greedy (15.00 %), which no other baseline beats.");
  EXPECT_EQ(comparison(report, report.starts[0]).policy.method, "policy (greedy)");
}

TEST(VerdictTest, EqualIsNotAbove) {
  EXPECT_THAT(verdict_on(invented(seconds_spec(),
                                  {{"policy (greedy)", 15.001}, {"greedy", 15}, {"taso", 15}}, 0)),
              HasSubstr("EQUAL TO greedy (15.00 %), which no other baseline beats"));
  EXPECT_THAT(
      verdict_on(invented(seconds_spec(), {{"policy (greedy)", 3}, {"greedy", 15}, {"random", 2}}, 0)),
      HasSubstr("BELOW greedy"));
}

TEST(VerdictTest, NoFeasibleResultIsBelowEveryOther) {
  for (const EnvSpec& spec : {seconds_spec(), value_spec()}) {
    EXPECT_THAT(verdict_on(invented(spec, {{"policy (greedy)", kInfeasible}, {"greedy", 0}}, 0)),
                HasSubstr("The policy finds no feasible state: BELOW greedy (0.00 %)"));
    EXPECT_THAT(verdict_on(invented(spec, {{"policy (greedy)", 0}, {"greedy", kInfeasible}}, 0)),
                HasSubstr("ABOVE greedy (no feasible result)"));
    EXPECT_THAT(
        verdict_on(invented(spec, {{"policy (greedy)", kInfeasible}, {"greedy", kInfeasible}}, 0)),
        HasSubstr("EQUAL TO greedy"));
  }
}

TEST(VerdictTest, WithoutGreedyTheBestBaselineDecides) {
  EXPECT_EQ(verdict_on(invented(seconds_spec(), {{"policy (greedy)", 3}, {"expert", 2}}, 0)),
            "By run time the policy gains 3.00 %: ABOVE the best baseline, expert (2.00 %).");
}

TEST(VerdictTest, FromNothingTheObjectiveItselfDecides) {
  EvaluationReport report = invented(value_spec(), {{"policy (greedy)", 3}, {"greedy", 2}}, 0);
  report.starts[0].initial = 0;
  EXPECT_THAT(verdict_on(report), HasSubstr("ABOVE greedy"));
}

TEST(VerdictTest, ASearchThatThePolicyGuidesIsNeitherPolicyNorBaseline) {
  const EvaluationReport report = invented(
      seconds_spec(), {{"policy (greedy)", 12}, {"policy beam", 30}, {"greedy", 15}}, 0);
  const PolicyComparison found = comparison(report, report.starts[0]);
  EXPECT_EQ(found.policy.method, "policy (greedy)");
  EXPECT_EQ(found.baseline.method, "greedy");
}

EvaluationReport whole_report() {
  EvaluationReport report = invented(
      seconds_spec(), {{"no-op", 0}, {"policy (greedy)", 12}, {"greedy", 15}, {"rule list", 5}}, 1);
  report.policy_file = "<policy> & \"co\".pt";
  report.sentences = {"Metrics are by <someone>.", "All was verified."};
  StartReport& start = report.starts.front();
  start.name = "<tiny>";
  start.metrics = {7, 100};
  start.described.sentences = {"It has <nodes>."};
  start.described.columns = {{"swaps", {"s0", "s1", "s2", "s3"}}, {"<shape>", {"-", "-", "-", "<wide>"}}};
  start.described.details = {Json{{"swaps", 0}}, Json{{"swaps", 1}}, Json{{"swaps", 2}}, Json{{"swaps", 3}}};
  start.described.plots = {"<svg>its own plot</svg>", ""};
  for (MethodBest& best : start.best) {
    best.metrics = {8, best.best};
    if (best.method == "rule list") best.budget = "the best of 7 orders";
    if (best.method != "no-op") best.artifact = {"models/x.onnx", Json{{"inputs", 2}}};
    start.runs.push_back({.method = best.method, .seed = best.seed, .best = best.best,
                          .improvement_percent = 1, .seconds = 2.5, .steps = 4321, .candidates = 6,
                          .cost_lookups = 8765, .measurements = 999, .trace = {{0, 100}, {1, 90}}});
  }
  for (int update = 0; update < 3; ++update)
    report.learning.push_back(
        {update, {{"train/return", update}, {"real/dream_return", 2.0 * update},
                  {"real/invalid_action_rate", 0.5}, {"real/sampled_return", 1.5}}});
  return report;
}

const std::vector<std::string> kReported = {"no-op", "policy (greedy)", "greedy", "rule list"};

TEST(ReportTest, JsonHoldsEveryMethodAndFigure) {
  const EvaluationReport report = whole_report();
  const auto json = Json::parse(report_json(report));
  const auto& start = json.at("starts").array().at(0);
  EXPECT_EQ(json.at("policy"), report.policy_file);
  EXPECT_EQ(json.at("environment"), "invented");
  EXPECT_EQ(json.at("objective").at("name"), "run time");
  EXPECT_EQ(json.at("objective").at("less_is_better"), true);
  EXPECT_EQ(start.at("verdict"), verdict_on(report));
  EXPECT_EQ(start.at("metrics").at("waste").get<double>(), 7);
  EXPECT_EQ(start.at("comparison").at("above_greedy"), false);
  ASSERT_EQ(start.at("best").array().size(), kReported.size());
  for (size_t i = 0; i < kReported.size(); ++i) {
    const auto& best = start.at("best").array().at(i);
    EXPECT_EQ(best.at("method"), kReported[i]);
    EXPECT_EQ(best.at("metrics").at("waste").get<double>(), 8);
    EXPECT_EQ(best.at("details").at("swaps").get<size_t>(), i);
    for (const char* key : {"median", "low", "high", "gain_percent", "gain_low", "gain_high", "rounds"})
      EXPECT_TRUE(best.at("measured").find(key)) << key;
    const auto& run = start.at("runs").array().at(i);
    EXPECT_EQ(run.at("seconds"), 2.5);
    EXPECT_EQ(run.at("steps"), 4321);
    EXPECT_EQ(run.at("cost_lookups"), 8765);
    EXPECT_EQ(run.at("measurements"), 999);
  }
  EXPECT_EQ(json.at("learning").array().size(), 3u);
  const auto summary = Json::parse(report_summary_json(report)).at("starts").array().at(0);
  EXPECT_EQ(summary.at("methods").at("greedy").at("improvement_percent").get<double>(), 15);
}

TEST(ReportTest, MarkdownHoldsEveryMethodAndColumn) {
  const EvaluationReport report = whole_report();
  const std::string text = report_markdown(report);
  EXPECT_THAT(text, HasSubstr(verdict_on(report)));
  for (const std::string& method : kReported) EXPECT_THAT(text, HasSubstr("| " + method + " |"));
  for (const char* part : {"run time, s", "measured, s (95 %)", "seconds", "steps", "look-ups",
                           "measurements", "swaps", "| s3 |", "| 4321 |", "| 8765 |", "| 999 |",
                           "All was verified.", "It has <nodes>.", "rule list: the best of 7 orders"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ReportTest, ColumnsThatWouldBeEmptyAreLeftOut) {
  EvaluationReport report = whole_report();
  for (MethodBest& best : report.starts[0].best) best.measured = {};
  for (MethodRun& run : report.starts[0].runs) run.measurements = run.cost_lookups = 0;
  const std::string text = report_markdown(report);
  for (const char* part : {"measured", "look-ups", "measurements"}) EXPECT_THAT(text, Not(HasSubstr(part)));
}

TEST(ReportTest, HtmlShowsEverything) {
  const EvaluationReport report = whole_report();
  const std::string html = report_html(report);
  for (const std::string& method : kReported) EXPECT_THAT(html, HasSubstr("<td>" + method + "</td>"));
  for (const char* part : {"run time, s", "measured, s (95 %)", "<td>4321</td>", "<td>8765</td>",
                           "<td>999</td>", "above greedy?", "above the best baseline?", "<td>s2</td>",
                           "Return: dream against real", "Best so far over time", "its own plot",
                           "Before and after: measured", "invalid actions"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, HasSubstr(escape_html(verdict_on(report))));
}

TEST(ReportTest, HtmlStandsAloneAndEscapesNames) {
  std::string html = report_html(whole_report());
  for (const char* name : {"&lt;policy&gt; &amp; &quot;co&quot;.pt", "&lt;tiny&gt;", "&lt;wide&gt;",
                           "&lt;shape&gt;", "&lt;nodes&gt;", "&lt;someone&gt;"})
    EXPECT_THAT(html, HasSubstr(name));
  for (const char* name : {"<policy>", "<tiny>", "<wide>", "<shape>", "<nodes>", "<someone>"})
    EXPECT_THAT(html, Not(HasSubstr(name)));
  const std::string name_space = "xmlns='http://www.w3.org/2000/svg'";
  for (size_t at; (at = html.find(name_space)) != std::string::npos;) html.erase(at, name_space.size());
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace reverie
