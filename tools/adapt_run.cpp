#include "tools/adapt_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/run_directory.h"
#include "env/adapt/features.h"
#include "env/adapt/resumable_run.h"
#include "env/adapt/run_report.h"
#include "tools/adapt_methods.h"
#include "tools/interrupt.h"

namespace reverie {
namespace {

constexpr char kUnchanged[] = "/unchanged";

/// A row for each epoch on standard error, and on a terminal a bar below.
class EpochTable : public RunWatcher {
 public:
  EpochTable(const TrainingConfig& config, ProgressStyle style)
      : config_(config),
        style_(style),
        progress_(std::in_place, "train", 100, "% of the budget", style) {}

  void decides(const JobState& at, const std::optional<ChangeAtRate>& decision) override {
    decision_ = text_of(decision, at.network, config_.rates.size() > 1);
  }

  void trained(const JobState& now) override {
    if (!is_headed_)
      progress_->say(fmt::format("{:>5} {:>8} {:>10} {:>12} {:>8} {:>10}  {}", "epoch", "left",
                                 "accuracy", "in training", "loss", "parameters", "decision"));
    is_headed_ = true;
    const EpochRecord& epoch = now.curve.back();
    std::string row = fmt::format("{:>5} {:>8} {:>8.2f} % {:>10.2f} % {:>8.4f} {:>10}",
                                  now.curve.size(), left(now), 100 * epoch.accuracy,
                                  100 * epoch.train_accuracy, epoch.loss, now.network.parameters());
    progress_->say(decision_.empty() ? row : row + "  " + decision_);
    decision_.clear();
    if (style_ == ProgressStyle::kBar) progress_->update(static_cast<int64_t>(100 * now.spent));
    if (!stop_) stop_ = stop_on_interrupt();  // not before: methods that learn save nothing
    if (stop_->requested())
      throw Interrupted("interrupted; the same command with --resume goes on");
  }
  /// Begins a bar, with a line above.
  void begin(const std::string& what) {
    if (!progress_) progress_.emplace("train", 100, "% of the budget", style_);
    is_headed_ = false;
    progress_->say(what);
  }
  /// Ends the bar.
  void finish() { progress_.reset(); }

 private:
  std::string left(const JobState& now) const {
    const double share = 1 - now.spent;
    return config_.unit == BudgetUnit::kSeconds ? duration_text(share * config_.budget)
                                                : fmt::format("{:.1f} %", 100 * share);
  }

  const TrainingConfig& config_;
  ProgressStyle style_;
  std::optional<Progress> progress_;
  std::optional<StopToken> stop_;
  std::string decision_;  ///< taken since the last row
  bool is_headed_ = false;
};

std::string checksum_line(const char* what, const std::string& file) {
  return fmt::format("# {} {}, checksum {:016x}\n", what, file, hash_string(read_file(file)));
}

/// The configuration, and as comments what else makes a run another one.
std::string identity(const AdaptOptions& options, const AdaptCommandConfig& config) {
  return dump_config(config) + checksum_line("network", options.source) +
         (options.policy.empty() ? fmt::format("# decisions by {}\n", adapt_decider(options))
                                 : checksum_line("decisions by policy", options.policy));
}

/// What a killed process was writing aside.
void remove_unfinished_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".part") files.push_back(entry.path());
  for (const auto& file : files) std::filesystem::remove(file);
}

bool has_changes(const JobState& end) {
  return std::ranges::any_of(end.decisions,
                             [](const auto& decision) { return decision.has_value(); });
}

/// Accuracy of the same job when it goes on as it is at every decision.
double train_unchanged(const std::shared_ptr<const TrainingSource>& source,
                       const std::string& state, uint64_t job_seed, int final_epochs,
                       EpochTable& table) {
  const std::string folder = state + kUnchanged, first = "/stop-0.job";
  create_directory(folder);
  std::filesystem::copy_file(state + first, folder + first,
                             std::filesystem::copy_options::skip_existing);
  table.begin("without a change, to compare (--no-baseline leaves it out)");
  const ResumableRun run(source, folder, table);
  const auto job = run.start(job_seed);
  while (!job->state().over) job->decide(std::nullopt);
  table.finish();
  return mean_accuracy(job->state().curve, final_epochs);
}

void tell(const AdaptOptions& options, const RunReport& report) {
  const std::string decisions = decisions_text(report.end(), report.rates);
  fmt::print("{}: {}: {:.2f} %; {}\n", report.scenario, decisions, 100 * report.accuracy(),
             images_text(report.images));
  fmt::print(
      "{0}/network.onnx gives what training gave on {1} test images, within {2:.1e}; "
      "{0}/report.html\n",
      options.common.out, report.onnx.images, report.onnx.error);
}

void tell_json(const RunReport& report, const AdaptOptions& options, double seconds) {
  const Json json{{"model", report.scenario},
                  {"method", report.method},
                  {"decisions", decisions_text(report.end(), report.rates)},
                  {"parameters", report.end().network.parameters()},
                  {"episodes", adapt_episodes(options)},
                  {"epochs", report.end().curve.size()},
                  {"seconds", seconds},
                  {"accuracy", 100 * report.accuracy()},
                  {"unchanged_accuracy", report.unchanged ? Json(100 * *report.unchanged) : Json()},
                  {"train_images", report.images.train},
                  {"test_images", report.images.test},
                  {"onnx_error", report.onnx.error},
                  {"seed", report.seed}};
  fmt::print("{}\n", json.dump());
}

}  // namespace

void train_adapt(const AdaptOptions& options, const AdaptCommandConfig& config,
                 const std::shared_ptr<const TrainingSource>& source, int final_epochs) {
  const std::string &out = options.common.out, state = out + "/state";
  EpochTable table(config.adapt.train, options.common.progress());
  table.begin(images_text(source->images()));
  const auto run = std::make_shared<const ResumableRun>(source, state, table);
  const auto play = adapt_player(options, config, {{source, final_epochs}, {run, final_epochs}});
  const RunDirectory directory(out, identity(options, config), options.common.resume);
  create_directory(state);
  for (const std::string& folder : {out, state, state + kUnchanged})
    if (is_directory(folder)) remove_unfinished_files(folder);
  const Result result = play();
  table.finish();

  const std::vector<std::unique_ptr<RealJob>> stops = run->stops();
  REVERIE_CHECK(!stops.empty() && stops.back()->state().over, "the run was not played to its end");
  RunReport report;
  report.scenario = source->scenario();
  report.method = adapt_decider(options);
  report.seed = config.seed;
  report.budget = budget_text(config.adapt.train);
  report.final_epochs = final_epochs;
  report.rates = source->rates().size() > 1;
  for (const auto& stop : stops) report.stops.push_back(stop->state());
  if (report.end().curve.empty())
    throw InputError("{}: the budget of {} ends within the first epoch: give more of it",
                     options.source, report.budget);
  report.onnx = stops.back()->write_onnx(out + "/network.onnx");
  write_file(out + "/network.yaml", to_yaml(report.end().network));
  report.images = source->images();
  write_report(report, out);
  tell(options, report);
  if (options.baseline && has_changes(report.end())) {
    report.unchanged = train_unchanged(source, state, stops.front()->seed(), final_epochs, table);
    write_report(report, out);
    fmt::print("without a change: {:.2f} %\n", 100 * *report.unchanged);
  }
  if (options.common.json) tell_json(report, options, result.seconds);
}

}  // namespace reverie
