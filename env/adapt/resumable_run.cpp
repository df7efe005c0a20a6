#include "env/adapt/resumable_run.h"

#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie {

class ResumableRun::Job : public TrainingJob {
 public:
  Job(const ResumableRun& run, std::unique_ptr<RealJob> job) : run_(run), job_(std::move(job)) {}

  const JobState& state() const override { return job_->state(); }
  void decide(const std::optional<ChangeAtRate>& decision) override {
    if (!state().over) run_.watcher_.decides(state(), decision);
    job_->take(decision);
    job_ = run_.to_stop(std::move(job_));
  }
  std::unique_ptr<TrainingJob> copy() const override { return job_->copy(); }

 private:
  const ResumableRun& run_;
  std::unique_ptr<RealJob> job_;
};

ResumableRun::ResumableRun(std::shared_ptr<const TrainingSource> source, std::string folder,
                           RunWatcher& watcher)
    : source_(std::move(source)), folder_(std::move(folder)), watcher_(watcher) {}

std::string ResumableRun::stop_file(size_t decisions) const {
  return fmt::format("{}/stop-{}.job", folder_, decisions);
}

std::unique_ptr<TrainingJob> ResumableRun::start(uint64_t seed) const {
  return std::make_unique<Job>(*this, to_stop(source_->begin(seed)));
}

std::unique_ptr<RealJob> ResumableRun::to_stop(std::unique_ptr<RealJob> job) const {
  const std::string stop = stop_file(job->state().decisions.size()), epoch = folder_ + "/epoch.job";
  auto saved = load(stop, *job);
  const bool is_trained = saved != nullptr;
  if (is_trained) {
    job = std::move(saved);
  } else {
    if (auto unfinished = load(epoch, *job)) job = std::move(unfinished);
    with_context(scenario(), [&] {
      job->go_on([&](const RealJob& now) {
        now.save(epoch);
        watcher_.trained(now.state());
      });
    });
    job->save(stop);
  }
  std::error_code ignored;
  if (!is_trained || job->state().over) std::filesystem::remove(epoch, ignored);
  return job;
}

std::unique_ptr<RealJob> ResumableRun::load(const std::string& file, const RealJob& wanted) const {
  if (!file_exists(file)) return nullptr;
  auto job = source_->load(file);
  const auto& then = job->state().decisions;
  const auto& now = wanted.state().decisions;
  if (then.size() != now.size()) return nullptr;
  if (job->seed() != wanted.seed())
    throw InputError("{}: is of seed {}, this run has seed {}: give that, or begin again", file,
                     job->seed(), wanted.seed());
  for (size_t i = 0; i < then.size(); ++i)
    if (then[i] != now[i])
      throw InputError("{}: decision {} was another one when this was saved: begin again", file,
                       i + 1);
  return job;
}

std::vector<std::unique_ptr<RealJob>> ResumableRun::stops() const {
  std::vector<std::unique_ptr<RealJob>> all;
  while (file_exists(stop_file(all.size()))) all.push_back(source_->load(stop_file(all.size())));
  return all;
}

}  // namespace reverie
