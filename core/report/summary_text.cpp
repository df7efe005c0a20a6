#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/report/summary.h"

namespace reverie {
namespace {

std::string metric_name(const SummaryOptions& options) {
  return options.gap_closed ? fmt::format("share of the gap closed ({}), percent", options.metric)
                            : options.metric;
}

/// Two decimals; what is 0 in these has no sign.
std::string rounded(double value) {
  const std::string text = fmt::format("{:.2f}", value);
  return text == "-0.00" ? "0.00" : text;
}

/// Nothing where one run a task stands behind it, which no bootstrap can vary.
std::string interval(const Estimate& estimate, bool known) {
  return known ? fmt::format("{} to {}", rounded(estimate.low), rounded(estimate.high)) : "";
}

/// The number of runs behind every known cell of a method, 0 where they differ.
int common_runs(const Summary& summary, size_t method) {
  int runs = 0;
  for (const std::vector<SummaryCell>& cells : summary.cells) {
    const int here = cells[method].runs;
    if (here == 0) continue;
    if (runs != 0 && here != runs) return 0;
    runs = here;
  }
  return runs;
}

/// The best of a row as it is printed, so that equal ones are all bold.
std::string best_text(const std::vector<SummaryCell>& cells, bool lower) {
  const SummaryCell* best = nullptr;
  for (const SummaryCell& cell : cells)
    if (cell.runs > 0 && (!best || (lower ? cell.value < best->value : cell.value > best->value)))
      best = &cell;
  return best ? rounded(best->value) : "";
}

std::string cell_text(const SummaryCell& cell, const std::string& best, bool with_runs) {
  if (cell.runs == 0) return "";
  std::string text = rounded(cell.value);
  if (text == best) text = "**" + text + "**";
  return with_runs ? text + fmt::format(" ({})", cell.runs) : text;
}

std::string task_table(const Summary& summary) {
  const SummaryOptions& options = summary.options;
  std::string head = fmt::format("| {} |", options.strata), rule = "| --- |", body;
  for (size_t m = 0; m < summary.methods.size(); ++m) {
    const int runs = common_runs(summary, m);
    head += runs > 0 ? fmt::format(" {} ({}) |", summary.methods[m], runs)
                     : fmt::format(" {} |", summary.methods[m]);
    rule += " --: |";
  }
  for (size_t t = 0; t < summary.tasks.size(); ++t) {
    const std::vector<SummaryCell>& cells = summary.cells[t];
    const std::string best = best_text(cells, !options.larger_is_better());
    body += fmt::format("| {} |", summary.tasks[t]);
    for (size_t m = 0; m < cells.size(); ++m)
      body += fmt::format(" {} |", cell_text(cells[m], best, common_runs(summary, m) == 0));
    body += "\n";
  }
  return fmt::format("**{}, {} of runs (their number in brackets), by {}**\n\n{}\n{}\n{}",
                     metric_name(options), options.median ? "median" : "mean", options.strata, head,
                     rule, body);
}

std::string row_text(const SummaryRow& row, const Summary& summary) {
  const auto tasks = static_cast<int>(summary.common.size());
  const bool known = row.runs > tasks;
  const bool compared = known || std::ranges::any_of(summary.rows, [&](const SummaryRow& other) {
                          return other.method == summary.options.versus && other.runs > tasks;
                        });
  std::string text = fmt::format("| {} | {} | {} | {} |", row.method, row.runs,
                                 rounded(row.iqm.value), interval(row.iqm, known));
  if (row.optimality_gap)
    text += fmt::format(" {} | {} |", rounded(row.optimality_gap->value),
                        interval(*row.optimality_gap, known));
  if (summary.options.versus.empty()) return text + "\n";
  if (!row.difference) return text + " | | | |\n";
  return text + fmt::format(" {:+.2f} | {} | {:.2f} | {} |\n", row.difference->value,
                            interval(*row.difference, compared), row.better->value,
                            interval(*row.better, compared));
}

std::string aggregate_table(const Summary& summary) {
  const SummaryOptions& options = summary.options;
  const int percent = static_cast<int>(100 * options.bootstrap.confidence + 0.5);
  const bool compared = !options.versus.empty();
  std::string text = fmt::format(
      "**{}, interquartile mean over runs of {} ({}: {})**\n\n| {} | runs | IQM | {}% interval |",
      metric_name(options), summary.common.size() == 1 ? "one task" : "all tasks", options.strata,
      fmt::join(summary.common, ", "), options.by, percent);
  if (options.gap_closed) text += fmt::format(" optimality gap | {}% interval |", percent);
  if (compared)
    text += fmt::format(
        " mean difference to {0} | {1}% interval | P(better than {0}) | {1}% interval |",
        options.versus, percent);
  text += "\n| --- | --: | --: | --- |";
  if (options.gap_closed) text += " --: | --- |";
  if (compared) text += " --: | --- | --: | --- |";
  text += "\n";
  for (const SummaryRow& row : summary.rows) text += row_text(row, summary);
  return text;
}

std::string gap_table(const Summary& summary) {
  const SummaryOptions& options = summary.options;
  std::string text = fmt::format(
      "**Between {} and the best known ({})**\n\n| {} | {} | best known | gap |\n"
      "| --- | --: | --: | --: |\n",
      options.gap_base, options.metric, options.strata, options.gap_base);
  std::vector<std::string> left_out;
  for (const Gap& gap : summary.gaps) {
    text += fmt::format("| {} | {:.2f} | {:.2f} | {:.2f} |\n", gap.task, gap.base, gap.best,
                        gap.size());
    if (gap.size() < options.min_gap || gap.size() == 0) left_out.push_back(gap.task);
  }
  if (!left_out.empty())
    text += fmt::format("\nLeft out, as the gap is below {:g}: {}.\n", options.min_gap,
                        fmt::join(left_out, ", "));
  return text + "\n";
}

std::string left_out_line(const Summary& summary) {
  std::vector<std::string> names;
  for (const std::string& task : summary.tasks)
    if (std::find(summary.common.begin(), summary.common.end(), task) == summary.common.end())
      names.push_back(task);
  if (names.empty()) return "";
  return fmt::format("\nNot in the aggregate, as some {} has no run there: {}.\n",
                     summary.options.by, fmt::join(names, ", "));
}

Json json_of(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

}  // namespace

std::string summary_markdown(const Summary& summary) {
  std::string text = summary.options.gap_closed ? gap_table(summary) : "";
  if (summary.tasks.empty()) return text;
  return text + task_table(summary) + "\n" + aggregate_table(summary) + left_out_line(summary);
}

std::string summary_json(const Summary& summary) {
  Json::Array cells, rows, gaps;
  for (size_t t = 0; t < summary.tasks.size(); ++t)
    for (size_t m = 0; m < summary.methods.size(); ++m)
      if (const SummaryCell& cell = summary.cells[t][m]; cell.runs > 0)
        cells.push_back({{summary.options.strata, summary.tasks[t]},
                         {summary.options.by, summary.methods[m]},
                         {"value", cell.value},
                         {"runs", cell.runs}});
  for (const SummaryRow& row : summary.rows) {
    rows.push_back(
        {{summary.options.by, row.method}, {"runs", row.runs}, {"iqm", json_of(row.iqm)}});
    if (row.optimality_gap) rows.back()["optimality_gap"] = json_of(*row.optimality_gap);
    if (row.difference) rows.back()["difference"] = json_of(*row.difference);
    if (row.better) rows.back()["probability_better"] = json_of(*row.better);
  }
  for (const Gap& gap : summary.gaps)
    gaps.push_back(
        {{summary.options.strata, gap.task}, {"base", gap.base}, {"best_known", gap.best}});
  return Json{{"metric", summary.options.metric},
              {"gap_closed", summary.options.gap_closed},
              {"versus", summary.options.versus},
              {"cells", cells},
              {"aggregates", rows},
              {"common", summary.common},
              {"gaps", gaps}}
      .dump();
}

}  // namespace reverie
