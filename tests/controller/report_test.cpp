#include "controller/evaluate/report.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

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

/// A report of gains alone, in percent, from a start of 100; the measured interval is one percent
/// each way.
EvaluationReport invented(const EnvSpec& spec,
                          const std::vector<std::pair<std::string, double>>& gains,
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
    if (measured_factor != 0) {
      const double measured = measured_factor * gain;
      best.measured = {
          100 - measured, 99 - measured, 101 - measured, measured, measured - 1, measured + 1, 30};
    }
    start.best.push_back(std::move(best));
  }
  report.starts.push_back(std::move(start));
  return report;
}

std::string verdict_on(const EvaluationReport& report) {
  return verdict(report, report.starts.front());
}

constexpr double kInfeasible = std::numeric_limits<double>::infinity();

TEST(VerdictTest, SaysPlainlyWhereThePolicyStands) {
  const std::vector<std::pair<std::string, double>> gains = {{"no-op", 0},
                                                             {"policy (greedy)", 12},
                                                             {"policy (sampled)", 20},
                                                             {"greedy", 15},
                                                             {"taso", 25}};
  EXPECT_EQ(
      verdict_on(invented(seconds_spec(), gains, 0)),
      "By run time the policy gains 20.00 %: ABOVE greedy (15.00 %), BELOW the best baseline, "
      "taso (25.00 %).");
  EXPECT_THAT(
      verdict_on(invented(seconds_spec(), gains, 1)),
      HasSubstr(
          "Measured, the policy gains 20.00 % (19.00 to 21.00): above greedy (15.00 %, 14.00 to "
          "16.00), below the best baseline, taso (25.00 %, 24.00 to 26.00)."));
  EXPECT_THAT(verdict_on(invented(seconds_spec(), gains, 0.1)),
              HasSubstr("not told apart from greedy"));
}

TEST(VerdictTest, ALossIsNoGainBelowZero) {
  const std::vector<std::pair<std::string, double>> gains = {{"policy (greedy)", -18.29},
                                                             {"greedy", 15}};
  EXPECT_THAT(verdict_on(invented(seconds_spec(), gains, 1)),
              ::testing::AllOf(
                  HasSubstr("it loses 18.29 %: BELOW greedy"),
                  HasSubstr("Measured, the policy loses 18.29 % (17.29 to 19.29): below greedy")));
}

TEST(VerdictTest, OneGainStandsFirstAndTheOtherIsExplained) {
  const std::vector<std::pair<std::string, double>> gains = {
      {"policy (greedy)", 20}, {"greedy", 15}, {"taso", 25}};
  EvaluationReport report = invented(seconds_spec(), gains, -0.5);
  report.estimated_by = "roofline:t4";
  EXPECT_EQ(verdict_on(report),
            "Measured, the policy loses 10.00 % (9.00 to 11.00): below greedy (-7.50 %, -8.50 to "
            "-6.50), than which no other baseline measures better. Estimated by roofline:t4, which "
            "is all that the methods went by, it gains 20.00 %: ABOVE greedy (15.00 %), BELOW the "
            "best baseline, taso (25.00 %).");
  report = invented(seconds_spec(), gains, 0);
  report.estimated_by = "roofline:t4";
  EXPECT_THAT(verdict_on(report),
              HasSubstr("By run time the policy gains 20.00 % (estimated by roofline:t4, not "
                        "measured): ABOVE greedy"));
}

TEST(VerdictTest, AGainWithNoneInItsIntervalIsNoGain) {
  const EvaluationReport report =
      invented(seconds_spec(), {{"policy (greedy)", -0.5}, {"greedy", 15}}, 1);
  EXPECT_THAT(
      verdict_on(report),
      HasSubstr("Measured, the policy's gain is not told apart from none (-0.50 %, -1.50 to "
                "0.50): below greedy"));
  EXPECT_THAT(report_html(report), HasSubstr("<div class='gain same'>"));
}

TEST(VerdictTest, WhatWasMeasuredIsComparedWithWhatMeasuresBest) {
  EvaluationReport report = invented(
      seconds_spec(),
      {{"policy (greedy)", 20}, {"policy (sampled)", 30}, {"greedy", 15}, {"taso", 25}}, 1);
  const auto set = [&](size_t row, double gain) {
    report.starts[0].best[row].measured.gain_percent = gain;
  };
  set(1, 3);
  set(3, 2);
  const auto found = measured_comparison(report, report.starts[0]);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->policy.method, "policy (greedy)");
  EXPECT_EQ(found->baseline.method, "greedy");
  EXPECT_EQ(comparison(report, report.starts[0]).policy.method, "policy (sampled)");
  report.starts[0].best[3].measured = {};
  EXPECT_FALSE(measured_comparison(report, report.starts[0])) << "not all were measured";
}

