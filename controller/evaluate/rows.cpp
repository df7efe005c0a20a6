#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "controller/evaluate/report.h"

namespace reverie {
namespace {

double mean_of(const StartReport& start, const std::string& method,
               const std::function<double(const MethodRun&)>& value) {
  double sum = 0;
  int64_t count = 0;
  for (const MethodRun& run : start.runs)
    if (run.method == method) {
      sum += value(run);
      ++count;
    }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

std::string interval_text(const char* form, double value, double low, double high) {
  return fmt::format("{} ({} to {})", fmt::format(fmt::runtime(form), value),
                     fmt::format(fmt::runtime(form), low), fmt::format(fmt::runtime(form), high));
}

/// Builds a table column by column.
class TableBuilder {
 public:
  explicit TableBuilder(const std::vector<ReportRow>& rows) : rows_(rows) {
    table_.rows.resize(rows.size());
  }

  template <class Cell>
  void add(const std::string& head, const Cell& cell) {
    table_.heads.push_back(head);
    for (size_t i = 0; i < rows_.size(); ++i) table_.rows[i].push_back(cell(rows_[i]));
  }
  /// The mean of a count, left out where every row has 0.
  void add_count(const std::string& head, double ReportRow::*count) {
    if (std::ranges::all_of(rows_, [&](const ReportRow& row) { return row.*count == 0; })) return;
    add(head, [&](const ReportRow& row) { return fmt::format("{:.0f}", row.*count); });
  }
  void add_cells(const std::string& head, const std::vector<std::string>& cells) {
    table_.heads.push_back(head);
    for (size_t i = 0; i < rows_.size(); ++i) table_.rows[i].push_back(cells.at(i));
  }
  ReportTable take() { return std::move(table_); }

 private:
  const std::vector<ReportRow>& rows_;
  ReportTable table_;
};

void add_measured(const EnvSpec& spec, TableBuilder& table) {
  table.add("measured gain % (95 %)", [](const ReportRow& row) {
    const MeasuredResult& result = row.measured;
    return result.rounds > 0
               ? interval_text("{:.2f}", result.gain_percent, result.gain_low, result.gain_high)
               : "-";
  });
  table.add(with_unit("measured", spec.objective_metric()) + " (95 %)", [](const ReportRow& row) {
    const MeasuredResult& result = row.measured;
    return result.rounds > 0 ? interval_text("{:.4g}", result.median, result.low, result.high)
                             : "-";
  });
}

}  // namespace

std::string with_unit(const std::string& what, const Metric& metric) {
  return metric.unit.empty() ? what : what + ", " + metric.unit;
}

std::string value_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.4g}", value) : "-";
}

std::vector<ReportRow> report_rows(const EvaluationReport& report, const StartReport& start) {
  std::vector<ReportRow> rows;
  for (const MethodBest& best : start.best) {
    const auto mean = [&](auto value) { return mean_of(start, best.method, value); };
    const auto as_double = [](int64_t count) { return static_cast<double>(count); };
    ReportRow row;
    row.method = best.method;
    row.objective = best.best;
    row.improvement_percent = report.spec.improvement_percent(start.initial, best.best);
    row.mean_improvement = mean([](const MethodRun& run) { return run.improvement_percent; });
    row.mean_seconds = mean([](const MethodRun& run) { return run.seconds; });
    row.mean_steps = mean([&](const MethodRun& run) { return as_double(run.steps); });
    row.mean_lookups = mean([&](const MethodRun& run) { return as_double(run.cost_lookups); });
    row.mean_measurements = mean([&](const MethodRun& run) { return as_double(run.measurements); });
    row.measured = best.measured;
    rows.push_back(std::move(row));
  }
  return rows;
}

ReportTable report_table(const EvaluationReport& report, const StartReport& start) {
  const std::vector<ReportRow> rows = report_rows(report, start);
  const Metric& objective = report.spec.objective_metric();
  TableBuilder table(rows);
  table.add("method", [](const ReportRow& row) { return row.method; });
  const bool measured =
      std::ranges::any_of(rows, [](const ReportRow& row) { return row.measured.rounds > 0; });
  if (measured) add_measured(report.spec, table);
  const std::string estimated = report.estimated_by.empty() ? "" : "estimated ";
  table.add(estimated + with_unit(objective.name, objective),
            [](const ReportRow& row) { return value_text(row.objective); });
  const auto percent = [](double value) { return fmt::format("{:.2f}", value); };
  table.add(estimated + "gain %, best",
            [&](const ReportRow& row) { return percent(row.improvement_percent); });
  table.add(estimated + "gain %, mean",
            [&](const ReportRow& row) { return percent(row.mean_improvement); });
  table.add("seconds",
            [](const ReportRow& row) { return fmt::format("{:.3g}", row.mean_seconds); });
  table.add("steps", [](const ReportRow& row) { return fmt::format("{:.0f}", row.mean_steps); });
  table.add_count("cost look-ups", &ReportRow::mean_lookups);
  table.add_count("measurements", &ReportRow::mean_measurements);
  for (const auto& [head, cells] : start.described.columns) table.add_cells(head, cells);
  return table.take();
}

std::string budgets(const EvaluationReport& report) {
  std::vector<std::string> given;
  if (!report.starts.empty())
    for (const MethodBest& best : report.starts.front().best)
      if (!best.budget.empty()) given.push_back(best.method + ": " + best.budget);
  std::vector<std::string> names;
  if (!report.starts.empty())
    for (const MethodBest& best : report.starts.front().best)
      if (best.method != "no-op" && !best.method.starts_with("policy"))
        names.push_back(best.method);
  std::string text = names.empty() ? "" : fmt::format("Compared with {}. ", fmt::join(names, ", "));
  text += fmt::format(
      "Each method stands by its best result. Methods that draw run with {} "
      "seeds: best, and mean of the runs.",
      report.config.seeds);
  if (!given.empty()) text += fmt::format(" Budgets: {}.", fmt::join(given, "; "));
  return text;
}

std::string preface(const EvaluationReport& report) {
  std::vector<std::string> sentences = report.sentences;
  sentences.push_back(budgets(report));
  return fmt::format("{}", fmt::join(sentences, " "));
}

}  // namespace reverie
