#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "controller/evaluate/report.h"
#include "core/report/html.h"

namespace reverie {
namespace {

constexpr const char* kStyle = R"css(
body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em}
body{color:#1c1c1c}
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2.2em;border-bottom:1px solid #ccc}
table{border-collapse:collapse;width:100%;font-size:.86em;font-variant-numeric:tabular-nums}
th,td{padding:.25em .5em;text-align:right;border-bottom:1px solid #e4e4e4}td{white-space:nowrap}
.wide{overflow-x:auto}
th:first-child,td:first-child{text-align:left}thead th{border-bottom:2px solid #888;vertical-align:bottom}
tr.policy{background:#eef5fb}
td.yes{color:#00693e;font-weight:700}td.no{color:#b02a1c;font-weight:700}td.loss{color:#b02a1c}
tr.beside td{color:#777;font-size:.92em}
.gains{display:flex;flex-wrap:wrap;gap:1em;margin:1.2em 0}
.gain{flex:1 1 300px;max-width:520px;padding:.6em 1em}
.gain{border:1px solid #ddd;border-left:6px solid #888;border-radius:4px}
.gain b{display:block;font-size:2em;line-height:1.25}.gain span{color:#555;font-size:.9em}
.gain.up{border-left-color:#0072b2}.gain.up b{color:#0072b2}
.gain.down{border-left-color:#d55e00}.gain.down b{color:#b84e00}
figure{margin:0}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:1.2em;margin-top:1.2em}
.note{color:#555;font-size:.9em}
)css";

constexpr char kStart[] = "no-op";

constexpr const char* kLearningHead = R"html(<h2>How the policy learned</h2>
<p class='note'>A return is the sum of an episode's rewards. <i>Training</i>: the mean over the batch
that an update learned from; in a dream such episodes may begin in the middle. <i>Dream, whole
episodes</i>: dreamt from the start state; <i>replayed for real</i>: the same actions in the real
environment, without those that are invalid there. Where the two part, the policy lives on errors of
the world model.</p>
<div class='plots'>
)html";

std::string cell(const std::string& content) { return "<td>" + content + "</td>"; }

std::string head_row(const std::vector<std::string>& heads) {
  std::string html = "<div class='wide'><table><thead><tr>";
  for (const std::string& head : heads) html += "<th>" + escape_html(head) + "</th>";
  return html + "</tr></thead><tbody>\n";
}

bool is_loss(const std::string& head, const std::string& content) {
  return head.find("gain") != std::string::npos && content.size() > 1 && content[0] == '-';
}

std::string table(const ReportTable& shown) {
  std::string html = head_row(shown.heads);
  for (const auto& row : shown.rows) {
    html += row.front().starts_with("policy") ? "<tr class='policy'>" : "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      html += is_loss(shown.heads[i], row[i]) ? "<td class='loss'>" + escape_html(row[i]) + "</td>"
                                              : cell(escape_html(row[i]));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string place_cell(Place place, const char* equal) {
  switch (place) {
    case Place::kAbove:
      return "<td class='yes'>yes</td>";
    case Place::kBelow:
      return "<td class='no'>no</td>";
    case Place::kEqual:
      break;
  }
  return cell(equal);
}

/// How the gain of a row is shown, and where the policy stands beside another row.
struct Judging {
  std::string by;
  const char* equal;
  const char* css;  ///< of the row
  std::function<std::string(const ReportRow&)> gain;
  std::function<Place(const ReportRow&, const ReportRow&)> place;
};

std::string comparison_row(const std::string& name, const PolicyComparison& found,
                           const Judging& judging) {
  const auto beside = [&](const ReportRow& other) {
    return cell(judging.gain(other)) +
           place_cell(judging.place(found.policy, other), judging.equal);
  };
  return fmt::format("<tr class='{}'>", judging.css) + cell(name) + cell(escape_html(judging.by)) +
         cell(escape_html(found.policy.method)) + cell(judging.gain(found.policy)) +
         (found.greedy ? beside(*found.greedy) : cell("-") + cell("-")) +
         cell(escape_html(found.baseline.method)) + beside(found.baseline) + "</tr>\n";
}

/// "+2.50", "0.00", "\u22122.50".
std::string gain_text(double percent) {
  const double shown = std::round(100 * percent) / 100;
  return fmt::format("{}{:.2f}", shown < 0 ? "\u2212" : shown > 0 ? "+" : "", std::abs(shown));
}

std::string percent(const ReportRow& row) {
  return std::isfinite(row.objective) ? fmt::format("{:.2f}", row.improvement_percent) : "-";
}

std::string measured_percent(const ReportRow& row) {
  return fmt::format("{:.2f} <small>({:.2f} to {:.2f})</small>", row.measured.gain_percent,
                     row.measured.gain_low, row.measured.gain_high);
}

/// Plainly, per start state: is the policy above greedy, and above the best baseline?
std::string comparison_table(const EvaluationReport& report) {
  const EnvSpec& spec = report.spec;
  const std::string& estimate = report.estimated_by;
  const Judging by_measurement = {"measured", "intervals overlap", "", measured_percent,
                                  place_by_measurement};
  Judging by_objective = {estimate.empty() ? spec.objective_metric().name : "estimate", "equal", "",
                          percent, [&](const ReportRow& policy, const ReportRow& other) {
                            return place_by_objective(spec, policy, other);
                          }};
  std::string html =
      head_row({"start", "by", "policy, better of two", "gain %", "greedy, gain %", "above greedy?",
                "best baseline", "gain %", "above the best baseline?"});
  for (const StartReport& start : report.starts) {
    const auto measured = measured_comparison(report, start);
    by_objective.css = measured ? "beside" : "";
    if (measured) html += comparison_row(escape_html(start.name), *measured, by_measurement);
    html += comparison_row(measured ? "" : escape_html(start.name), comparison(report, start),
                           by_objective);
  }
  html += "</tbody></table></div>\n";
  if (estimate.empty()) return html;
  return html + fmt::format(
                    "<p class='note'>The estimate is by {}. It is what the policy learned "
                    "from and every method searched by, not what a run takes.</p>\n",
                    escape_html(estimate));
}

std::string card(const char* css, const std::string& large, const std::string& small) {
  return fmt::format("<div class='gain {}'><b>{}</b><span>{}</span></div>\n", css, large,
                     escape_html(small));
}

/// The one gain that stands first, large.
std::string gain_card(const EvaluationReport& report, const StartReport& start) {
  const auto shown = [&](double gain, double low, double high, const std::string& what) {
    const char* css = low > 0 ? "up" : high < 0 ? "down" : "same";
    return card(css, gain_text(gain) + " %", start.name + ": " + what);
  };
  if (const auto found = measured_comparison(report, start)) {
    const MeasuredResult& own = found->policy.measured;
    return shown(own.gain_percent, own.gain_low, own.gain_high,
                 fmt::format("measured gain of the policy, with 95 % between {} and {}",
                             gain_text(own.gain_low), gain_text(own.gain_high)));
  }
  const ReportRow policy = comparison(report, start).policy;
  if (!std::isfinite(policy.objective))
    return card("down", "no result", start.name + ": the policy finds no feasible state");
  const double gain = policy.improvement_percent;
  std::string what = "gain of the policy by " + report.spec.objective_metric().name;
  if (!report.estimated_by.empty())
    what += fmt::format(", an estimate by {}; nothing was measured", report.estimated_by);
  return shown(gain, gain, gain, what);
}

std::string estimated(const EvaluationReport& report) {
  return report.estimated_by.empty() ? "" : "estimated ";
}

Chart best_over_time(const EvaluationReport& report, const StartReport& start) {
  std::vector<Series> series;
  for (const MethodBest& best : start.best)
    for (const MethodRun& run : start.runs) {
      if (run.method != best.method || run.seed != best.seed || run.trace.size() < 2) continue;
      Series one{run.method, {}, true};
      for (const BestSoFar& point : run.trace) one.points.emplace_back(point.seconds, point.best);
      one.points.emplace_back(run.seconds, run.best);
      series.push_back(std::move(one));
    }
  const Metric& objective = report.spec.objective_metric();
  return line_chart("Best so far over time",
                    {.x_label = "seconds, logarithmic",
                     .y_label = estimated(report) + with_unit(objective.name, objective),
                     .log_x = true,
                     .skip_flat = true},
                    series);
}

Chart measured_bars(const EvaluationReport& report, const StartReport& start) {
  std::vector<Bar> bars;
  for (const ReportRow& row : report_rows(report, start))
    if (row.measured.rounds > 0 && row.method != kStart)
      bars.push_back(
          {row.method, row.measured.gain_percent, row.measured.gain_low, row.measured.gain_high});
  return gain_chart("Measured gain over the original, with 95 % intervals", bars);
}

/// Gains; of a start that percentages mean nothing of, the objective itself.
Chart objective_bars(const EvaluationReport& report, const StartReport& start) {
  const Metric& objective = report.spec.objective_metric();
  const bool relative = start.initial != 0 && std::isfinite(start.initial);
  std::vector<Bar> bars;
  for (const ReportRow& row : report_rows(report, start)) {
    const double value = relative ? row.improvement_percent : row.objective;
    const bool is_start = row.method == kStart;
    if (std::isfinite(row.objective) && !(relative && is_start))
      bars.push_back({is_start ? "start" : row.method, value, value, value});
  }
  if (!relative) return bar_chart("Before and after: " + objective.name, objective.unit, bars);
  return gain_chart(
      (report.estimated_by.empty() ? "Gain by " : "Estimated gain by ") + objective.name, bars);
}

std::string start_section(const EvaluationReport& report, const StartReport& start) {
  std::string html = fmt::format("<h2>{}</h2>\n<p>{}</p>\n", escape_html(start.name),
                                 escape_html(verdict(report, start)));
  for (const std::string& sentence : start.described.sentences)
    html += "<p class='note'>" + escape_html(sentence) + "</p>\n";
  html += table(report_table(report, start)) + "<div class='plots'>\n" +
          html_figure(measured_bars(report, start)) + html_figure(objective_bars(report, start)) +
          html_figure(best_over_time(report, start));
  for (const Chart& plot : start.described.plots) html += html_figure(plot);
  return html + "</div>\n";
}

std::string told(const std::string& head, const std::string& text, const ReportTable& shown) {
  return fmt::format("<h2>{}</h2>\n<p>{}</p>\n{}", head, escape_html(text),
                     shown.rows.empty() ? "" : table(shown));
}

/// What learning cost, and how good M is.
std::string learned_section(const EvaluationReport& report) {
  const ReportTable world = world_table(report);
  const std::string html =
      told("What learning cost", learning_cost(report), learning_cost_table(report)) +
      told("How good the world model is", world_quality(report), world);
  if (world.rows.empty()) return html;
  return html +
         "<p class='note'>Errors from states of held-out episodes on, under the real actions. In "
         "brackets the error of copying the start.</p>\n";
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
    return html_figure(line_chart(title,
                                  {.x_label = "updates of the policy",
                                   .y_label = label,
                                   .from_zero = from_zero,
                                   .skip_flat = true},
                                  series));
  };
  std::string html = kLearningHead;
  html += chart("Return: dream against real", "return of an episode",
                {curve(report, "charts/return", "training"),
                 curve(report, "real/sampled_return", "real, sampled"),
                 curve(report, "real/greedy_return", "real, greedy"),
                 curve(report, "real/dream_return", "dream, whole episodes"),
                 curve(report, "real/replayed_return", "dream, replayed for real")});
  html += chart("Improvement for real, at validation", "percent of the start's objective",
                {curve(report, "real/greedy_improvement", "greedy"),
                 curve(report, "real/sampled_improvement", "sampled, mean"),
                 curve(report, "real/sampled_best_improvement", "sampled, best")});
  html += chart("Dreamt actions that are invalid for real", "share of dreamt actions",
                {curve(report, "real/invalid_action_rate", "invalid actions")}, true);
  html +=
      chart("Entropy of the policy", "nats", {curve(report, "losses/entropy", "entropy")}, true);
  return html + "</div>\n";
}

}  // namespace

std::string report_html(const EvaluationReport& report) {
  std::string html =
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
      "<meta name='viewport' content='width=device-width,initial-scale=1'>"
      "<title>Reverie: evaluation</title><style>";
  html += std::string(kStyle) + kChartStyle;
  html += fmt::format(
      "</style></head><body>\n<h1>Evaluation: {}</h1>\n<p class='note'>Policy "
      "<code>{}</code>. {}</p>\n<div class='gains'>\n",
      escape_html(report.spec.name), escape_html(report.policy_file),
      escape_html(versions(report)));
  for (const StartReport& start : report.starts) html += gain_card(report, start);
  html += "</div>\n<h2>Is the policy better?</h2>\n" + comparison_table(report);
  html += "<p class='note'>" + escape_html(preface(report)) + "</p>\n";
  for (const StartReport& start : report.starts) html += start_section(report, start);
  html += learned_section(report) + learning_section(report);
  return html + "</body></html>\n";
}

}  // namespace reverie
