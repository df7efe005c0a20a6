#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "controller/evaluate/report.h"
#include "controller/train/counters.h"
#include "core/base/progress.h"
#include "core/base/words.h"

namespace reverie {
namespace {

constexpr char kNotRecorded[] = "not recorded";
constexpr std::array kSteps = {"collect", "train_vae", "train_mdnrnn", "dream_train"};
/// Losses of M by their names among the scores, and for a person.
constexpr std::array<std::pair<const char*, const char*>, 5> kLosses = {
    {{"latent", "next latent"},
     {"reward", "reward"},
     {"end", "end"},
     {"counts", "valid actions"},
     {"loss", "in all"}}};
constexpr std::string_view kValidation = "world/validation/";

std::vector<std::string> missing_steps(const History& history) {
  std::vector<std::string> missing;
  for (const char* name : kSteps)
    if (std::ranges::find(history, name, &StepTaken::step) == history.end())
      missing.push_back(name);
  return missing;
}

std::string count_text(int64_t count) { return count > 0 ? fmt::format("{}", count) : "-"; }

std::string time_text(const std::optional<double>& seconds) {
  return seconds ? duration_text(*seconds) : kNotRecorded;
}

std::vector<std::string> cost_row(const StepTaken& step) {
  return {step.step,
          step.done,
          step.seed ? fmt::format("{}", *step.seed) : kNotRecorded,
          count_text(step.learning.resets),
          count_text(step.learning.steps),
          count_text(step.validation.steps),
          count_text(step.learning.measurements + step.validation.measurements),
          time_text(step.seconds)};
}

/// All steps as one; no time where that of one is not known.
StepTaken sum_of(const History& history) {
  StepTaken all;
  all.step = "in all";
  all.seconds = 0;
  for (const StepTaken& step : history) {
    all.learning += step.learning;
    all.validation += step.validation;
    all.seconds =
        all.seconds && step.seconds ? std::optional(*all.seconds + *step.seconds) : std::nullopt;
  }
  return all;
}

std::string horizon_text(const OpenLoopRow& row) {
  return row.k > 0 ? fmt::format("{}", row.k) : "whole episodes";
}

std::string beside(double value, double without) {
  return fmt::format("{:.3f} ({:.3f})", value, without);
}

std::string errors(const OpenLoopRow& row) {
  const std::string ahead = row.k == 0   ? "Over whole episodes"
                            : row.k == 1 ? "One step ahead"
                                         : fmt::format("{} steps ahead", row.k);
  return fmt::format(
      "{} M misses the latents by {:.3f} deviations (copying the start: {:.3f}) and the reward by "
      "{:.3g} (its size: {:.3g}). It gets {:.3f} counts of valid actions wrong for each that "
      "changes "
      "(copying the start: 1).",
      ahead, row.latent_error, row.latent_error_copy, row.reward_error, row.reward_magnitude,
      row.change_error);
}

std::string losses(const std::map<std::string, double>& found) {
  std::vector<std::string> parts;
  for (const auto& [name, words] : kLosses)
    if (const auto loss = found.find(name); loss != found.end())
      parts.push_back(fmt::format("{} {:.4g}", words, loss->second));
  return fmt::format("Its validation losses, weighted as in training: {}.", fmt::join(parts, ", "));
}

}  // namespace

void add_policy_record(EvaluationReport& report, const Checkpoint& policy, History history) {
  report.policy_counters = policy.counters;
  report.world.open_loop = get_open_loop(policy);
  for (const auto& [name, value] : policy.scores)
    if (name.starts_with(kValidation)) report.world.losses[name.substr(kValidation.size())] = value;
  const bool recorded = std::ranges::count(history, "dream_train", &StepTaken::step) > 0;
  if (!recorded && policy.counters.contains("validation_steps"))
    history.push_back({.step = "dream_train",
                       .done = "until the policy was kept",
                       .learning = get_counters(policy, "training_"),
                       .validation = get_counters(policy, "validation_")});
  report.history = std::move(history);
}

ReportTable learning_cost_table(const EvaluationReport& report) {
  if (report.history.empty()) return {};
  ReportTable table = {{"step", "work", "seed", "real episodes", "real steps",
                        "real steps to validate", "measurements", "time, min:s"},
                       {}};
  for (const StepTaken& step : report.history) table.rows.push_back(cost_row(step));
  const std::vector<std::string> missing = missing_steps(report.history);
  for (const std::string& name : missing) {
    table.rows.push_back({name, kNotRecorded});
    table.rows.back().resize(table.heads.size(), kNotRecorded);
  }
  table.rows.push_back(cost_row(sum_of(report.history)));
  table.rows.back()[2] = "";
  if (!missing.empty()) table.rows.back()[0] = "recorded";
  return table;
}

std::string learning_cost(const EvaluationReport& report) {
  const StepTaken all = sum_of(report.history);
  const std::vector<std::string> missing = missing_steps(report.history);
  std::string text;
  if (!report.history.empty())
    text = fmt::format(
        "{} {} in {}, and {} to validate{}.",
        missing.empty() ? "Learning took" : "As far as recorded, learning took",
        counted(all.learning.steps, "real step"), counted(all.learning.resets, "episode"),
        counted(all.validation.steps, "real step"),
        all.seconds ? fmt::format("; {} (min:s) in all", duration_text(*all.seconds)) : "");
  if (!missing.empty())
    text += fmt::format("{}What {} took is not recorded.", text.empty() ? "" : " ",
                        fmt::join(missing, ", "));
  return text;
}

ReportTable world_table(const EvaluationReport& report) {
  if (report.world.open_loop.empty()) return {};
  ReportTable table = {
      {"steps ahead", "starts", "latents, deviations (copy)", "sum of rewards (its size)",
       "rank of rewards within a start (by step)",
       "valid actions, wrong for each that changes (copy: 1)", "F1 of actions there (copy)"},
      {}};
  for (const OpenLoopRow& row : report.world.open_loop)
    table.rows.push_back(
        {horizon_text(row), fmt::format("{}", row.starts),
         beside(row.latent_error, row.latent_error_copy),
         beside(row.reward_error, row.reward_magnitude), beside(row.rank_within, row.rank_by_step),
         fmt::format("{:.3f}", row.change_error), beside(row.present_f1, row.present_f1_copy)});
  return table;
}

std::string world_quality(const EvaluationReport& report) {
  const WorldQuality& world = report.world;
  std::vector<std::string> sentences;
  if (!world.open_loop.empty()) sentences.push_back(errors(world.open_loop.front()));
  if (!world.losses.empty()) sentences.push_back(losses(world.losses));
  if (sentences.empty()) return "How well M predicts is not recorded with this policy.";
  if (world.open_loop.empty())
    sentences.push_back("What it misses on episodes held out for testing is not recorded.");
  return fmt::format("{}", fmt::join(sentences, " "));
}

std::string versions(const EvaluationReport& report) {
  std::vector<std::string> earlier;
  for (const StepTaken& step : report.history)
    if (!step.version.empty() && std::ranges::count(report.versions, step.version) == 0 &&
        std::ranges::count(earlier, step.version) == 0)
      earlier.push_back(step.version);
  std::string text = fmt::format("Evaluated with seed {}", report.seed);
  if (!report.versions.empty()) text += fmt::format(" by {}", fmt::join(report.versions, ", "));
  if (!earlier.empty()) text += fmt::format("; learned with {}", fmt::join(earlier, ", "));
  return text + ".";
}

Json learned_json(const EvaluationReport& report) {
  Json::Array steps;
  for (const StepTaken& step : report.history) steps.push_back(step_json(step));
  return {{"steps", steps}, {"not_recorded", missing_steps(report.history)}};
}

}  // namespace reverie
