#pragma once

#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/base/metrics.h"
#include "core/base/progress.h"
#include "datasets/episode.h"
#include "datasets/history.h"
#include "tools/common.h"
#include "worldmodel/network/fit.h"
#include "worldmodel/network/processes.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// "cpu", "cuda", "cuda:1". InputError when there is no such device.
torch::Device device_named(const std::string& name);

/// Adds --threads, which takes effect at once.
void add_threads_option(CLI::App& command);

/// Of several processes the first alone shows progress.
ProgressStyle progress_of(const CommonOptions& options, const Processes& processes);

/// What lies beside a file that a step wrote (datasets/history.h).
History history_beside(const std::string& file);
/// A fit as a step of such a history.
StepTaken fit_taken(const std::string& step, uint64_t seed, const FitResult& result);

/// Shows the epochs of a fit and writes their metrics into its run directory.
class FitReporter {
 public:
  /// `judged_on`: the split whose loss chooses the epoch that is kept.
  FitReporter(std::string label, std::string directory, int epochs, ProgressStyle style,
              Split judged_on);
  void observe(const FitProgress& progress);
  /// "best validation loss 0.1234 at epoch 3 of 10".
  std::string verdict(const FitResult& result) const;
  /// Epochs, best epoch and loss, metrics of the best epoch, seconds.
  static Json summary(const FitResult& result);

 private:
  std::string loss_name_;
  std::string directory_;
  std::unique_ptr<MetricsWriter> metrics_;
  Progress progress_;
};

}  // namespace reverie
