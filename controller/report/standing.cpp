#include <fmt/format.h>

#include <cmath>

#include "controller/report/report.h"

namespace reverie {
namespace {

bool acts(const ReportRow& row) { return row.method.starts_with("policy ("); }
bool guides(const ReportRow& row) { return row.method.starts_with("policy ") && !acts(row); }

void keep_better(ReportRow& best, const ReportRow& row) {
  if (best.method.empty() || row.improvement_percent > best.improvement_percent) best = row;
}

std::string by_estimate(const PolicyStanding& found) {
  const auto against = [&](const ReportRow& other) {
    constexpr const char* kWords[] = {"BELOW", "EQUAL TO", "ABOVE"};
    return kWords[static_cast<int>(place_by_estimate(found.policy, other))];
  };
  std::string text = fmt::format("By estimated cost the policy gains {:.2f}%: {} greedy ({:.2f}%)",
                                 found.policy.improvement_percent, against(found.greedy),
                                 found.greedy.improvement_percent);
  if (found.search.method == found.greedy.method)
    return text + ", which no other search beats.";
  return text + fmt::format(", {} the best search, {} ({:.2f}%).", against(found.search),
                            found.search.method, found.search.improvement_percent);
}

std::string by_measurement(const PolicyStanding& found) {
  const auto against = [&](const ReportRow& other) {
    constexpr const char* kWords[] = {"below", "not told apart from", "above"};
    return fmt::format("{} {} ({:.2f}%, {:.2f} to {:.2f})",
                       kWords[static_cast<int>(place_by_measurement(found.policy, other))],
                       other.method, other.measured_gain, other.gain_low, other.gain_high);
  };
  std::string text = fmt::format(" Measured, it gains {:.2f}% ({:.2f} to {:.2f}): {}",
                                 found.policy.measured_gain, found.policy.gain_low,
                                 found.policy.gain_high, against(found.greedy));
  if (found.search.method != found.greedy.method) text += ", " + against(found.search);
  return text + ".";
}

}  // namespace

PolicyStanding standing(const ModelReport& model) {
  PolicyStanding found;
  for (const ReportRow& row : report_rows(model)) {
    if (guides(row)) continue;
    keep_better(acts(row) ? found.policy : found.search, row);
    if (row.method == "greedy") found.greedy = row;
  }
  if (place_by_estimate(found.search, found.greedy) == Place::kEqual) found.search = found.greedy;
  return found;
}

Place place_by_estimate(const ReportRow& policy, const ReportRow& other) {
  const auto printed = [](double percent) { return std::llround(100 * percent); };
  const auto mine = printed(policy.improvement_percent), others = printed(other.improvement_percent);
  if (mine == others) return Place::kEqual;
  return mine > others ? Place::kAbove : Place::kBelow;
}

Place place_by_measurement(const ReportRow& policy, const ReportRow& other) {
  if (policy.gain_low > other.gain_high) return Place::kAbove;
  return policy.gain_high < other.gain_low ? Place::kBelow : Place::kEqual;
}

std::string verdict(const ModelReport& model) {
  const PolicyStanding found = standing(model);
  return by_estimate(found) + (found.policy.measured ? by_measurement(found) : "");
}

std::string verdicts(const EvaluationReport& report) {
  std::string text;
  for (const ModelReport& model : report.models)
    text += fmt::format("{}: {}\n", model.name, verdict(model));
  return text;
}

}  // namespace reverie
