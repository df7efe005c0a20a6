#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "controller/report/report.h"
#include "core/report/svg.h"

namespace reverie {
namespace {

constexpr const char* kStyle = R"css(
body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#1c1c1c}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2.2em;border-bottom:1px solid #ccc}
table{border-collapse:collapse;width:100%;font-size:.86em;font-variant-numeric:tabular-nums}
th,td{padding:.25em .55em;text-align:right;border-bottom:1px solid #e4e4e4}
th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid #888;vertical-align:bottom}
tr.policy{background:#eef5fb}
td.yes{color:#00693e;font-weight:700}td.no{color:#b02a1c;font-weight:700}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:1.2em;margin-top:1.2em}
.note{color:#555;font-size:.9em}
)css";

constexpr const char* kLearningHead = R"html(<h2>How the policy learned</h2>
<p class='note'>A return is the sum of an episode's rewards, by default in percent of the original's
cost. <i>Training</i>: the mean over the batch that an update learned from; in a dream such episodes
may begin in the middle. <i>Dream, whole episodes</i>: dreamt from the original graph; <i>replayed for
real</i>: the same actions in the real environment, those that do not exist there (phantoms) left
out. Where the two part, the policy lives on errors of the world model.</p>
<div class='plots'>
)html";

std::string cell(const std::string& content) { return "<td>" + content + "</td>"; }

std::string table_row(const ReportRow& row) {
  std::string html = row.method.starts_with("policy") ? "<tr class='policy'>" : "<tr>";
  html += cell(escape_html(row.method));
  html += cell(fmt::format("{:.4g}", row.cost_ms));
  html += cell(fmt::format("<b>{:.2f}</b>", row.improvement_percent));
  html += cell(fmt::format("{:.2f}", row.mean_improvement));
  if (row.measured) {
    html += cell(fmt::format("{:.4g} <small>({:.4g} to {:.4g})</small>", row.measured_ms, row.low_ms,
                             row.high_ms));
    html += cell(fmt::format("{:.2f} <small>({:.2f} to {:.2f})</small>", row.measured_gain,
                             row.gain_low, row.gain_high));
  } else {
    html += cell("-") + cell("-");
  }
  html += cell(fmt::format("{:.3g}", row.mean_seconds)) + cell(fmt::format("{:.0f}", row.mean_steps));
  html += cell(fmt::format("{:.0f}", row.mean_lookups));
  html += cell(fmt::format("{:.0f}", row.mean_measurements)) + cell(fmt::format("{}", row.rewrites));
  html += cell(fmt::format("x{:.2f}", row.weight_growth));
  html += cell(row.verified ? fmt::format("{:.1e}", row.error) : "-");
  return html + "</tr>\n";
}

std::string table(const ModelReport& model) {
  std::string html = "<table><thead><tr>";
  for (const char* head : {"method", "estimated ms", "gain %, best", "gain %, mean",
                           "measured ms (95%)", "measured gain % (95%)", "seconds", "steps",
                           "cost look-ups", "measure&shy;ments", "rewrites", "weights",
                           "largest error"})
    html += fmt::format("<th>{}</th>", head);
  html += "</tr></thead><tbody>\n";
  for (const ReportRow& row : report_rows(model)) html += table_row(row);
  return html + "</tbody></table>\n";
}

std::string place_cell(Place place, const char* equal) {
  switch (place) {
    case Place::kAbove: return "<td class='yes'>yes</td>";
    case Place::kBelow: return "<td class='no'>no</td>";
    case Place::kEqual: break;
  }
  return cell(equal);
}

std::string measured_cell(const ReportRow& row) {
  return cell(fmt::format("{:.2f} <small>({:.2f} to {:.2f})</small>", row.measured_gain,
                          row.gain_low, row.gain_high));
}

std::string estimate_row(const std::string& name, const PolicyStanding& found) {
  return "<tr>" + cell(name) + cell("estimated") + cell(escape_html(found.policy.method)) +
         cell(fmt::format("{:.2f}", found.policy.improvement_percent)) +
         cell(fmt::format("{:.2f}", found.greedy.improvement_percent)) +
         place_cell(place_by_estimate(found.policy, found.greedy), "equal") +
         cell(escape_html(found.search.method)) +
         cell(fmt::format("{:.2f}", found.search.improvement_percent)) +
         place_cell(place_by_estimate(found.policy, found.search), "equal") + "</tr>\n";
}

std::string measurement_row(const PolicyStanding& found) {
  constexpr const char* kOverlap = "intervals overlap";
  return "<tr>" + cell("") + cell("measured") + cell(escape_html(found.policy.method)) +
         measured_cell(found.policy) + measured_cell(found.greedy) +
         place_cell(place_by_measurement(found.policy, found.greedy), kOverlap) +
         cell(escape_html(found.search.method)) + measured_cell(found.search) +
         place_cell(place_by_measurement(found.policy, found.search), kOverlap) + "</tr>\n";
}

/// Plainly, per model: is the policy above greedy, and above the best search?
std::string standing_table(const EvaluationReport& report) {
  std::string html = "<table><thead><tr>";
  for (const char* head : {"model", "by", "policy, better of two", "gain %", "greedy, gain %",
                           "above greedy?", "best search", "gain %", "above the best search?"})
    html += fmt::format("<th>{}</th>", head);
  html += "</tr></thead><tbody>\n";
  for (const ModelReport& model : report.models) {
    const PolicyStanding found = standing(model);
    html += estimate_row(escape_html(model.name), found);
    if (found.policy.measured) html += measurement_row(found);
  }
  return html + "</tbody></table>\n";
}

std::string cost_over_steps(const ModelReport& model) {
  std::vector<Series> series;
  for (const MethodBest& best : model.best) {
    if (best.cost_ms.size() < 2) continue;
    Series one{best.method, {}, false};
    for (size_t step = 0; step < best.cost_ms.size(); ++step)
      one.points.emplace_back(static_cast<double>(step), best.cost_ms[step]);
    series.push_back(std::move(one));
  }
  return line_chart("Cost over the steps of each method's best run",
                    {.x_label = "steps (rewrites taken)", .y_label = "estimated cost, ms"}, series);
}

std::string cost_over_time(const ModelReport& model) {
  std::vector<Series> series;
  for (const MethodBest& best : model.best)
    for (const MethodRun& run : model.runs) {
      if (run.method != best.method || run.seed != best.seed || run.trace.size() < 2) continue;
      Series one{run.method, {}, true};
      for (const SearchProgress& point : run.trace)
        one.points.emplace_back(point.seconds, point.best.runtime.milliseconds());
      one.points.emplace_back(run.seconds, run.best_cost.runtime.milliseconds());
      series.push_back(std::move(one));
    }
  return line_chart("Best so far over time",
                    {.x_label = "optimisation time, seconds, logarithmic",
                     .y_label = "estimated cost, ms",
                     .log_x = true}, series);
}

std::string rules_used(const ModelReport& model, const std::vector<std::string>& names) {
  std::set<int> used;
  std::vector<std::string> columns, rows;
  for (const MethodBest& best : model.best) {
    if (best.rewrites.empty()) continue;
    columns.push_back(best.method);
    for (const RewriteStep& step : best.rewrites) used.insert(step.rule);
  }
  std::vector<std::vector<double>> cells;
  for (const int rule : used) {
    rows.push_back(names.at(static_cast<size_t>(rule)));
    cells.emplace_back();
    for (const MethodBest& best : model.best)
      if (!best.rewrites.empty())
        cells.back().push_back(static_cast<double>(
            std::count_if(best.rewrites.begin(), best.rewrites.end(),
                          [&](const RewriteStep& step) { return step.rule == rule; })));
  }
  return heat_map("Rewrites of each rule in the best run", rows, columns, cells);
}

std::string shown_name(const ReportRow& row) {
  return row.method == "no-op" ? "original" : row.method;
}

std::string estimated_bars(const ModelReport& model) {
  std::vector<Bar> bars;
  for (const ReportRow& row : report_rows(model))
    bars.push_back({shown_name(row), row.cost_ms, row.cost_ms, row.cost_ms});
  return bar_chart("Before and after: estimated cost", "ms", bars);
}

std::string measured_bars(const ModelReport& model) {
  std::vector<Bar> bars;
  for (const ReportRow& row : report_rows(model))
    if (row.measured)
      bars.push_back({shown_name(row), row.measured_ms, row.low_ms, row.high_ms});
  return bar_chart("Before and after: measured end to end, medians with 95% intervals", "ms", bars);
}

std::string figure(const std::string& svg) {
  return svg.empty() ? "" : "<figure style='margin:0'>" + svg + "</figure>\n";
}

std::string model_section(const ModelReport& model, const EvaluationReport& report) {
  return fmt::format("<h2>{}</h2>\n<p>{}</p>\n<p class='note'>{} nodes; the original is estimated at "
                     "{:.4g} ms, {:.3g} GFLOP, {:.3g} MB of traffic, {} kernels.</p>\n",
                     escape_html(model.name), escape_html(verdict(model)), model.nodes,
                     model.initial.runtime.milliseconds(),
                     static_cast<double>(model.initial.flops) * 1e-9,
                     static_cast<double>(model.initial.bytes) * 1e-6, model.initial.launches) +
         table(model) + "<div class='plots'>\n" + figure(estimated_bars(model)) +
         figure(measured_bars(model)) + figure(cost_over_steps(model)) + figure(cost_over_time(model)) +
         figure(rules_used(model, report.rules)) + "</div>\n";
}

Series curve(const EvaluationReport& report, const std::string& key, const std::string& name) {
  Series series{name, {}, false};
  for (const LearningRow& row : report.learning)
    if (const auto found = row.values.find(key); found != row.values.end())
      series.points.emplace_back(static_cast<double>(row.update), found->second);
  return series;
}

std::string learning_section(const EvaluationReport& report) {
  if (report.learning.empty()) return "";
  const auto chart = [&](const std::string& title, const std::string& label,
                         std::vector<Series> series, bool from_zero = false) {
    std::erase_if(series, [](const Series& one) { return one.points.empty(); });
    return figure(line_chart(
        title, {.x_label = "updates of the policy", .y_label = label, .from_zero = from_zero}, series));
  };
  std::string html = kLearningHead;
  html += chart("Return: dream against real", "return of an episode",
                {curve(report, "train/return", "training"),
                 curve(report, "real/sampled_return", "real, sampled"),
                 curve(report, "real/greedy_return", "real, greedy"),
                 curve(report, "real/dream_return", "dream, whole episodes"),
                 curve(report, "real/replayed_return", "dream, replayed for real")});
  html += chart("Improvement for real, at validation", "percent of the original's cost",
                {curve(report, "real/greedy_improvement", "greedy"),
                 curve(report, "real/sampled_improvement", "sampled, mean"),
                 curve(report, "real/sampled_best_improvement", "sampled, best")});
  html += chart("Phantoms: dreamt actions that do not exist", "share of dreamt actions",
                {curve(report, "real/phantom_share", "phantoms")}, true);
  html += chart("Entropy of the policy", "nats",
                {curve(report, "train/entropy", "entropy")}, true);
  return html + "</div>\n";
}

}  // namespace

std::string report_html(const EvaluationReport& report) {
  std::string html = "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
                     "<meta name='viewport' content='width=device-width,initial-scale=1'>"
                     "<title>Reverie: evaluation</title><style>";
  html += std::string(kStyle) + kChartStyle;
  html += fmt::format("</style></head><body>\n<h1>Evaluation</h1>\n<p class='note'>Policy <code>{}</code>. {} "
                      "Graphs are measured in interleaved rounds; the gain is paired with the original "
                      "of the same round. Every result was compared with the original on random "
                      "inputs. {}</p>\n",
                      escape_html(report.policy_file), escape_html(sources(report)),
                      budgets(report.config));
  html += "<h2>Is the policy better?</h2>\n" + standing_table(report);
  for (const ModelReport& model : report.models) html += model_section(model, report);
  html += learning_section(report);
  return html + "</body></html>\n";
}

}  // namespace reverie