TEST(VerdictTest, KnowsWhereMoreIsBetter) {
  const EvaluationReport report = invented(
      value_spec(),
      {{"no-op", 0}, {"policy (greedy)", 12}, {"policy (sampled)", -3}, {"greedy", 15}}, 0);
  EXPECT_EQ(
      verdict_on(report),
      "By value the policy gains 12.00 %: BELOW greedy (15.00 %), which no other baseline beats.");
  EXPECT_EQ(comparison(report, report.starts[0]).policy.method, "policy (greedy)");
}

TEST(VerdictTest, EqualIsNotAbove) {
  EXPECT_THAT(verdict_on(invented(seconds_spec(),
                                  {{"policy (greedy)", 15.001}, {"greedy", 15}, {"taso", 15}}, 0)),
              HasSubstr("EQUAL TO greedy (15.00 %), which no other baseline beats"));
  EXPECT_THAT(verdict_on(invented(seconds_spec(),
                                  {{"policy (greedy)", 3}, {"greedy", 15}, {"random", 2}}, 0)),
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
  const EvaluationReport report =
      invented(seconds_spec(), {{"policy (greedy)", 12}, {"policy beam", 30}, {"greedy", 15}}, 0);
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
  start.described.columns = {{"swaps", {"s0", "s1", "s2", "s3"}},
                             {"<shape>", {"-", "-", "-", "<wide>"}}};
  start.described.details = {Json{{"swaps", 0}}, Json{{"swaps", 1}}, Json{{"swaps", 2}},
                             Json{{"swaps", 3}}};
  start.described.plots = {{"<svg>its own plot</svg>", "a,b\r\n"}, {}};
  for (MethodBest& best : start.best) {
    best.metrics = {8, best.best};
    if (best.method == "rule list") best.budget = "the best of 7 orders";
    if (best.method != "no-op") best.artifact = {"models/x.onnx", Json{{"inputs", 2}}};
    start.runs.push_back({.method = best.method,
                          .seed = best.seed,
                          .best = best.best,
                          .improvement_percent = 1,
                          .seconds = 2.5,
                          .steps = 4321,
                          .candidates = 6,
                          .cost_lookups = 8765,
                          .measurements = 999,
                          .trace = {{0, 100}, {1, 90}}});
  }
  for (int update = 0; update < 3; ++update)
    report.learning.push_back({update,
                               {{"charts/return", update},
                                {"real/dream_return", 2.0 * update},
                                {"real/invalid_action_rate", 0.5},
                                {"real/sampled_return", 1.5}}});
  return report;
}

/// With a history of all steps but train_vae, and M's quality.
EvaluationReport learned_report() {
  EvaluationReport report = whole_report();
  report.seed = 11;
  report.versions = {"reverie 9.9", "LibTorch 8.8"};
  report.history = {{.step = "collect",
                     .done = "40 episodes",
                     .seed = uint64_t{3},
                     .seconds = 61.0,
                     .version = "reverie 9.8",
                     .learning = {.resets = 40, .steps = 1234}},
                    {.step = "train_mdnrnn",
                     .done = "7 epochs",
                     .seed = uint64_t{4},
                     .seconds = 30.0,
                     .version = "reverie 9.9"},
                    {.step = "dream_train",
                     .done = "20 updates",
                     .seed = uint64_t{5},
                     .seconds = 9.0,
                     .version = "reverie 9.9",
                     .learning = {.resets = 5, .steps = 66},
                     .validation = {.steps = 777, .measurements = 8}}};
  report.world.losses = {{"latent", 0.123}, {"end", 0.004}, {"counts", 0.5}, {"loss", 1.5}};
  OpenLoopRow ahead;
  ahead.k = 1;
  ahead.latent_error = 0.25;
  ahead.latent_error_copy = 0.75;
  ahead.reward_error = 0.125;
  ahead.reward_magnitude = 0.5;
  ahead.change_error = 0.375;
  report.world.open_loop = {ahead};
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
    for (const char* key :
         {"median", "low", "high", "gain_percent", "gain_low", "gain_high", "rounds"})
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
  for (const char* part :
       {"run time, s", "measured, s (95 %)", "seconds", "steps", "look-ups", "measurements",
        "swaps", "| s3 |", "| 4321 |", "| 8765 |", "| 999 |", "All was verified.",
        "It has <nodes>.", "rule list: the best of 7 orders"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ReportTest, ColumnsThatWouldBeEmptyAreLeftOut) {
  EvaluationReport report = whole_report();
  for (MethodBest& best : report.starts[0].best) best.measured = {};
  for (MethodRun& run : report.starts[0].runs) run.measurements = run.cost_lookups = 0;
  const std::string text = report_markdown(report);
  for (const char* part : {"measured", "look-ups", "measurements"})
    EXPECT_THAT(text, Not(HasSubstr(part)));
}

TEST(ReportTest, HtmlShowsEverything) {
  const EvaluationReport report = whole_report();
  const std::string html = report_html(report);
  for (const std::string& method : kReported)
    EXPECT_THAT(html, HasSubstr("<td>" + method + "</td>"));
  for (const char* part : {"run time, s", "measured, s (95 %)", "<td>4321</td>", "<td>8765</td>",
                           "<td>999</td>", "above greedy?", "above the best baseline?",
                           "<td>s2</td>", "Return: dream against real", "Best so far over time",
                           "its own plot", "Measured gain over the original", "invalid actions"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, HasSubstr(escape_html(verdict_on(report))));
}

TEST(ReportTest, SaysWhatLearningCostAndHowGoodTheWorldModelIs) {
  const EvaluationReport report = learned_report();
  const std::string cost =
      "As far as recorded, learning took 1300 real steps in 45 episodes, and 777 real steps to "
      "validate; 1:40 (min:s) in all. What train_vae took is not recorded.";
  EXPECT_EQ(learning_cost(report), cost);
  const ReportTable table = learning_cost_table(report);
  ASSERT_EQ(table.rows.size(), 5u);
  const std::vector<std::string> dreams = {"dream_train", "20 updates", "5", "5",
                                           "66",          "777",        "8", "0:09"};
  EXPECT_EQ(table.rows[2], dreams);
  EXPECT_EQ(table.rows[3], std::vector<std::string>({"train_vae", "not recorded", "not recorded",
                                                     "not recorded", "not recorded", "not recorded",
                                                     "not recorded", "not recorded"}));
  const std::string quality = world_quality(report);
  for (const char* part :
       {"One step ahead M misses the latents by 0.250 deviations (copying the start: 0.750)",
        "the reward by 0.125 (its size: 0.5)", "gets 0.375 counts of valid actions wrong",
        "next latent 0.123", "end 0.004", "valid actions 0.5", "in all 1.5"})
    EXPECT_THAT(quality, HasSubstr(part));
  EXPECT_EQ(versions(report),
            "Evaluated with seed 11 by reverie 9.9, LibTorch 8.8; learned with reverie 9.8.");
  for (const std::string& page : {report_markdown(report), report_html(report)})
    for (const std::string& text : {cost, quality, versions(report), std::string("0.250 (0.750)")})
      EXPECT_THAT(page, HasSubstr(text));
  const Json json = Json::parse(report_json(report));
  EXPECT_EQ(json.at("seed"), 11);
  EXPECT_EQ(json.at("versions").dump(), R"(["reverie 9.9","LibTorch 8.8"])");
  EXPECT_EQ(json.at("learning_cost").at("steps").array().at(2).at("validation").at("steps"), 777);
  EXPECT_EQ(json.at("learning_cost").at("not_recorded").dump(), R"(["train_vae"])");
  EXPECT_EQ(json.at("world_model").at("validation").at("latent"), 0.123);
  EXPECT_EQ(json.at("world_model").at("open_loop").array().at(0).at("change_error"), 0.375);
}

TEST(ReportTest, SaysWhatIsNotRecorded) {
  const EvaluationReport report = whole_report();
  EXPECT_EQ(learning_cost(report),
            "What collect, train_vae, train_mdnrnn, dream_train took is not recorded.");
  EXPECT_EQ(world_quality(report), "How well M predicts is not recorded with this policy.");
  for (const std::string& page : {report_markdown(report), report_html(report)})
    EXPECT_THAT(page, HasSubstr(learning_cost(report)));
}

TEST(ReportTest, ThePolicysFileTellsWhatItsDirectoryDoesNot) {
  Checkpoint policy;
  for (const char* phase : {"training_", "validation_"})
    for (const char* name : {"resets", "steps", "cost_lookups", "measurements"})
      policy.counters[std::string(phase) + name] = 12;
  policy.scores = {{"world/validation/reward", 0.5}, {"best/found", 3}};
  EvaluationReport report;
  add_policy_record(report, policy, {{.step = "collect"}});
  ASSERT_EQ(report.history.size(), 2u);
  EXPECT_EQ(report.history[1].step, "dream_train");
  EXPECT_EQ(report.history[1].validation.steps, 12);
  EXPECT_FALSE(report.history[1].seconds);
  EXPECT_EQ(report.world.losses, (std::map<std::string, double>{{"reward", 0.5}}));
  add_policy_record(report, policy, {{.step = "dream_train", .done = "recorded"}});
  ASSERT_EQ(report.history.size(), 1u);
  EXPECT_EQ(report.history[0].done, "recorded");
  add_policy_record(report, {}, {});
  EXPECT_EQ(report.history.size(), 0u) << "an earlier program's file";
}

TEST(ReportTest, TheMeasuredGainStandsFirst) {
  EvaluationReport report = whole_report();
  report.estimated_by = "guesses";
  const std::string html = report_html(report);
  EXPECT_THAT(html,
              HasSubstr("<div class='gain up'><b>+12.00 %</b><span>&lt;tiny&gt;: measured gain"));
  EXPECT_LT(html.find("Measured gain over the original"), html.find("Estimated gain by run time"));
  EXPECT_LT(html.find("<td>measured</td>"), html.find("<td>estimate</td>"));
  EXPECT_THAT(html, HasSubstr("The estimate is by guesses."));
  EXPECT_EQ(report_table(report, report.starts[0]).heads.at(1), "measured gain % (95 %)");
  for (MethodBest& best : report.starts[0].best) best.measured = {};
  EXPECT_THAT(report_html(report),
              HasSubstr("<b>+12.00 %</b><span>&lt;tiny&gt;: gain of the policy by run time, an "
                        "estimate by guesses; nothing was measured</span>"));
  EXPECT_EQ(Json::parse(report_json(report)).at("starts").array().at(0).at("gain").at("by"),
            "estimated");
}

TEST(ReportTest, WorseThanTheOriginalLooksWorse) {
  const EvaluationReport report =
      invented(seconds_spec(), {{"no-op", 0}, {"policy (greedy)", -12}, {"greedy", 15}}, 1);
  const std::string html = report_html(report);
  EXPECT_THAT(html, HasSubstr("<div class='gain down'><b>\u221212.00 %</b>"));
  EXPECT_THAT(html, HasSubstr(">\u221212 %</text>"));
  EXPECT_THAT(html, HasSubstr("<td class='loss'>-12.00</td>"));
}

TEST(ReportTest, WherePercentagesMeanNothingBarsAreOfTheObjective) {
  EvaluationReport report =
      invented(value_spec(), {{"no-op", 0}, {"policy (greedy)", 3}, {"greedy", 2}}, 0);
  EXPECT_THAT(report_html(report), HasSubstr("Gain by value"));
  report.starts[0].initial = 0;
  EXPECT_THAT(report_html(report), HasSubstr("Before and after: value"));
}

TEST(ReportTest, HtmlStandsAloneAndEscapesNames) {
  std::string html = report_html(whole_report());
  for (const char* name : {"&lt;policy&gt; &amp; &quot;co&quot;.pt", "&lt;tiny&gt;", "&lt;wide&gt;",
                           "&lt;shape&gt;", "&lt;nodes&gt;", "&lt;someone&gt;"})
    EXPECT_THAT(html, HasSubstr(name));
  for (const char* name : {"<policy>", "<tiny>", "<wide>", "<shape>", "<nodes>", "<someone>"})
    EXPECT_THAT(html, Not(HasSubstr(name)));
  const std::string name_space = "xmlns='http://www.w3.org/2000/svg'";
  for (size_t at; (at = html.find(name_space)) != std::string::npos;)
    html.erase(at, name_space.size());
  for (size_t at; (at = html.find("href='data:")) != std::string::npos;) html.erase(at, 5);
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace reverie
