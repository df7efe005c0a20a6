#include "controller/report/report.h"

#include <gmock/gmock.h>

#include "core/base/json.h"
#include "core/report/svg.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A report of estimated and measured gains alone, in percent; the interval is one percent each way.
ModelReport invented(const std::vector<std::pair<std::string, double>>& gains, double measured_factor) {
  ModelReport model;
  model.name = "invented";
  model.initial.runtime = {1000000};
  for (const auto& [method, gain] : gains) {
    MethodBest best;
    best.method = method;
    best.cost.runtime = {static_cast<int64_t>(10000 * (100 - gain))};
    if (measured_factor > 0) {
      best.measured.repeats = 30;
      const double ratio = 1 - 0.01 * measured_factor * gain;
      best.ratio = {ratio, ratio - 0.01, ratio + 0.01, 30};
    }
    model.best.push_back(std::move(best));
  }
  return model;
}

TEST(VerdictTest, SaysPlainlyWhereThePolicyStands) {
  const std::vector<std::pair<std::string, double>> gains = {
      {"no-op", 0}, {"policy (greedy)", 12}, {"policy (sampled)", 20}, {"greedy", 15}, {"taso", 25}};
  EXPECT_EQ(verdict(invented(gains, 0)),
            "By estimated cost the policy gains 20.00%: ABOVE greedy (15.00%), BELOW the best search, "
            "taso (25.00%).");
  EXPECT_THAT(verdict(invented(gains, 1)),
              HasSubstr("Measured, it gains 20.00% (19.00 to 21.00): above greedy (15.00%, 14.00 to "
                        "16.00), below taso (25.00%, 24.00 to 26.00)."));
  EXPECT_THAT(verdict(invented(gains, 0.1)), HasSubstr("not told apart from greedy"));
}

TEST(VerdictTest, EqualIsNotAbove) {
  EXPECT_THAT(verdict(invented({{"policy (greedy)", 15}, {"greedy", 15}, {"taso", 15}}, 0)),
              HasSubstr("EQUAL TO greedy (15.00%), which no other search beats"));
  EXPECT_THAT(verdict(invented({{"policy (greedy)", 3}, {"greedy", 15}, {"random", 2}}, 0)),
              HasSubstr("BELOW greedy"));
}

TEST(VerdictTest, ASearchThatThePolicyGuidesIsNeitherPolicyNorSearch) {
  const std::vector<std::pair<std::string, double>> gains = {
      {"policy (greedy)", 12}, {"policy beam", 30}, {"greedy", 15}};
  const PolicyStanding found = standing(invented(gains, 0));
  EXPECT_EQ(found.policy.method, "policy (greedy)");
  EXPECT_EQ(found.search.method, "greedy");
}

EvaluationReport whole_report() {
  EvaluationReport report;
  report.policy_file = "<policy> & \"co\".pt";
  report.cost_source = "table:h200.h5";
  report.costs.operators = 321;
  report.costs.estimates = 123;
  report.machine = MachineInfo{.device = "a <device>", .library = "a library", .driver = {}};
  report.rules = {"fuse <x>"};
  report.models.push_back(
      invented({{"no-op", 0}, {"policy (greedy)", 12}, {"greedy", 15}, {"rule list", 5}}, 1));
  ModelReport& model = report.models.front();
  model.name = "<tiny>";
  model.best.back().cost.estimated = Picoseconds{model.best.back().cost.runtime.count / 8};
  for (MethodBest& best : model.best) {
    best.measured.median = best.measured.low = best.measured.high = best.cost.runtime;
    best.cost_ms = {1, best.cost.runtime.milliseconds()};
    if (best.method != "no-op") best.rewrites = {{0, 0}};
    model.runs.push_back({.method = best.method, .seed = 1, .best_cost = best.cost,
                          .improvement_percent = 1, .seconds = 2.5, .steps = 4321, .candidates = 6,
                          .cost_lookups = 8765, .measurements = 999, .trace = {{}, {}}});
  }
  for (int update = 0; update < 3; ++update)
    report.learning.push_back({update, {{"train/return", update}, {"real/dream_return", 2.0 * update},
                                        {"real/sampled_return", 1.5}, {"real/score", 1.0 * update}}});
  return report;
}

