#include "controller/evaluate/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/files.h"
#include "core/base/json.h"

namespace reverie {
namespace {

Json metrics_json(const EnvSpec& spec, const std::vector<double>& metrics) {
  Json json = Json::Object();
  for (size_t i = 0; i < metrics.size(); ++i) json[spec.metrics.at(i).name] = metrics[i];
  return json;
}

Json run_json(const MethodRun& run) {
  Json::Array trace;
  for (const BestSoFar& point : run.trace)
    trace.push_back({{"seconds", point.seconds}, {"best", point.best}});
  return {{"method", run.method},
          {"seed", run.seed},
          {"best", run.best},
          {"improvement_percent", run.improvement_percent},
          {"seconds", run.seconds},
          {"steps", run.steps},
          {"candidates", run.candidates},
          {"cost_lookups", run.cost_lookups},
          {"measurements", run.measurements},
          {"trace", trace}};
}

Json measured_json(const MeasuredResult& measured) {
  return {{"median", measured.median},     {"low", measured.low},
          {"high", measured.high},         {"gain_percent", measured.gain_percent},
          {"gain_low", measured.gain_low}, {"gain_high", measured.gain_high},
          {"rounds", measured.rounds}};
}

Json best_json(const EnvSpec& spec, const MethodBest& best) {
  Json line = {{"method", best.method},
               {"budget", best.budget},
               {"seed", best.seed},
               {"best", best.best},
               {"metrics", metrics_json(spec, best.metrics)},
               {"file", best.artifact.file}};
  if (best.artifact.verified.is_object()) line["verified"] = best.artifact.verified;
  if (best.measured.rounds > 0) line["measured"] = measured_json(best.measured);
  return line;
}

template <class Above>
Json comparison_json(const PolicyComparison& found, const Above& above) {
  Json line = {{"policy", found.policy.method}};
  if (found.greedy) line["above_greedy"] = above(*found.greedy);
  line["best_baseline"] = found.baseline.method;
  line["above_best_baseline"] = above(found.baseline);
  return line;
}

/// By the objective, and by what was measured.
Json comparison_json(const EvaluationReport& report, const StartReport& start) {
  const PolicyComparison found = comparison(report, start);
  Json line = comparison_json(found, [&](const ReportRow& other) {
    return place_by_objective(report.spec, found.policy, other) == Place::kAbove;
  });
  if (const auto measured = measured_comparison(report, start))
    line["measured"] = comparison_json(*measured, [&](const ReportRow& other) {
      return place_by_measurement(measured->policy, other) == Place::kAbove;
    });
  return line;
}

/// The one gain of the policy that stands first.
Json gain_json(const EvaluationReport& report, const StartReport& start) {
  if (const auto measured = measured_comparison(report, start)) {
    const MeasuredResult& own = measured->policy.measured;
    return {{"percent", own.gain_percent},
            {"low", own.gain_low},
            {"high", own.gain_high},
            {"by", "measured"}};
  }
  return {{"percent", comparison(report, start).policy.improvement_percent},
          {"by", report.estimated_by.empty() ? "objective" : "estimated"}};
}

Json start_json(const EvaluationReport& report, const StartReport& start) {
  Json::Array runs, best;
  for (const MethodRun& run : start.runs) runs.push_back(run_json(run));
  for (size_t i = 0; i < start.best.size(); ++i) {
    best.push_back(best_json(report.spec, start.best[i]));
    if (!start.described.details.empty()) best.back()["details"] = start.described.details.at(i);
  }
  return {{"start", start.name},
          {"metrics", metrics_json(report.spec, start.metrics)},
          {"sentences", start.described.sentences},
          {"gain", gain_json(report, start)},
          {"verdict", verdict(report, start)},
          {"comparison", comparison_json(report, start)},
          {"best", best},
          {"runs", runs}};
}

Json objective_json(const EnvSpec& spec) {
  return {{"name", spec.objective_metric().name},
          {"unit", spec.objective_metric().unit},
          {"less_is_better", spec.less_is_better}};
}

Json world_json(const WorldQuality& world) {
  return {{"validation", world.losses}, {"open_loop", open_loop_json(world.open_loop)}};
}

std::string markdown_table(const ReportTable& table) {
  std::string text = fmt::format("| {} |\n|---|", fmt::join(table.heads, " | "));
  for (size_t i = 1; i < table.heads.size(); ++i) text += "--:|";
  for (const auto& row : table.rows) text += fmt::format("\n| {} |", fmt::join(row, " | "));
  return text + "\n";
}

std::string section(const std::string& head, const std::string& text, const ReportTable& table) {
  return fmt::format("\n## {}\n\n{}\n{}", head, text,
                     table.rows.empty() ? "" : "\n" + markdown_table(table));
}

}  // namespace

std::string report_json(const EvaluationReport& report) {
  Json::Array starts;
  for (const StartReport& start : report.starts) starts.push_back(start_json(report, start));
  Json::Array learning;
  for (const LearningRow& row : report.learning) {
    Json line = {{"update", row.update}};
    for (const auto& [name, value] : row.values) line[name] = value;
    learning.push_back(std::move(line));
  }
  const Json all = {{"policy", report.policy_file},
                    {"environment", report.spec.name},
                    {"source", report.spec.source},
                    {"objective", objective_json(report.spec)},
                    {"estimated_by", report.estimated_by},
                    {"seed", report.seed},
                    {"versions", report.versions},
                    {"sentences", report.sentences},
                    {"learning_cost", learned_json(report)},
                    {"world_model", world_json(report.world)},
                    {"policy_counters", report.policy_counters},
                    {"starts", starts},
                    {"learning", learning}};
  return all.dump(1) + "\n";
}

std::string report_summary_json(const EvaluationReport& report) {
  Json::Array starts;
  for (const StartReport& start : report.starts) {
    Json methods = Json::Object();
    for (const ReportRow& row : report_rows(report, start)) {
      methods[row.method] = {{"best", row.objective},
                             {"improvement_percent", row.improvement_percent},
                             {"seconds", row.mean_seconds}};
      if (row.measured.rounds > 0)
        methods[row.method]["measured_improvement_percent"] = row.measured.gain_percent;
    }
    starts.push_back({{"start", start.name},
                      {"gain", gain_json(report, start)},
                      {"comparison", comparison_json(report, start)},
                      {"methods", methods}});
  }
  return Json{{"environment", report.spec.name}, {"source", report.spec.source}, {"starts", starts}}
      .dump();
}

std::string report_markdown(const EvaluationReport& report) {
  std::string text = fmt::format("# Evaluation: {}\n\nPolicy `{}`. {} {}\n", report.spec.name,
                                 report.policy_file, versions(report), preface(report));
  for (const StartReport& start : report.starts) {
    text += fmt::format("\n## {}\n\n{}\n\n", start.name, verdict(report, start));
    if (!start.described.sentences.empty())
      text += fmt::format("{}\n\n", fmt::join(start.described.sentences, " "));
    text += markdown_table(report_table(report, start));
  }
  text += section("What learning cost", learning_cost(report), learning_cost_table(report));
  return text + section("How good the world model is", world_quality(report), world_table(report));
}

void write_report(const EvaluationReport& report, const std::string& directory) {
  write_file(directory + "/report.json", report_json(report));
  write_file(directory + "/report.md", report_markdown(report));
  write_file(directory + "/report.html", report_html(report));
}

}  // namespace reverie
