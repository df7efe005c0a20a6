#include "tools/optimize_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/base/words.h"
#include "env/rewrite/optimize/file_cost.h"
#include "tools/contenders.h"
#include "tools/measured.h"

namespace reverie {
namespace {

std::vector<std::string> cost_row(const char* what, double before, double after, const char* unit,
                                  int decimals = 4) {
  const double change = before != 0 ? 100.0 * (after - before) / before : 0.0;
  return {what, fmt::format("{:.{}f}", before, decimals), fmt::format("{:.{}f}", after, decimals),
          unit, fmt::format("{:+.2f}%", change)};
}

double scaled(int64_t value, double unit) { return static_cast<double>(value) * unit; }

int64_t nodes_after(const Optimized& result, const ImportedModel& model) {
  return result.changed ? written_nodes(result.search.best) : model.nodes;
}

HtmlTable costs_of(const Optimized& result, const ImportedModel& model) {
  const Cost& before = result.file_before;
  const Cost& after = result.file_after;
  const auto count = [](const char* what, int64_t from, int64_t to) {
    return cost_row(what, scaled(from, 1), scaled(to, 1), "", 0);
  };
  const int64_t weights = result.changed ? result.weight_bytes_after : result.weight_bytes_before;
  HtmlTable table{{"", "before", "after", "", "change"}};
  table.left = {0, 3};
  table.rows = {
      cost_row("run time", before.runtime.milliseconds(), after.runtime.milliseconds(), "ms"),
      cost_row("work", scaled(before.flops, 1e-9), scaled(after.flops, 1e-9), "GFLOP"),
      cost_row("traffic", scaled(before.bytes, 1e-6), scaled(after.bytes, 1e-6), "MB"),
      count("nodes", model.nodes, nodes_after(result, model)),
      count("kernels", before.launches, after.launches),
      cost_row("weights", scaled(result.weight_bytes_before, 1e-6), scaled(weights, 1e-6), "MB")};
  return table;
}

/// Why a search ended.
const char* end_of(StoppedBy cause) {
  switch (cause) {
    case StoppedBy::kExhausted:
      return "nothing was left to try";
    case StoppedBy::kBudget:
      return "ended at its budget";
    case StoppedBy::kTimeLimit:
      return "ended at its time limit";
    case StoppedBy::kInterrupt:
      return "ended by an interrupt";
  }
  return "";
}

std::vector<std::string> search_sentences(const Optimized& result, const OptimizeConfig& config) {
  const SearchResult& search = result.search;
  std::vector<std::string> sentences = {
      fmt::format("{} by {}: {} in {:.2f} s, {}, {}, {}; {}", result.cost_source, config.method,
                  counted(search.rewrites.size(), "rewrite"), search.seconds,
                  counted(search.expansions, "expansion"), counted(search.candidates, "candidate"),
                  counted(search.duplicates, "duplicate"), end_of(search.stopped_by))};
  if (search.forgotten > 0)
    sentences.push_back(fmt::format(
        "the queue was full: {} successors left it before their turn (--set taso.queue=N)",
        search.forgotten));
  if (search.details) sentences.push_back(search.details->sentence());
  if (result.estimates > 0)
    sentences.push_back(fmt::format(
        "not from {}: the times of {} are estimates, {:.1f} % of the time before and {:.1f} % "
        "after",
        result.cost_source, counted(result.estimates, "operator"),
        100 * estimated_share(search.initial_cost), 100 * estimated_share(search.best_cost)));
  return sentences;
}

std::vector<std::pair<std::string, int64_t>> uses_of_rules(const SearchResult& search,
                                                           const RuleSet& rules) {
  std::map<std::string, int64_t> used;
  for (const RewriteStep& step : search.rewrites) ++used[rules.name(step.rule)];
  return {used.begin(), used.end()};
}

/// The best so far over time.
Json trace_of(const SearchResult& search) {
  Json::Array trace;
  const Cost initial{picoseconds(search.trace.empty() ? 0 : search.trace.front().best)};
  for (const SearchProgress& point : search.trace)
    trace.push_back(
        {{"seconds", point.seconds},
         {"expansions", point.expansions},
         {"candidates", point.candidates},
         {"best_cost_ms", picoseconds(point.best).milliseconds()},
         {"improvement_percent", improvement_percent(initial, Cost{picoseconds(point.best)})}});
  return trace;
}

constexpr char kNothingToGain[] = "nothing to gain: ";

/// Why the model stays as it is.
std::string why_unchanged(const Optimized& result) {
  const auto is_finalist = [](const ContestantResult& timed) { return timed.finalist; };
  if (std::ranges::count_if(result.benchmark.contestants, is_finalist) > 1)
    return "no graph was faster beyond its interval: ";
  if (!result.unconfirmed.empty())
    return fmt::format("nothing was confirmed ({}): ", result.unconfirmed);
  if (result.search.stopped_by == StoppedBy::kInterrupt ||
      result.search.stopped_by == StoppedBy::kTimeLimit)
    return fmt::format(
        "nothing was found before the {}: ",
        result.search.stopped_by == StoppedBy::kInterrupt ? "interrupt" : "time limit");
  return result.objections.empty() ? kNothingToGain : "";
}

std::vector<std::string> unchecked_of(const Agreement& verified) {
  std::vector<std::string> sentences;
  if (!verified.left_out.empty())
    sentences.push_back(fmt::format("not compared: {}", fmt::join(verified.left_out, "; ")));
  if (verified.unverified_nodes > 0)
    sentences.push_back(
        fmt::format("not verified: {} that this program cannot run; their inputs agree",
                    counted(verified.unverified_nodes, "node")));
  if (!verified.not_run.empty())
    sentences.push_back(fmt::format(
        "not run on random inputs: {} (--range and --inputs give others)", verified.not_run));
  return sentences;
}

std::string proof_sentence(const Optimized& result, const OptimizeConfig& config) {
  if (result.simplified)
    return fmt::format("nothing is rewritten: constants and shape code are folded{}",
                       result.constant_shapes ? ", and shapes are constant" : "");
  if (config.verify.inputs == 0) return "not verified";
  return fmt::format(
      "verified on {} random inputs with random weights: largest relative error {:.2g} "
      "(tolerance {:.0e})",
      result.verified.inputs, result.verified.max_rel_error, config.verify.tolerance);
}

std::vector<std::string> verdict_of(const Optimized& result, const OptimizeConfig& config) {
  if (!result.changed) {
    const std::string why = why_unchanged(result);
    return {
        fmt::format("{}the model stays as it is{}", why,
                    why == kNothingToGain ? " (nothing was checked: nothing is rewritten)" : "")};
  }
  std::vector<std::string> sentences = {proof_sentence(result, config)};
  if (config.method == kAutomatic && result.benchmark.contestants.empty())
    sentences.push_back(
        "not confirmed in a runtime: tools/setup.sh --ort installs ONNX Runtime, which then "
        "measures");
  return sentences;
}

/// Each on a line.
std::string lines_of(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + "\n";
  return text;
}

}  // namespace

OptimizeAccount account_of(const Optimized& result, const ImportedModel& model,
                           const OptimizeConfig& config, const RuleSet& rules) {
  OptimizeAccount account;
  account.costs = costs_of(result, model);
  account.cost_note =
      fmt::format("an estimate: the sum of its operators' times from {}", result.cost_source);
  account.search = search_sentences(result, config);
  account.rules = uses_of_rules(result.search, rules);
  account.objections = result.objections;
  account.verdict = verdict_of(result, config);
  if (result.changed) account.unchecked = unchecked_of(result.verified);
  account.measured = measured_sentences(result);
  account.contestants = contestants_of(result);
  account.machine = machine_sentence(result);
  account.confirmed = confirmed_sentences(result);
  return account;
}

OptimizeAccount account_of_simplified(int64_t nodes_before, int64_t nodes_after,
                                      const std::string& left_out) {
  OptimizeAccount account;
  account.verdict = {fmt::format("nodes {} -> {}", nodes_before, nodes_after)};
  Agreement tried;
  if (!left_out.empty()) tried.left_out = {left_out};
  account.unchecked = unchecked_of(tried);
  return account;
}

std::string text_of(const OptimizeAccount& account) {
  std::string text;
  if (!account.costs.rows.empty())
    text += text_table(account.costs) + account.cost_note + "\n\n" + lines_of(account.search);
  for (const auto& [rule, count] : account.rules)
    text += fmt::format("  {:>4} x {}\n", count, rule);
  text += lines_of(account.objections) + lines_of(account.verdict) + lines_of(account.unchecked);
  if (!account.measured.empty()) text += "\n" + lines_of(account.measured);
  if (!account.contestants.rows.empty())
    text += "\n" + account.machine + "\n" + text_table(account.contestants) +
            lines_of(account.confirmed);
  return text;
}

std::string untouched_sentence(const ImportedModel& model) {
  return fmt::format("{} of {} untouched", model.untouched.size(),
                     counted(model.nodes, "node is", "nodes are"));
}

Json to_json(const std::string& file, const ImportedModel& model, const Optimized& result,
             const OptimizeConfig& config, const RuleSet& rules) {
  Json::Array rewrites;
  for (const RewriteStep& step : result.search.rewrites)
    rewrites.push_back({{"rule", rules.name(step.rule)}, {"location", step.location}});
  Json json = {{"model", file},
               {"method", config.method},
               {"seed", config.search.seed},
               {"budget", config.search.budget},
               {"time_limit", config.search.time_limit},
               {"cost_source", result.cost_source},
               {"initial_cost_ms", result.search.initial_cost.runtime.milliseconds()},
               {"best_cost_ms", result.search.best_cost.runtime.milliseconds()},
               {"improvement_percent", result.improvement_percent()},
               {"changed", result.changed},
               {"file_improvement_percent", result.file_improvement_percent()},
               {"nodes", model.nodes},
               {"nodes_after", nodes_after(result, model)},
               {"untouched_nodes", model.untouched.size()},
               {"weight_bytes_before", result.weight_bytes_before},
               {"weight_bytes_after", result.weight_bytes_after},
               {"steps", result.search.steps},
               {"expansions", result.search.expansions},
               {"candidates", result.search.candidates},
               {"cost_lookups", result.cost_lookups},
               {"measurements", result.measurements},
               {"estimates", result.estimates},
               {"estimated_share_before", estimated_share(result.search.initial_cost)},
               {"estimated_share_after", estimated_share(result.search.best_cost)},
               {"duplicates", result.search.duplicates},
               {"forgotten", result.search.forgotten},
               {"seconds", result.search.seconds},
               {"seconds_to_best", result.search.trace.back().seconds},
               {"peak_memory_bytes", result.peak_memory_bytes},
               {"optimal", result.search.optimal},
               {"stopped_by", name_of(result.search.stopped_by)},
               {"trace", trace_of(result.search)},
               {"verified",
                {{"inputs", result.verified.inputs},
                 {"max_abs_error", result.verified.max_abs_error},
                 {"max_rel_error", result.verified.max_rel_error},
                 {"unverified_nodes", result.verified.unverified_nodes}}},
               {"rewrites", rewrites}};
  if (const auto& details = result.search.details) json[details->name()] = details->json();
  return json;
}

}  // namespace reverie