const std::vector<std::string> kReported = {"no-op", "policy (greedy)", "greedy", "rule list"};

TEST(ReportTest, JsonHoldsEveryMethodAndFigure) {
  const EvaluationReport report = whole_report();
  const auto json = Json::parse(report_json(report));
  const auto& model = json.at("models").array().at(0);
  EXPECT_EQ(json.at("policy"), report.policy_file);
  EXPECT_EQ(json.at("estimates"), 123);
  EXPECT_EQ(model.at("verdict"), verdict(report.models[0]));
  EXPECT_EQ(model.at("standing").at("above_greedy"), false);
  ASSERT_EQ(model.at("best").array().size(), kReported.size());
  for (size_t i = 0; i < kReported.size(); ++i) {
    const auto& best = model.at("best").array().at(i);
    EXPECT_EQ(best.at("method"), kReported[i]);
    EXPECT_TRUE(best.at("cost").find("runtime_ms"));
    for (const char* key : {"median_ms", "low_ms", "high_ms", "ratio_low", "ratio_high"})
      EXPECT_TRUE(best.at("measured").find(key)) << key;
    const auto& run = model.at("runs").array().at(i);
    EXPECT_EQ(run.at("seconds"), 2.5);
    EXPECT_EQ(run.at("steps"), 4321);
    EXPECT_EQ(run.at("cost_lookups"), 8765);
    EXPECT_EQ(run.at("measurements"), 999);
  }
  EXPECT_EQ(json.at("learning").array().size(), 3u);
  EXPECT_NO_THROW(Json::parse(report_summary_json(report)));
}

TEST(ReportTest, MarkdownHoldsEveryMethodAndColumn) {
  const EvaluationReport report = whole_report();
  const std::string text = report_markdown(report);
  EXPECT_THAT(text, HasSubstr(verdict(report.models[0])));
  EXPECT_THAT(text, HasSubstr("123 of the 321 operators"));
  EXPECT_THAT(text, HasSubstr("up to 12.5 % of the time of a graph"));
  EXPECT_THAT(text, HasSubstr("on a <device> (a library)"));
  for (const std::string& method : kReported) EXPECT_THAT(text, HasSubstr("| " + method + " |"));
  for (const char* part : {"estimated ms", "measured ms (95%)", "seconds", "steps", "look-ups",
                           "measurements", "rewrites", "weights", "| 4321 |", "| 8765 |", "| 999 |"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ReportTest, HtmlShowsEverything) {
  const EvaluationReport report = whole_report();
  const std::string html = report_html(report);
  for (const std::string& method : kReported) EXPECT_THAT(html, HasSubstr("<td>" + method + "</td>"));
  for (const char* part : {"estimated ms", "measured ms (95%)", "<td>4321</td>", "<td>8765</td>",
                           "<td>999</td>", "above greedy?", "above the best search?",
                           "Return: dream against real", "Cost over the steps",
                           "Before and after: measured", "Rewrites of each rule"})
    EXPECT_THAT(html, HasSubstr(part));
  EXPECT_THAT(html, HasSubstr(escape_html(verdict(report.models[0]))));
}

TEST(ReportTest, HtmlStandsAloneAndEscapesNames) {
  std::string html = report_html(whole_report());
  for (const char* name : {"&lt;policy&gt; &amp; &quot;co&quot;.pt", "&lt;tiny&gt;", "fuse &lt;x&gt;"})
    EXPECT_THAT(html, HasSubstr(name));
  for (const char* name : {"<policy>", "<tiny>", "<x>"}) EXPECT_THAT(html, Not(HasSubstr(name)));
  const std::string name_space = "xmlns='http://www.w3.org/2000/svg'";
  for (size_t at; (at = html.find(name_space)) != std::string::npos;) html.erase(at, name_space.size());
  for (const char* outside :
       {"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace reverie
