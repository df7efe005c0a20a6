#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/adapt/training_source.h"

namespace reverie {

/// Sees what a run does. What it throws ends the run, which can be resumed.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  /// A decision is taken in the state `at`, for the first time or again.
  virtual void decides(const JobState& at, const std::optional<ChangeAtRate>& decision) = 0;
  /// After each recorded epoch, once the job is saved.
  virtual void trained(const JobState& now) = 0;
};

/// The source of one job, the run, which saves itself in a folder: as `epoch.job` after each epoch,
/// and as `stop-K.job` where K decisions were taken and the next one comes, or the end. Files are
/// written aside and renamed.
///
/// A run that was ended at any moment goes on when it is played again, with the same folder: what
/// was trained is loaded instead, and whoever decides need not know. InputError where a decision is
/// another one than before, and of files as TrainingSource::load. The run must outlive its job;
/// copies of the job do not save themselves.
class ResumableRun : public JobSource {
 public:
  /// The folder exists when it is started. Errors of training have the scenario's name in front.
  ResumableRun(std::shared_ptr<const TrainingSource> source, std::string folder,
               RunWatcher& watcher);

  std::string name() const override { return source_->name(); }
  std::string scenario() const override { return source_->scenario(); }
  uint64_t fingerprint() const override { return source_->fingerprint(); }
  int decisions() const override { return source_->decisions(); }
  bool offers(const JobState& state, const ChangeAtRate& change) const override {
    return source_->offers(state, change);
  }
  const std::vector<double>& rates() const override { return source_->rates(); }
  bool deterministic() const override { return source_->deterministic(); }
  /// The run. InputError for another seed than the folder's.
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override;

  /// The run where it stopped: at each decision, then at its end.
  std::vector<std::unique_ptr<RealJob>> stops() const;

 private:
  class Job;

  std::string stop_file(size_t decisions) const;
  /// Trains to the next stop, or loads it.
  std::unique_ptr<RealJob> to_stop(std::unique_ptr<RealJob> job) const;
  /// Null where there is no such file, or it has another number of decisions.
  std::unique_ptr<RealJob> load(const std::string& file, const RealJob& wanted) const;

  std::shared_ptr<const TrainingSource> source_;
  std::string folder_;
  RunWatcher& watcher_;
};

}  // namespace reverie
