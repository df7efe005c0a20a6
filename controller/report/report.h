#pragma once

#include <string>

#include "controller/evaluate.h"

namespace reverie {

/// Everything, for programs.
std::string report_json(const EvaluationReport& report);
/// One line: per model and method the estimated and the measured gain.
std::string report_summary_json(const EvaluationReport& report);
/// The tables, for a terminal or a repository.
std::string report_markdown(const EvaluationReport& report);
/// One self-contained page: tables, learning curves dream against real, cost over steps and over
/// time, measured times with intervals, rules used.
std::string report_html(const EvaluationReport& report);

/// Writes report.json, report.md and report.html into `directory`.
void write_report(const EvaluationReport& report, const std::string& directory);

/// One line of the table of a model: the best of a method's runs with their means.
struct ReportRow {
  std::string method;
  double cost_ms = 0;              ///< of the best run, estimated
  double improvement_percent = 0;  ///< of the best run
  double mean_improvement = 0;     ///< over the runs
  double mean_seconds = 0;
  double mean_steps = 0;
  double mean_lookups = 0;
  double mean_measurements = 0;
  bool measured = false;
  double measured_ms = 0, low_ms = 0, high_ms = 0;
  double measured_gain = 0, gain_low = 0, gain_high = 0;  ///< percent of the original, paired
  int64_t rewrites = 0;
  double weight_growth = 1;        ///< bytes of weights over the original's
  bool verified = false;
  double error = 0;                ///< largest relative one
};
std::vector<ReportRow> report_rows(const ModelReport& model);

/// The rows that a policy is judged by: the better of its two ways to act, greedy, and the best of
/// all that are not the policy (of equals greedy, else the earliest). Searches that the policy guides
/// are neither.
struct PolicyStanding {
  ReportRow policy, greedy, search;
};
PolicyStanding standing(const ModelReport& model);

enum class Place { kBelow, kEqual, kAbove };
/// By estimated cost; gains that print alike (two decimals) are equal.
Place place_by_estimate(const ReportRow& policy, const ReportRow& other);
/// By measured gain; equal where the 95% intervals overlap. Both are measured.
Place place_by_measurement(const ReportRow& policy, const ReportRow& other);

/// In words whether the policy stands above greedy, and above the best search; never flattering.
std::string verdict(const ModelReport& model);
/// What each method was given, in a few sentences.
std::string budgets(const EvaluationConfig& config);
/// Where costs and times come from, and how many costs are estimates.
std::string sources(const EvaluationReport& report);
/// One line per model: its name and its verdict.
std::string verdicts(const EvaluationReport& report);

}  // namespace reverie
