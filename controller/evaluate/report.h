#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/evaluate/evaluate.h"

namespace reverie {

/// Everything, for programs.
std::string report_json(const EvaluationReport& report);
/// One line: per start state and method what it gained, and what was measured of that.
std::string report_summary_json(const EvaluationReport& report);
/// The tables, for a terminal or a repository.
std::string report_markdown(const EvaluationReport& report);
/// One self-contained page: tables, learning curves dream against real, the best over time,
/// measured results with intervals, and the environment's own plots.
std::string report_html(const EvaluationReport& report);

/// Writes report.json, report.md and report.html into `directory`.
void write_report(const EvaluationReport& report, const std::string& directory);

/// The best of a method's runs with their means.
struct ReportRow {
  std::string method;
  double objective = 0;            ///< of the best run
  double improvement_percent = 0;  ///< of the best run
  double mean_improvement = 0;     ///< over the runs
  double mean_seconds = 0;
  double mean_steps = 0;
  double mean_lookups = 0;
  double mean_measurements = 0;
  MeasuredResult measured;
};
std::vector<ReportRow> report_rows(const EvaluationReport& report, const StartReport& start);

/// What a person reads of a start state, a row for each method. Columns that would be empty are
/// left out.
struct ReportTable {
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};
ReportTable report_table(const EvaluationReport& report, const StartReport& start);

/// The rows that a policy is judged by: the better of its two ways to act, greedy search where the
/// environment has it, and the best of all that are not the policy (of equals greedy, else the
/// earliest). Searches that the policy guides are neither.
struct PolicyComparison {
  ReportRow policy, baseline;
  std::optional<ReportRow> greedy;
};
PolicyComparison comparison(const EvaluationReport& report, const StartReport& start);
/// The same by measured gain; nothing unless all methods were measured.
std::optional<PolicyComparison> measured_comparison(const EvaluationReport& report,
                                                    const StartReport& start);

enum class Place { kBelow, kEqual, kAbove };
/// By the objective; gains that print alike (two decimals) are equal. Below where there is no
/// feasible result.
Place place_by_objective(const EnvSpec& spec, const ReportRow& policy, const ReportRow& other);
/// By measured gain; equal where the 95 % intervals overlap. Both are measured.
Place place_by_measurement(const ReportRow& policy, const ReportRow& other);

/// In words whether the policy stands above greedy, and above the best baseline; never flattering.
/// The measured gain stands first where there is one, else the objective's, which is called an
/// estimate where it is one.
std::string verdict(const EvaluationReport& report, const StartReport& start);
/// One line per start state: its name and its verdict.
std::string verdicts(const EvaluationReport& report);
/// What each method was given, in a few sentences.
std::string budgets(const EvaluationReport& report);
/// The environment's sentences, then the budgets.
std::string preface(const EvaluationReport& report);
/// What learning cost, in a row for each step and one for all: "not recorded" for what is not. No
/// rows: nothing is recorded.
ReportTable learning_cost_table(const EvaluationReport& report);
/// The same in a sentence or two.
std::string learning_cost(const EvaluationReport& report);
/// How well M predicts k steps ahead, in brackets what it is worth without M. No rows: not
/// recorded.
ReportTable world_table(const EvaluationReport& report);
/// The same for the shortest k, and M's validation losses; or that it is not recorded.
std::string world_quality(const EvaluationReport& report);
/// Of what evaluated and learned, and the seed.
std::string versions(const EvaluationReport& report);
/// What learning cost, for programs.
Json learned_json(const EvaluationReport& report);

/// A metric with its unit: "run time, ms".
std::string with_unit(const std::string& what, const Metric& metric);
/// "12.34", or "-" for an objective that no feasible state has.
std::string value_text(double value);

}  // namespace reverie
