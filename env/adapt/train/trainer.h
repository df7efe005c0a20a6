#pragma once

#include <torch/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/adapt/train/adam.h"
#include "env/adapt/train/budget.h"
#include "env/adapt/train/images.h"
#include "env/adapt/train/module.h"
#include "env/adapt/training_source.h"

namespace reverie {

/// Images as tensors.
struct ImageTensors {
  explicit ImageTensors(const LabelledImages& images, const BlockShape& shape);

  int64_t count() const { return labels.size(0); }
  torch::Tensor pixels;  ///< uint8 [image, channel, row, column]
  torch::Tensor labels;  ///< int64 [image]
};

/// What the jobs of a source have in common.
struct TrainingSetup {
  TrainingSetup(const Network& network, const TrainingConfig& config, const ImageData& data);

  Network network;
  TrainingConfig config;
  ImageTensors train, test;
  ImageCounts images;
  uint64_t fingerprint;  ///< of all three, but for the name of the data's folder
};

/// The inputs of a network for some images: from -1 to 1, with 0.5 as mean and deviation of pixels
/// from 0 to 1.
torch::Tensor inputs_of(const torch::Tensor& pixels);

/// A job that trains with LibTorch (see TrainingSource).
class TrainerJob : public RealJob {
 public:
  /// Before its first epoch.
  TrainerJob(std::shared_ptr<const TrainingSetup> setup, uint64_t seed);
  /// As `at_first`, a job of another seed that no decision was taken in.
  TrainerJob(const TrainerJob& at_first, uint64_t seed);

  const JobState& state() const override { return state_; }
  uint64_t seed() const override { return seed_; }
  void decide(const std::optional<ChangeAtRate>& decision) override;
  std::unique_ptr<TrainingJob> copy() const override { return std::make_unique<TrainerJob>(*this); }
  void go_on(const AfterEpoch& after = {}) override;
  void take(const std::optional<ChangeAtRate>& decision) override;
  void save(const std::string& path) const override;
  NetworkCheck write_onnx(const std::string& path) const override;

  /// As saved; errors as of TrainingSource::load.
  static std::unique_ptr<TrainerJob> load(std::shared_ptr<const TrainingSetup> setup,
                                          const std::string& path);

  /// One in the same state that is not trained any more (see JobSource::foresee): it only counts
  /// what training would take.
  std::unique_ptr<TrainerJob> foreseen() const;

  const WeightedNetwork& weights() const { return weights_; }

 private:
  /// What the job goes back to when extra processors leave.
  struct Smaller {
    Network network;  ///< of the age of now
    WeightedNetwork weights;
  };
  /// What it learns from the larger network then.
  struct Teacher {
    OwnTensor targets;  ///< [training image, class] at the temperature
    double share;       ///< of the loss
  };

  Rng stream(uint64_t which) const;
  bool at_decision() const;
  void epoch();
  bool budget_ends_within_epoch() const;
  /// Whether the network has to shrink now.
  bool processors_left(const Budget& budget) const;
  /// Sets the threads of the next minibatch; false where processors left.
  bool ready() const;
  /// False where the budget ended before it.
  bool charge(Budget& budget, double factor, int64_t images) const;
  void grow(const Network& next, const ChangeAtRate& change);
  bool train(EpochRecord& record);
  torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& labels,
                     const torch::Tensor& rows) const;
  bool evaluate(EpochRecord& record);
  void make_smaller();
  void update_state();
  double epoch_work() const;
  std::string header() const;
  void read_header(const std::string& text);
  std::vector<torch::Tensor*> tensors();

  std::shared_ptr<const TrainingSetup> setup_;
  uint64_t seed_;
  JobState state_;
  Budget budget_;
  WeightedNetwork weights_;
  Adam adam_;
  bool foreseen_ = false;
  int epochs_at_decision_ = 0;  ///< recorded when the last one was taken
  std::optional<Smaller> smaller_;
  std::optional<Teacher> teacher_;
};

}  // namespace reverie
