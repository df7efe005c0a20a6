#include "core/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/words.h"

namespace reverie {
namespace {

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Two runs that stand side by side must have the same value, or both none.
void check_same(const FlatRun& a, const FlatRun& b, const std::string& field) {
  const auto of = [&](const FlatRun& run) {
    const auto found = run.words.find(field);
    return found == run.words.end() ? "not given" : found->second;
  };
  if (of(a) != of(b))
    throw InputError("{}: {} is {}, but {} in {}; choose by --where {}=VALUE", b.where, field,
                     of(b), of(a), a.where, field);
}

std::vector<double> values_of(const std::vector<Score>& scores) {
  std::vector<double> values;
  for (const Score& score : scores) values.push_back(score.value);
  return values;
}

/// Values side by side.
struct Paired {
  std::vector<double> own, others;
};

/// Runs of equal seed; where one side has one run, that one with each of the other side.
Paired pairs_of(const std::vector<Score>& scores, const std::vector<Score>& others) {
  if (others.size() == 1)
    return {values_of(scores), std::vector<double>(scores.size(), others.front().value)};
  if (scores.size() == 1)
    return {std::vector<double>(others.size(), scores.front().value), values_of(others)};
  Paired pairs{values_of(scores), {}};
  for (const Score& score : scores) {
    const auto same = std::find_if(others.begin(), others.end(),
                                   [&](const Score& other) { return other.seed == score.seed; });
    if (same == others.end())
      throw InputError("{}: {} has no run of {} with seed {} to compare with", score.run->where,
                       others.front().method, score.task, score.seed);
    pairs.others.push_back(same->value);
  }
  return pairs;
}

Estimate optimality_gap(Strata shares, const BootstrapOptions& options) {
  for (std::vector<double>& stratum : shares)
    for (double& share : stratum) share = std::max(0.0, 100 - share);
  return mean_over_strata(shares, options);
}

SummaryRow row_of(const Scores& scores, const std::string& method,
                  const std::vector<std::string>& tasks, const SummaryOptions& options) {
  SummaryRow row;
  row.method = method;
  const double sign = options.larger_is_better() ? 1 : -1;
  Strata own, first, second, ranked, others;
  for (const std::string& task : tasks) {
    const std::vector<Score> mine = scores.of(method, task);
    row.runs += static_cast<int>(mine.size());
    own.push_back(values_of(mine));
    if (options.versus.empty()) continue;
    const std::vector<Score> theirs = scores.of(options.versus, task);
    Paired paired = pairs_of(mine, theirs);
    first.push_back(std::move(paired.own));
    second.push_back(std::move(paired.others));
    ranked.push_back(own.back());
    others.push_back(values_of(theirs));
    for (Strata* strata : {&ranked, &others})
      for (double& value : strata->back()) value *= sign;
  }
  row.iqm = aggregate(own, options.bootstrap);
  if (options.gap_closed) row.optimality_gap = optimality_gap(own, options.bootstrap);
  if (options.versus.empty() || options.versus == method) return row;
  row.difference = paired_difference(first, second, options.bootstrap);
  row.better = probability_of_improvement(ranked, others, options.bootstrap);
  return row;
}

SummaryCell cell_of(const Scores& scores, const std::string& method, const std::string& task,
                    bool by_median) {
  const std::vector<double> values = values_of(scores.of(method, task));
  if (values.empty()) return {};
  return {by_median ? median(values) : mean(values), static_cast<int>(values.size())};
}

bool all_have_runs(const std::vector<SummaryCell>& cells) {
  return std::all_of(cells.begin(), cells.end(),
                     [](const SummaryCell& cell) { return cell.runs > 0; });
}

}  // namespace

Scores::Scores(const std::vector<FlatRun>& all, const SummaryOptions& options)
    : min_gap_(options.min_gap), kept_(runs_where(all, options.where)) {
  if (options.at) kept_ = runs_at(kept_, options.at->first, options.at->second);
  if (options.gap_closed) find_gaps(all, options);
  std::map<std::string, const FlatRun*> first_of;
  std::map<std::vector<std::string>, const FlatRun*> known;
  for (const FlatRun& run : kept_) {
    const std::string &task = run.word(options.strata), &method = run.word(options.by);
    const std::string seed = run.words.count("seed") ? run.word("seed") : "(none)";
    for (const char* field : {"cost_source", "metric", "unit"})
      check_same(kept_.front(), run, field);
    const FlatRun& first = *first_of.emplace(method, &run).first->second;
    for (const char* field : {"budget", "time_limit"}) check_same(first, run, field);
    const auto [twin, is_new] = known.emplace(std::vector{task, method, seed}, &run);
    if (!is_new)
      throw InputError("{}: {} on {} with seed {} stands in {} too; choose by --where FIELD=VALUE",
                       run.where, method, task, seed, twin->second->where);
    const std::optional<double> scored = value(task, run.number(options.metric));
    add_new(methods_, method);
    if (!scored) continue;
    add_new(tasks_, task);
    scores_.push_back({task, method, seed, *scored, &run});
  }
}

void Scores::find_gaps(const std::vector<FlatRun>& all, const SummaryOptions& options) {
  std::map<std::string, std::vector<double>> base;
  std::map<std::string, double> best;
  std::vector<std::string> tasks;
  const auto costs_of = [](const FlatRun& run) {
    const auto word = run.words.find("cost_source");
    return word == run.words.end() ? "" : word->second;
  };
  for (const FlatRun& run : all) {
    if (costs_of(run) != costs_of(kept_.front())) continue;
    const std::string& task = run.word(options.strata);
    const double value = run.number(options.metric);
    add_new(tasks, task);
    const auto [known, is_new] = best.emplace(task, value);
    if (!is_new)
      known->second =
          options.lower_is_better ? std::min(known->second, value) : std::max(known->second, value);
    if (run.word(options.by) == options.gap_base) base[task].push_back(value);
  }
  for (const std::string& task : tasks) {
    if (base[task].empty())
      throw InputError("{} has no run on {}, so that no gap is known there", options.gap_base,
                       task);
    gaps_.push_back({task, mean(base[task]), best[task]});
  }
}

std::optional<double> Scores::value(const std::string& task, double raw) const {
  if (gaps_.empty()) return raw;
  const auto gap =
      std::find_if(gaps_.begin(), gaps_.end(), [&](const Gap& one) { return one.task == task; });
  REVERIE_CHECK(gap != gaps_.end());
  if (gap->size() < min_gap_ || gap->size() == 0) return std::nullopt;
  return 100 * (raw - gap->base) / (gap->best - gap->base);
}

std::vector<Score> Scores::of(const std::string& method, const std::string& task) const {
  std::vector<Score> found;
  for (const Score& score : scores_)
    if (score.method == method && score.task == task) found.push_back(score);
  return found;
}

Summary summarize(const std::vector<FlatRun>& runs, const SummaryOptions& options) {
  const Scores scores(runs, options);
  Summary summary{.options = options,
                  .tasks = scores.tasks(),
                  .methods = scores.methods(),
                  .cells = {},
                  .rows = {},
                  .common = {},
                  .gaps = scores.gaps()};
  const auto& methods = summary.methods;
  if (!options.versus.empty() &&
      std::find(methods.begin(), methods.end(), options.versus) == methods.end())
    throw InputError("no run is of {} '{}'; there are {}", options.by, options.versus,
                     fmt::join(methods, ", "));
  for (const std::string& task : summary.tasks) {
    summary.cells.emplace_back();
    for (const std::string& method : methods)
      summary.cells.back().push_back(cell_of(scores, method, task, options.median));
    if (all_have_runs(summary.cells.back())) summary.common.push_back(task);
  }
  if (summary.tasks.empty() && options.gap_closed) return summary;
  if (summary.common.empty())
    throw InputError("there is no {} on which every {} has a run", options.strata, options.by);
  for (const std::string& method : methods)
    summary.rows.push_back(row_of(scores, method, summary.common, options));
  return summary;
}

std::string correlation_line(const std::vector<FlatRun>& runs, const std::string& x,
                             const std::string& y) {
  std::vector<double> xs, ys;
  for (const FlatRun& run : runs) {
    xs.push_back(run.number(x));
    ys.push_back(run.number(y));
  }
  return fmt::format("Rank correlation (Spearman) of {} and {}: {:.3f} over {}", x, y,
                     spearman(xs, ys), counted(runs.size(), "run"));
}

}  // namespace reverie
