#include "controller/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/files.h"
#include "core/base/json.h"
#include "core/search/optimize.h"

namespace reverie {
namespace {

Json cost_json(const Cost& cost) {
  return {{"runtime_ms", cost.runtime.milliseconds()},
          {"flops", cost.flops},
          {"bytes", cost.bytes},
          {"launches", cost.launches},
          {"estimated_share", estimated_share(cost)}};
}

Json run_json(const MethodRun& run) {
  Json::Array trace;
  for (const SearchProgress& point : run.trace)
    trace.push_back({{"seconds", point.seconds},
                     {"expansions", point.expansions},
                     {"best_cost_ms", point.best.runtime.milliseconds()}});
  return {{"method", run.method},
          {"seed", run.seed},
          {"best_cost_ms", run.best_cost.runtime.milliseconds()},
          {"improvement_percent", run.improvement_percent},
          {"seconds", run.seconds},
          {"steps", run.steps},
          {"candidates", run.candidates},
          {"cost_lookups", run.cost_lookups},
          {"measurements", run.measurements},
          {"trace", trace}};
}

Json best_json(const MethodBest& best, const std::vector<std::string>& rules) {
  Json::Array rewrites;
  for (const RewriteStep& step : best.rewrites)
    rewrites.push_back({{"rule", rules.at(static_cast<size_t>(step.rule))},
                        {"location", step.location}});
  Json line = {{"method", best.method},   {"seed", best.seed},
               {"cost", cost_json(best.cost)}, {"weight_bytes", best.weight_bytes},
               {"file", best.file},       {"cost_ms_along", best.cost_ms},
               {"rewrites", rewrites}};
  if (!best.rewrites.empty())
    line["verified"] = {{"inputs", best.verified.inputs},
                        {"max_abs_error", best.verified.max_abs_error},
                        {"max_rel_error", best.verified.max_rel_error},
                        {"unverified_nodes", best.verified.unverified_nodes}};
  if (best.measured.repeats > 0)
    line["measured"] = {{"median_ms", best.measured.median.milliseconds()},
                        {"low_ms", best.measured.low.milliseconds()},
                        {"high_ms", best.measured.high.milliseconds()},
                        {"repeats", best.measured.repeats},
                        {"fallbacks", best.measured.fallbacks},
                        {"ratio", best.ratio.median},
                        {"ratio_low", best.ratio.low},
                        {"ratio_high", best.ratio.high}};
  return line;
}

double mean_of(const ModelReport& model, const std::string& method,
               const std::function<double(const MethodRun&)>& value) {
  double sum = 0;
  int64_t count = 0;
  for (const MethodRun& run : model.runs)
    if (run.method == method) {
      sum += value(run);
      ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

std::vector<ReportRow> report_rows(const ModelReport& model) {
  std::vector<ReportRow> rows;
  for (const MethodBest& best : model.best) {
    const auto mean = [&](auto value) { return mean_of(model, best.method, value); };
    ReportRow row;
    row.method = best.method;
    row.cost_ms = best.cost.runtime.milliseconds();
    row.improvement_percent = improvement_percent(model.initial, best.cost);
    row.mean_improvement = mean([](const MethodRun& run) { return run.improvement_percent; });
    row.mean_seconds = mean([](const MethodRun& run) { return run.seconds; });
    row.mean_steps = mean([](const MethodRun& run) { return static_cast<double>(run.steps); });
    row.mean_lookups = mean([](const MethodRun& run) { return static_cast<double>(run.cost_lookups); });
    row.mean_measurements =
        mean([](const MethodRun& run) { return static_cast<double>(run.measurements); });
    row.measured = best.measured.repeats > 0;
    row.measured_ms = best.measured.median.milliseconds();
    row.low_ms = best.measured.low.milliseconds();
    row.high_ms = best.measured.high.milliseconds();
    row.measured_gain = 100 * (1 - best.ratio.median);
    row.gain_low = 100 * (1 - best.ratio.high);
    row.gain_high = 100 * (1 - best.ratio.low);
    row.rewrites = static_cast<int64_t>(best.rewrites.size());
    row.weight_growth = model.weight_bytes > 0 ? static_cast<double>(best.weight_bytes) /
                                                     static_cast<double>(model.weight_bytes) : 1;
    row.verified = best.verified.agree;
    row.error = best.verified.max_rel_error;
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

Json standing_json(const ModelReport& model) {
  const PolicyStanding found = standing(model);
  return {{"policy", found.policy.method},
          {"above_greedy", place_by_estimate(found.policy, found.greedy) == Place::kAbove},
          {"best_search", found.search.method},
          {"above_best_search", place_by_estimate(found.policy, found.search) == Place::kAbove}};
}

}  // namespace

std::string report_json(const EvaluationReport& report) {
  Json::Array models;
  for (const ModelReport& model : report.models) {
    Json::Array runs, best;
    for (const MethodRun& run : model.runs) runs.push_back(run_json(run));
    for (const MethodBest& one : model.best) best.push_back(best_json(one, report.rules));
    models.push_back({{"model", model.name},
                      {"path", model.path},
                      {"nodes", model.nodes},
                      {"initial_cost", cost_json(model.initial)},
                      {"weight_bytes", model.weight_bytes},
                      {"verdict", verdict(model)},
                      {"standing", standing_json(model)},
                      {"best", best},
                      {"runs", runs}});
  }
  Json::Array learning;
  for (const LearningRow& row : report.learning) {
    Json line = {{"update", row.update}};
    for (const auto& [name, value] : row.values) line[name] = value;
    learning.push_back(std::move(line));
  }
  const Json all = {{"policy", report.policy_file},
                    {"cost_source", report.cost_source},
                    {"operators", report.costs.operators},
                    {"estimates", report.costs.estimates},
                    {"machine", report.machine ? report.machine->device : ""},
                    {"policy_counters", report.policy_counters},
                    {"models", models},
                    {"learning", learning}};
  return all.dump(1) + "\n";
}

std::string report_summary_json(const EvaluationReport& report) {
  Json::Array models;
  for (const ModelReport& model : report.models) {
    Json methods = Json::Object();
    for (const ReportRow& row : report_rows(model)) {
      methods[row.method] = {{"improvement_percent", row.improvement_percent},
                             {"seconds", row.mean_seconds}};
      if (row.measured) methods[row.method]["measured_improvement_percent"] = row.measured_gain;
    }
    models.push_back(
        {{"model", model.name}, {"standing", standing_json(model)}, {"methods", methods}});
  }
  return Json{{"cost_source", report.cost_source}, {"models", models}}.dump();
}

std::string budgets(const EvaluationConfig& config) {
  return fmt::format(
      "Each method stands by its best graph. A run of the sampled policy is the best of {} episodes; "
      "random has the longest of its runs' time. Rule list: the best of {} orders; taso{}: {} expansions. "
      "Methods that draw run with {} seeds: best, and mean of the runs.",
      config.samples, config.rule_orders, config.guided ? " and searches that the policy guides" : "",
      config.taso_budget, config.seeds);
}

double largest_estimated_share(const EvaluationReport& report) {
  double largest = 0;
  for (const ModelReport& model : report.models) {
    largest = std::max(largest, estimated_share(model.initial));
    for (const MethodBest& best : model.best) largest = std::max(largest, estimated_share(best.cost));
  }
  return largest;
}

std::string sources(const EvaluationReport& report) {
  std::string text = "Estimated costs are by " + report.cost_source;
  if (report.costs.estimates > 0)
    text += fmt::format(", which does not know {} of the {} operators asked for and estimates them, up to "
                        "{:.1f} % of the time of a graph in this report",
                        report.costs.estimates, report.costs.operators,
                        100 * largest_estimated_share(report));
  text += ".";
  if (report.machine)
    text += fmt::format(" Measured times are end to end on {} ({}).", report.machine->device,
                        report.machine->library);
  return text;
}

std::string report_markdown(const EvaluationReport& report) {
  std::string text = fmt::format("# Evaluation\n\nPolicy `{}`. {} {}\n", report.policy_file,
                                 sources(report), budgets(report.config));
  for (const ModelReport& model : report.models) {
    text += fmt::format("\n## {}\n\n{}\n\n{} nodes, {:.4g} ms estimated.\n\n"
                        "| method | estimated ms | gain % (best) | gain % (mean) | measured ms "
                        "(95%) | measured gain % (95%) | seconds | steps | look-ups | measurements | "
                        "rewrites | weights |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
                        model.name, verdict(model), model.nodes,
                        model.initial.runtime.milliseconds());
    for (const ReportRow& row : report_rows(model)) {
      const std::string measured =
          row.measured ? fmt::format("{:.4g} ({:.4g} to {:.4g})", row.measured_ms, row.low_ms, row.high_ms)
                       : "-";
      const std::string gain =
          row.measured ? fmt::format("{:.2f} ({:.2f} to {:.2f})", row.measured_gain, row.gain_low, row.gain_high)
                       : "-";
      text += fmt::format("| {} | {:.4g} | {:.2f} | {:.2f} | {} | {} | {:.3g} | {:.0f} | {:.0f} | {:.0f} "
                          "| {} | x{:.2f} |\n",
                          row.method, row.cost_ms, row.improvement_percent, row.mean_improvement,
                          measured, gain, row.mean_seconds, row.mean_steps, row.mean_lookups,
                          row.mean_measurements, row.rewrites, row.weight_growth);
    }
  }
  return text;
}

void write_report(const EvaluationReport& report, const std::string& directory) {
  write_file(directory + "/report.json", report_json(report));
  write_file(directory + "/report.md", report_markdown(report));
  write_file(directory + "/report.html", report_html(report));
}

}  // namespace reverie
