#include "controller/train/dream_train.h"

#include <cmath>
#include <optional>

#include "controller/train/counters.h"
#include "core/base/files.h"
#include "core/base/run_time.h"
#include "core/base/statistics.h"

namespace reverie {
namespace {

/// Before the names of the best validation's metrics among a checkpoint's scores.
const std::string kBest = "best/";

void put_score(Checkpoint& checkpoint, const std::string& prefix, const ValidationScore& score) {
  checkpoint.scores[prefix + "found"] = score.found;
  checkpoint.scores[prefix + "score"] = score.average;
  for (size_t i = 0; i < score.repeats.size(); ++i)
    checkpoint.scores[fmt::format("{}repeat/{}", prefix, i)] = score.repeats[i];
}

ValidationScore get_score(const Checkpoint& checkpoint, const std::string& prefix) {
  ValidationScore score{
      checkpoint.scores.at(prefix + "found"), checkpoint.scores.at(prefix + "score"), {}};
  const auto repeat = [&] {
    return checkpoint.scores.find(fmt::format("{}repeat/{}", prefix, score.repeats.size()));
  };
  for (auto next = repeat(); next != checkpoint.scores.end(); next = repeat())
    score.repeats.push_back(next->second);
  return score;
}

/// A training run under way.
class PolicyTraining {
 public:
  PolicyTraining(LatentEnvironment& environment, const PolicyJudge& judge, const TrainingRun& run)
      : environment_(environment),
        judge_(judge),
        run_(run),
        time_(run.directory, run.seconds_before),
        policy_seed_(run.initial ? policy_seed(*run.initial) : run.seed),
        trainer_(make_trainer(environment.spec(), run.trainer, policy_seed_, run.world)) {
    trainer_->to_device(run.device);
    const Shares shares = {run.plan.chunks, run.processes};
    shares.require_even();
    if (shares.chunks > 1) trainer_->share(shares);
  }

  TrainingResult train() {
    const bool resumed = restore();
    processes().meet();  // nothing is written before all have read it
    std::optional<MetricsWriter> metrics;
    if (processes().is_first()) metrics.emplace(run_.directory, result_.updates);
    Progress progress("train " + trainer_->name(), run_.plan.updates, "updates", run_.progress);
    progress.start_at(result_.updates);
    if (!resumed) start_from(metrics, progress);
    while (result_.updates < run_.plan.updates) {
      const Metrics update = one_update();
      const int64_t done = result_.updates;
      progress.update(done,
                      fmt::format("return {:.2f}, best for real {}", update[0].second, best()));
      if (done % run_.plan.validate_every == 0 || done == run_.plan.updates)
        validate(metrics, update, progress);
      else if (metrics)
        metrics->write(done, update);
      if (one_has_to_stop() && done < run_.plan.updates) stop();
    }
    save_policy("last.pt");
    result_.seconds = time_.seconds();
    return result_;
  }

 private:
  std::string training_path() const { return run_.directory + "/training.pt"; }

  const Processes& processes() const { return run_.processes; }

  /// Several processes stop after the same update.
  bool one_has_to_stop() const {
    const auto own = torch::tensor({run_.plan.stop.requested() ? 1.0 : 0.0}).unsqueeze(0);
    return processes().gather(own).any().item<bool>();
  }

  void start_from(std::optional<MetricsWriter>& metrics, Progress& progress) {
    const Metrics imitation = begin();
    if (run_.plan.validate_start || run_.plan.updates == 0)
      validate(metrics, imitation, progress);
    else if (metrics && !imitation.empty())
      metrics->write(0, imitation);
  }

  [[noreturn]] void stop() {
    Metrics unused;
    if (processes().is_first()) count(unused);
    save_training();
    throw Interrupted("{}: interrupted after {} of {} updates; --resume goes on from there",
                      training_path(), result_.updates, run_.plan.updates);
  }

  std::string best() const {
    return std::isfinite(result_.best.found) ? fmt::format("{:.2f}", result_.best.found)
                                             : "unknown";
  }

  Metrics begin() {
    if (run_.initial) trainer_->restore_policy(*run_.initial);
    if (!run_.demonstrations) return {};
    Metrics metrics = trainer_->imitate(*run_.demonstrations, run_.clone, Rng(run_.seed).bits());
    for (auto& [name, value] : metrics) name = "clone/" + name;
    return metrics;
  }

  Metrics one_update() {
    const double progress =
        static_cast<double>(result_.updates) / static_cast<double>(run_.plan.updates);
    const uint64_t seed = Rng(run_.seed).fork(static_cast<uint64_t>(result_.updates) + 1).bits();
    ++result_.updates;
    return trainer_->update(environment_, progress, seed);
  }

  /// The first process does; the others wait.
  void validate(std::optional<MetricsWriter>& metrics, Metrics row, Progress& progress) {
    if (metrics) validate_for_real(*metrics, std::move(row), progress);
    processes().meet();
  }

