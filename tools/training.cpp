#include "tools/training.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/parallel.h"
#include "core/base/words.h"
#include "tools/command.h"

namespace reverie {

torch::Device device_named(const std::string& name) {
  try {
    const torch::Device device(name);
    if (device.is_cpu() || (device.is_cuda() && torch::cuda::is_available() &&
                            device.index() < static_cast<int>(torch::cuda::device_count())))
      return device;
  } catch (const c10::Error&) {
  }
  throw InputError("--device {}: there is no such device here; 'cpu' always is", name);
}

void add_threads_option(CLI::App& command) {
  command
      .add_option_function<int>(
          "--threads", [](int threads) { torch::set_num_threads(threads); },
          "Threads of LibTorch; with 1, equal runs give equal weights")
      ->check(CLI::Range(1, kMostThreads));
}

ProgressStyle progress_of(const CommonOptions& options, const Processes& processes) {
  return processes.is_first() ? options.progress() : ProgressStyle::kQuiet;
}

History history_beside(const std::string& file) {
  return read_history(std::filesystem::absolute(file).parent_path().string());
}

StepTaken fit_taken(const std::string& step, uint64_t seed, const FitResult& result) {
  return {.step = step,
          .done = counted(result.epochs, "epoch"),
          .seed = seed,
          .seconds = result.seconds,
          .version = kVersion};
}

FitReporter::FitReporter(std::string label, std::string directory, int epochs, ProgressStyle style,
                         Split judged_on)
    : loss_name_(judged_on == Split::kTrain ? "training loss" : "validation loss"),
      directory_(std::move(directory)),
      progress_(std::move(label), epochs, "epochs", style) {}

void FitReporter::observe(const FitProgress& progress) {
  if (!metrics_) {
    progress_.start_at(progress.epoch - 1);
    metrics_ = std::make_unique<MetricsWriter>(directory_, progress.epoch - 1);
  }
  metrics_->write(progress.epoch, progress.metrics);
  progress_.update(progress.epoch, fmt::format("best {} {:.4f}", loss_name_, progress.best_loss));
}

std::string FitReporter::verdict(const FitResult& result) const {
  return fmt::format("best {} {:.4f} at epoch {} of {}", loss_name_, result.best_loss,
                     result.best_epoch, result.epochs);
}

Json FitReporter::summary(const FitResult& result) {
  Json metrics = Json::Object();
  for (const auto& [key, value] : result.best_metrics) metrics[key] = value;
  return {{"epochs", result.epochs},
          {"best_epoch", result.best_epoch},
          {"best_loss", result.best_loss},
          {"seconds", result.seconds},
          {"metrics", metrics}};
}

}  // namespace reverie
