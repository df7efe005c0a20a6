#include "tools/optimize_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "core/base/words.h"
#include "core/onnx/lower.h"
#include "core/search/file_cost.h"

namespace reverie {
namespace {

void print_row(const char* what, double before, double after, const char* unit) {
  const double change = before != 0 ? 100.0 * (after - before) / before : 0.0;
  fmt::print("{:<12} {:>14.4f} {:>14.4f} {:<7} {:>+8.2f}%\n", what, before, after, unit, change);
}

double scaled(int64_t value, double unit) { return static_cast<double>(value) * unit; }

int64_t nodes_after(const Optimized& result, const ImportedModel& model) {
  return result.changed ? written_nodes(result.search.best) : model.nodes;
}

void print_table(const Optimized& result, const ImportedModel& model) {
  const Cost& before = result.file_before;
  const Cost& after = result.file_after;
  fmt::print("{:<12} {:>14} {:>14} {:<7} {:>9}\n", "", "before", "after", "", "change");
  print_row("run time", before.runtime.milliseconds(), after.runtime.milliseconds(), "ms");
  print_row("work", scaled(before.flops, 1e-9), scaled(after.flops, 1e-9), "GFLOP");
  print_row("traffic", scaled(before.bytes, 1e-6), scaled(after.bytes, 1e-6), "MB");
  print_row("nodes", scaled(model.nodes, 1), scaled(nodes_after(result, model), 1), "");
  print_row("kernels", scaled(before.launches, 1), scaled(after.launches, 1), "");
  const int64_t weights = result.changed ? result.weight_bytes_after : result.weight_bytes_before;
  print_row("weights", scaled(result.weight_bytes_before, 1e-6), scaled(weights, 1e-6), "MB");
  fmt::print("an estimate: the sum of its operators' times from {}\n", result.cost_source);
}

/// Why a search ended.
const char* end_of(StoppedBy cause) {
  switch (cause) {
    case StoppedBy::kExhausted: return "nothing was left to try";
    case StoppedBy::kBudget: return "ended at its budget";
    case StoppedBy::kTimeLimit: return "ended at its time limit";
    case StoppedBy::kInterrupt: return "ended by an interrupt";
  }
  return "";
}

void print_search(const Optimized& result, const OptimizeConfig& config, const RuleSet& rules) {
  const SearchResult& search = result.search;
  std::map<std::string, int> used;
  for (const RewriteStep& step : search.rewrites) ++used[rules.name(step.rule)];
  fmt::print("\n{} by {}: {} in {:.2f} s, {}, {}, {}; {}\n", result.cost_source, config.method,
             counted(search.rewrites.size(), "rewrite"), search.seconds, counted(search.expansions, "expansion"),
             counted(search.candidates, "candidate"), counted(search.duplicates, "duplicate"),
             end_of(search.stopped_by));
  if (search.forgotten > 0)
    fmt::print("the queue was full: {} successors left it before their turn (--set queue=N)\n",
               search.forgotten);
  for (const auto& [rule, count] : used) fmt::print("  {:>4} x {}\n", count, rule);
  if (const auto& saturation = search.saturation)
    fmt::print("e-graph {}: {} in {} after {} in all{}; extraction: {}\n", saturation->rounds,
               counted(saturation->nodes, "node"), counted(saturation->classes, "class", "classes"),
               counted(saturation->iterations, "iteration"),
               saturation->saturated ? ", saturated" : "", saturation->extraction);
  if (result.estimates > 0)
    fmt::print("not from {}: the times of {} are estimates, {:.1f} % of the time before and "
               "{:.1f} % after\n", result.cost_source, counted(result.estimates, "operator"),
               100 * estimated_share(search.initial_cost), 100 * estimated_share(search.best_cost));
}

/// The best so far over time.
Json trace_of(const SearchResult& search) {
  Json::Array trace;
  for (const SearchProgress& point : search.trace)
    trace.push_back({{"seconds", point.seconds},
                     {"expansions", point.expansions},
                     {"candidates", point.candidates},
                     {"best_cost_ms", picoseconds(point.best).milliseconds()},
                     {"improvement_percent", improvement_percent(search.initial_cost, Cost{picoseconds(point.best)})}});
  return trace;
}

}  // namespace

void print_result(const Optimized& result, const ImportedModel& model, const OptimizeConfig& config,
                  const RuleSet& rules) {
  print_table(result, model);
  print_search(result, config, rules);
}

namespace {

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

void print_left_out(const Agreement& verified) {
  if (!verified.left_out.empty())
    fmt::print("not compared: {}\n", fmt::join(verified.left_out, "; "));
  if (verified.unverified_nodes > 0)
    fmt::print("not verified: {} that this program cannot run; their inputs agree\n",
               counted(verified.unverified_nodes, "node"));
  if (!verified.not_run.empty())
    fmt::print("not run on random inputs: {} (--range and --inputs give others)\n",
               verified.not_run);
}

}  // namespace

void print_verdict(const Optimized& result, const OptimizeConfig& config) {
  for (const std::string& objection : result.objections) fmt::print("{}\n", objection);
  if (!result.changed) {
    const std::string why = why_unchanged(result);
    fmt::print("{}the model stays as it is{}\n", why,
               why == kNothingToGain ? " (nothing was checked: nothing is rewritten)" : "");
    return;
  }
  if (result.simplified)
    fmt::print("nothing is rewritten: constants and shape code are folded{}\n",
               result.constant_shapes ? ", and shapes are constant" : "");
  else if (config.verify.inputs == 0)
    fmt::print("not verified\n");
  else
    fmt::print(
        "verified on {} random inputs with random weights: largest relative error {:.2g} "
        "(tolerance {:.0e})\n",
        result.verified.inputs, result.verified.max_rel_error, config.verify.tolerance);
  if (config.method == kAutomatic && result.benchmark.contestants.empty())
    fmt::print("not confirmed in a runtime: tools/setup.sh --ort installs ONNX Runtime, which then measures\n");
  print_left_out(result.verified);
}

Json to_json(const std::string& file, const ImportedModel& model, const Optimized& result, const OptimizeConfig& config,
             const RuleSet& rules) {
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
  if (const auto& saturation = result.search.saturation)
    json["saturation"] = {{"rounds", saturation->rounds},
                          {"iterations", saturation->iterations},
                          {"nodes", saturation->nodes},
                          {"classes", saturation->classes},
                          {"saturated", saturation->saturated},
                          {"extraction", saturation->extraction}};
  return json;
}

}  // namespace reverie
