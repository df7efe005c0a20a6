#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "env/adapt/job.h"
#include "env/adapt/training_config.h"

namespace reverie {

/// How far a written network is from the trained one: of all outputs, max|a-b| / max|b|.
struct NetworkCheck {
  int images = 0;
  double error = 0;
};
inline constexpr double kOnnxTolerance = 1e-4;

/// Images that are taken, and that there are.
struct ImageCounts {
  int train = 0, test = 0;
  int all_train = 0, all_test = 0;
};

/// A job of real training, which can stop after any epoch and go on later.
class RealJob : public TrainingJob {
 public:
  using AfterEpoch = std::function<void(const RealJob&)>;

  /// What it was begun with.
  virtual uint64_t seed() const = 0;
  /// Trains on to the next decision, or to the end where there is none left; nothing where it
  /// stands there. After every recorded epoch `after` is called. What it throws ends the call; the
  /// job is then whole and can go on. InputError where the budget ends before the first decision,
  /// and where the loss is no finite number: the job is then in the middle of an epoch and of no
  /// use any more, but as it was saved before.
  virtual void go_on(const AfterEpoch& after = {}) = 0;
  /// As `TrainingJob::decide`, but does not train: `go_on` does.
  virtual void take(const std::optional<ChangeAtRate>& decision) = 0;
  /// All that it needs to go on to the same bytes. Written aside and renamed.
  virtual void save(const std::string& path) const = 0;
  /// Writes the network with its weights as an ONNX model. Its input `image` has any number of
  /// images, [N, channels, height, width], pixels from -1 (black) to 1; its output `scores` is
  /// [N, classes]. Before, it is run on test images; InternalError where outputs are not those of
  /// training within `kOnnxTolerance`.
  virtual NetworkCheck write_onnx(const std::string& path) const = 0;
};

/// Jobs of real training. All are the same up to their first decision, which is trained to once,
/// when `start` is first called; from there on a job's seed orders the images and draws the noise
/// of widenings. Under a budget of multiply-adds equal seeds give equal bytes: a job trains on one
/// thread of LibTorch, whatever the caller's setting is, which it puts back. Under seconds it
/// trains on `extra.factor` threads while it has extra processors.
///
/// Where the network grew with extra processors and they go before the end, the epoch is broken off
/// there. The job goes on with the network it had before it grew, with its weights from then;
/// decisions stay in its history. The larger network's outputs on the training images, charged as a
/// pass forward, are soft targets (Hinton, Vinyals and Dean 2015, section 2): temperature 2, share
/// of the loss 0.75, a quarter of that after each epoch. The learning rate goes on, Adam's moments
/// begin anew.
class TrainingSource : public JobSource {
 public:
  /// A job before its first epoch; `JobSource::start` trains it to its first decision.
  virtual std::unique_ptr<RealJob> begin(uint64_t seed) const = 0;
  /// One that was saved. InputError, one line, where the file is none, is damaged, or is of another
  /// network, data or configuration.
  virtual std::unique_ptr<RealJob> load(const std::string& path) const = 0;
  virtual ImageCounts images() const = 0;
};

/// Loads the images. InputError, one line, where they do not fit, settings contradict each other or
/// the budget is less than one epoch, and where nothing that trains is registered. Errors of
/// `start` are those of RealJob::go_on.
std::unique_ptr<TrainingSource> make_training_source(const Network& network,
                                                     const std::string& scenario,
                                                     const TrainingConfig& config);

/// Training needs LibTorch, so that not every program has it: env/adapt/train registers what makes
/// sources, in a static initializer.
using MakeTrainingSource = std::unique_ptr<TrainingSource>(const Network&, const std::string&,
                                                           const TrainingConfig&);
bool register_training(MakeTrainingSource* make);

}  // namespace reverie
