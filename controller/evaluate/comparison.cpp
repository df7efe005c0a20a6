#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "controller/evaluate/report.h"

namespace reverie {
namespace {

bool acts(const ReportRow& row) { return row.method.starts_with("policy ("); }
bool guides(const ReportRow& row) { return row.method.starts_with("policy ") && !acts(row); }

void keep_better(const EnvSpec& spec, ReportRow& best, const ReportRow& row) {
  if (best.method.empty() || spec.better(row.objective, best.objective)) best = row;
}

std::string gain_text(const ReportRow& row) {
  if (!std::isfinite(row.objective)) return "no feasible result";
  return fmt::format("{:.2f} %", row.improvement_percent);
}

std::string gains_or_loses(double percent) {
  return fmt::format("{} {:.2f} %", percent < 0 ? "loses" : "gains", std::abs(percent));
}

std::string by_objective(const EnvSpec& spec, const PolicyComparison& found) {
  const auto place = [&](const ReportRow& other) {
    constexpr const char* kWords[] = {"BELOW", "EQUAL TO", "ABOVE"};
    return kWords[static_cast<int>(place_by_objective(spec, found.policy, other))];
  };
  std::string text = std::isfinite(found.policy.objective)
                         ? fmt::format("By {} the policy {}:", spec.objective_metric().name,
                                       gains_or_loses(found.policy.improvement_percent))
                         : "The policy finds no feasible state:";
  if (found.greedy) {
    text += fmt::format(" {} greedy ({})", place(*found.greedy), gain_text(*found.greedy));
    if (found.baseline.method == found.greedy->method)
      return text + ", which no other baseline beats.";
    text += ",";
  }
  return text + fmt::format(" {} the best baseline, {} ({}).", place(found.baseline),
                            found.baseline.method, gain_text(found.baseline));
}

std::string by_measurement(const PolicyComparison& found) {
  const auto against = [&](const ReportRow& other) {
    constexpr const char* kWords[] = {"below", "not told apart from", "above"};
    return fmt::format("{} {} ({:.2f} %, {:.2f} to {:.2f})",
                       kWords[static_cast<int>(place_by_measurement(found.policy, other))],
                       other.method, other.measured.gain_percent, other.measured.gain_low,
                       other.measured.gain_high);
  };
  const MeasuredResult& own = found.policy.measured;
  const auto [low, high] = own.gain_percent < 0 ? std::pair(-own.gain_high, -own.gain_low)
                                                : std::pair(own.gain_low, own.gain_high);
  std::string text =
      fmt::format(" Measured, it {} ({:.2f} to {:.2f}): ", gains_or_loses(own.gain_percent), low, high);
  if (found.greedy) text += against(*found.greedy);
  if (found.greedy && found.baseline.method != found.greedy->method) text += ", ";
  if (!found.greedy || found.baseline.method != found.greedy->method) text += against(found.baseline);
  return text + ".";
}

}  // namespace

PolicyComparison comparison(const EvaluationReport& report, const StartReport& start) {
  const EnvSpec& spec = report.spec;
  PolicyComparison found;
  for (const ReportRow& row : report_rows(report, start)) {
    if (guides(row)) continue;
    keep_better(spec, acts(row) ? found.policy : found.baseline, row);
    if (row.method == "greedy") found.greedy = row;
  }
  if (found.greedy && place_by_objective(spec, found.baseline, *found.greedy) == Place::kEqual)
    found.baseline = *found.greedy;
  return found;
}

Place place_by_objective(const EnvSpec& spec, const ReportRow& policy, const ReportRow& other) {
  if (policy.objective == other.objective) return Place::kEqual;
  const auto printed = [](const ReportRow& row) { return std::llround(100 * row.improvement_percent); };
  const bool in_percent = std::isfinite(policy.objective) && std::isfinite(other.objective) &&
                          (policy.improvement_percent != 0 || other.improvement_percent != 0);
  if (in_percent && printed(policy) == printed(other)) return Place::kEqual;
  return spec.better(policy.objective, other.objective) ? Place::kAbove : Place::kBelow;
}

Place place_by_measurement(const ReportRow& policy, const ReportRow& other) {
  if (policy.measured.gain_low > other.measured.gain_high) return Place::kAbove;
  return policy.measured.gain_high < other.measured.gain_low ? Place::kBelow : Place::kEqual;
}

std::string verdict(const EvaluationReport& report, const StartReport& start) {
  const PolicyComparison found = comparison(report, start);
  return by_objective(report.spec, found) +
         (found.policy.measured.rounds > 0 ? by_measurement(found) : "");
}

std::string verdicts(const EvaluationReport& report) {
  std::string text;
  for (const StartReport& start : report.starts)
    text += fmt::format("{}: {}\n", start.name, verdict(report, start));
  return text;
}

}  // namespace reverie