  void validate_for_real(MetricsWriter& metrics, Metrics row, Progress& progress) {
    const Validation validation = judge_.validate(trainer_->policy(), result_.updates);
    row.emplace_back("real/found", validation.score.found);
    row.emplace_back("real/score", validation.score.average);
    for (const auto& [name, value] : validation.metrics) row.emplace_back("real/" + name, value);
    count(row);
    metrics.write(result_.updates, row);
    result_.last = validation.score;
    if (validation.score.above(result_.best)) {
      result_.best = validation.score;
      result_.best_update = result_.updates;
      result_.best_metrics = validation.metrics;
      save_policy("policy.pt");
    }
    progress.say(fmt::format("after {} updates: {:.3f} for real, best {:.3f}", result_.updates,
                             validation.score.found, result_.best.found));
    save_training();
  }

  void count(Metrics& row) {
    result_.training = training_before_;
    result_.training += environment_.counters();
    result_.computed_steps = computed_before_ + environment_.computed_steps();
    result_.validation = validation_before_;
    result_.validation += judge_.counters();
    const auto put = [&](const std::string& name, int64_t value) {
      row.emplace_back(name, static_cast<double>(value));
    };
    if (result_.computed_steps > 0) put("computed_steps", result_.computed_steps);
    for (const auto& [name, field] : kCounterFields) {
      put(std::string("training_") + name, result_.training.*field);
      put(std::string("validation_") + name, result_.validation.*field);
    }
  }

  Checkpoint checkpoint(const std::string& kind) const {
    Checkpoint checkpoint = run_.base;
    checkpoint.kind = kind;
    checkpoint.counters["update"] = result_.updates;
    checkpoint.counters["best_update"] = result_.best_update;
    put_score(checkpoint, "real_", result_.best);
    put_score(checkpoint, "last_", result_.last);
    for (const auto& [name, value] : result_.best_metrics) checkpoint.scores[kBest + name] = value;
    put_counters(checkpoint, "training_", result_.training);
    checkpoint.counters["computed_steps"] = result_.computed_steps;
    put_counters(checkpoint, "validation_", result_.validation);
    return checkpoint;
  }

  void save_policy(const char* name) const {
    if (!processes().is_first()) return;
    Checkpoint policy = checkpoint("policy");
    store_policy(policy, *trainer_, run_.trainer, policy_seed_);
    save_checkpoint(run_.directory + "/" + name, policy);
  }

  void save_training() const {
    if (!processes().is_first()) return;
    Checkpoint training = checkpoint("policy-training");
    training.tensors.clear();
    training.counters["origin"] = static_cast<int64_t>(run_.origin);
    trainer_->store(training);
    save_checkpoint(training_path(), training);
    time_.keep();
  }

  /// Whether there is something to go on from: without an update the run begins anew, to the same
  /// result.
  bool restore() {
    if (!run_.resume || !file_exists(training_path())) return false;
    with_context(training_path(), [&] {
      const Checkpoint training = load_checkpoint(training_path(), "policy-training");
      const auto origin = training.counters.find("origin");  // earlier files have none
      if (origin == training.counters.end() || static_cast<uint64_t>(origin->second) != run_.origin)
        throw InputError(
            "belongs to a run on other rollouts, another world model or from another policy; "
            "give another --out");
      if (!training.scores.contains("last_found"))
        throw InputError("is of a program that kept policies by other scores; give another --out");
      result_.updates = training.counters.at("update");
      if (result_.updates == 0) return;
      trainer_->restore(training);
      result_.best_update = training.counters.at("best_update");
      result_.best = get_score(training, "real_");
      result_.last = get_score(training, "last_");
      for (const auto& [name, value] : training.scores)
        if (name.starts_with(kBest))
          result_.best_metrics.emplace_back(name.substr(kBest.size()), value);
      training_before_ = get_counters(training, "training_");
      const auto computed = training.counters.find("computed_steps");  // earlier files have none
      computed_before_ = computed == training.counters.end() ? 0 : computed->second;
      validation_before_ = get_counters(training, "validation_");
      time_.resume();
      result_.training = training_before_;
      result_.computed_steps = computed_before_;
      result_.validation = validation_before_;
    });
    return result_.updates > 0;
  }

  LatentEnvironment& environment_;
  const PolicyJudge& judge_;
  const TrainingRun& run_;
  RunTime time_;
  const uint64_t policy_seed_;  // that parts of the policy which do not learn are drawn with
  std::unique_ptr<Trainer> trainer_;
  EnvCounters training_before_, validation_before_;
  int64_t computed_before_ = 0;
  TrainingResult result_;
};

}  // namespace

bool ValidationScore::above(const ValidationScore& other) const {
  if (!repeats.empty() && repeats.size() == other.repeats.size())
    return paired_difference({repeats}, {other.repeats}).low > 0;
  if (std::abs(found - other.found) > kSameFound) return found > other.found;
  return average > other.average;
}

TrainingResult train_policy(LatentEnvironment& environment, const PolicyJudge& judge,
                            const TrainingRun& run) {
  return PolicyTraining(environment, judge, run).train();
}

}  // namespace reverie
