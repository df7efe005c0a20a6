#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/statistics.h"
#include "core/report/runs.h"

namespace reverie {

struct SummaryOptions {
  std::string metric = "improvement_percent";
  std::string by = "method";     ///< field whose values are compared
  std::string strata = "model";  ///< field whose values are tasks
  std::string versus;            ///< the method to compare the others with; empty: none
  bool median = false;           ///< of seeds, in the table of models; otherwise the mean
  bool lower_is_better = false;
  /// The metric becomes the share of the gap that it closes, in percent: 100 (x - base) / (best
  /// known - base); base is the mean of `gap_base` on that task, the best known that of all runs by
  /// the same `cost_source`, also those that `where` leaves out of the tables.
  bool gap_closed = false;
  std::string gap_base = "greedy";
  double min_gap = 1;  ///< in units of the metric: tasks with less are left out and named
  std::vector<std::pair<std::string, std::string>> where;
  /// Field and value: runs count as they stood there (runs_at), but for the base and the best known
  /// of gaps.
  std::optional<std::pair<std::string, double>> at;
  BootstrapOptions bootstrap;

  /// Of what is shown: a larger share of a gap is better whatever the metric.
  bool larger_is_better() const { return gap_closed || !lower_is_better; }
};

/// A run as a number.
struct Score {
  std::string task, method, seed;  ///< seed: "(none)" where the run has none
  double value = 0;
  const FlatRun* run = nullptr;
};

/// What lies between the base and the best known on a task, in units of the metric.
struct Gap {
  std::string task;
  double base = 0, best = 0;
  double size() const { return best > base ? best - base : base - best; }
};

/// Turns runs into comparable scores.
class Scores {
 public:
  /// InputError, naming the run, where one lacks `by`, `strata` or the metric; where fields that
  /// must agree do not ("cost_source", "metric" and "unit" in all runs, "budget" and "time_limit"
  /// in those of a method); where a method has two runs of one seed on a task; and where gaps are
  /// asked for and `gap_base` has no run on a task.
  Scores(const std::vector<FlatRun>& all, const SummaryOptions& options);
  Scores(const Scores&) = delete;
  Scores& operator=(const Scores&) = delete;

  const std::vector<Score>& scores() const { return scores_; }
  const std::vector<std::string>& tasks() const { return tasks_; }      ///< in order of appearance
  const std::vector<std::string>& methods() const { return methods_; }  ///< likewise
  const std::vector<Gap>& gaps() const { return gaps_; }  ///< of all tasks; empty unless asked for
  /// What a raw value of the metric on a task counts; nothing where the task is left out.
  std::optional<double> value(const std::string& task, double raw) const;
  /// Those of a method on a task.
  std::vector<Score> of(const std::string& method, const std::string& task) const;

 private:
  void find_gaps(const std::vector<FlatRun>& all, const SummaryOptions& options);

  double min_gap_ = 0;
  std::vector<FlatRun> kept_;
  std::vector<Score> scores_;
  std::vector<std::string> tasks_, methods_;
  std::vector<Gap> gaps_;
};

struct SummaryCell {
  double value = 0;
  int runs = 0;  ///< 0: nothing is known
};

struct SummaryRow {
  std::string method;
  int runs = 0;
  Estimate iqm;
  /// Of shares of gaps: what runs lack to 100 percent on the mean, those above it nothing (Agarwal
  /// et al. 2021, section 4.3).
  std::optional<Estimate> optimality_gap;
  std::optional<Estimate> difference;  ///< to `versus`, positive where larger
  std::optional<Estimate> better;      ///< probability of improvement over `versus`
};

struct Summary {
  SummaryOptions options;
  std::vector<std::string> tasks, methods;
  std::vector<std::vector<SummaryCell>> cells;  ///< [task][method]
  std::vector<SummaryRow> rows;                 ///< by method, over `common` alone
  std::vector<std::string> common;              ///< tasks on which every method has runs
  std::vector<Gap> gaps;
};

/// Runs of `versus` are paired by seed; where it or the other has one run of a task, that one is
/// paired with all. InputError as Scores says, or where `versus` is unknown or lacks a seed, or no
/// task is common; but where gaps leave no task at all, only they are told.
Summary summarize(const std::vector<FlatRun>& runs, const SummaryOptions& options);

std::string summary_markdown(const Summary& summary);
/// One line.
std::string summary_json(const Summary& summary);

/// "Rank correlation (Spearman) of X and Y: 0.923 over 24 runs"
std::string correlation_line(const std::vector<FlatRun>& runs, const std::string& x,
                             const std::string& y);

}  // namespace reverie
