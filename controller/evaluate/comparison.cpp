#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "controller/evaluate/report.h"

namespace reverie {
namespace {

bool acts(const ReportRow& row) { return row.method.starts_with("policy ("); }
bool guides(const ReportRow& row) { return row.method.starts_with("policy ") && !acts(row); }

template <class Better>
PolicyComparison best_by(const std::vector<ReportRow>& rows, const Better& better) {
  PolicyComparison found;
  for (const ReportRow& row : rows) {
    if (guides(row)) continue;
    ReportRow& best = acts(row) ? found.policy : found.baseline;
    if (best.method.empty() || better(row, best)) best = row;
    if (row.method == "greedy") found.greedy = row;
  }
  return found;
}

std::string gain_text(const ReportRow& row) {
  if (!std::isfinite(row.objective)) return "no feasible result";
  return fmt::format("{:.2f} %", row.improvement_percent);
}

std::string gains_or_loses(double percent) {
  return fmt::format("{} {:.2f} %", percent < 0 ? "loses" : "gains", std::abs(percent));
}

std::string places_by_objective(const EnvSpec& spec, const PolicyComparison& found) {
  const auto place = [&](const ReportRow& other) {
    constexpr const char* kWords[] = {"BELOW", "EQUAL TO", "ABOVE"};
    return kWords[static_cast<int>(place_by_objective(spec, found.policy, other))];
  };
  std::string text;
  if (found.greedy) {
    text += fmt::format("{} greedy ({})", place(*found.greedy), gain_text(*found.greedy));
    if (found.baseline.method == found.greedy->method)
      return text + ", which no other baseline beats.";
    text += ", ";
  }
  return text + fmt::format("{} the best baseline, {} ({}).", place(found.baseline),
                            found.baseline.method, gain_text(found.baseline));
}

/// The gain that stands first.
std::string by_objective(const EvaluationReport& report, const PolicyComparison& found) {
  const EnvSpec& spec = report.spec;
  const std::string estimate =
      report.estimated_by.empty()
          ? ""
          : fmt::format(" (estimated by {}, not measured)", report.estimated_by);
  const std::string gain = fmt::format("By {} the policy {}{}", spec.objective_metric().name,
                                       gains_or_loses(found.policy.improvement_percent), estimate);
  return fmt::format(
      "{}: {}", std::isfinite(found.policy.objective) ? gain : "The policy finds no feasible state",
      places_by_objective(spec, found));
}

/// Told from none or not.
std::string measured_gain(const MeasuredResult& own) {
  if (own.gain_low <= 0 && own.gain_high >= 0)
    return fmt::format(
        "Measured, the policy's gain is not told apart from none ({:.2f} %, {:.2f} to {:.2f})",
        own.gain_percent, own.gain_low, own.gain_high);
  const auto [low, high] = own.gain_percent < 0 ? std::pair(-own.gain_high, -own.gain_low)
                                                : std::pair(own.gain_low, own.gain_high);
  return fmt::format("Measured, the policy {} ({:.2f} to {:.2f})", gains_or_loses(own.gain_percent),
                     low, high);
}

std::string by_measurement(const PolicyComparison& found) {
  const auto against = [&](const std::string& name, const ReportRow& other) {
    constexpr const char* kWords[] = {"below", "not told apart from", "above"};
    return fmt::format("{} {} ({:.2f} %, {:.2f} to {:.2f})",
                       kWords[static_cast<int>(place_by_measurement(found.policy, other))], name,
                       other.measured.gain_percent, other.measured.gain_low,
                       other.measured.gain_high);
  };
  std::string text = measured_gain(found.policy.measured) + ": ";
  if (found.greedy) text += against("greedy", *found.greedy);
  if (found.greedy && found.baseline.method == found.greedy->method)
    return text + ", than which no other baseline measures better.";
  return text + (found.greedy ? ", " : "") +
         against("the best baseline, " + found.baseline.method, found.baseline) + ".";
}

/// What the other gain is, where the measured one stands first.
std::string estimate_beside(const EvaluationReport& report, const PolicyComparison& found) {
  const std::string by = report.estimated_by.empty()
                             ? "By " + report.spec.objective_metric().name
                             : fmt::format("Estimated by {}, which is all that the methods went by",
                                           report.estimated_by);
  if (!std::isfinite(found.policy.objective)) return by + ", it finds no feasible state.";
  return fmt::format("{}, it {}: {}", by, gains_or_loses(found.policy.improvement_percent),
                     places_by_objective(report.spec, found));
}

}  // namespace

PolicyComparison comparison(const EvaluationReport& report, const StartReport& start) {
  const EnvSpec& spec = report.spec;
  PolicyComparison found =
      best_by(report_rows(report, start), [&](const ReportRow& a, const ReportRow& b) {
        return spec.better(a.objective, b.objective);
      });
  if (found.greedy && place_by_objective(spec, found.baseline, *found.greedy) == Place::kEqual)
    found.baseline = *found.greedy;
  return found;
}

std::optional<PolicyComparison> measured_comparison(const EvaluationReport& report,
                                                    const StartReport& start) {
  const std::vector<ReportRow> rows = report_rows(report, start);
  for (const ReportRow& row : rows)
    if (row.measured.rounds == 0) return std::nullopt;
  return best_by(rows, [](const ReportRow& a, const ReportRow& b) {
    return a.measured.gain_percent > b.measured.gain_percent;
  });
}

Place place_by_objective(const EnvSpec& spec, const ReportRow& policy, const ReportRow& other) {
  if (policy.objective == other.objective) return Place::kEqual;
  const auto printed = [](const ReportRow& row) {
    return std::llround(100 * row.improvement_percent);
  };
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
  const auto measured = measured_comparison(report, start);
  if (!measured) return by_objective(report, found);
  return by_measurement(*measured) + " " + estimate_beside(report, found);
}

std::string verdicts(const EvaluationReport& report) {
  std::string text;
  for (const StartReport& start : report.starts)
    text += fmt::format("{}: {}\n", start.name, verdict(report, start));
  return text;
}

}  // namespace reverie
