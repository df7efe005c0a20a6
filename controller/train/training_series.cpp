#include "controller/train/training_series.h"

#include "controller/train/counters.h"
#include "core/base/files.h"

namespace reverie {

TrainingSeries::TrainingSeries(std::string directory, std::string part, bool resume)
    : directory_(std::move(directory)), part_(std::move(part)) {
  const std::string metrics = directory_ + "/metrics.jsonl";
  if (resume && file_exists(metrics)) rows_there_ = read_metrics(metrics).size();
}

void TrainingSeries::add(const TrainingResult& result, const std::string& where) {
  ++parts_;
  add_rows(where);
  if (parts_ == 1 || result.best.above(best_.best)) {
    best_ = result;
    best_.best_update += updates_;
    best_where_ = where;
  }
  if (rows_.size() >= rows_there_) write();
  updates_ += result.updates;
  seconds_ += result.seconds;
  training_ += result.training;
  validation_ += result.validation;
  computed_steps_ += result.computed_steps;
}

void TrainingSeries::write() const {
  MetricsWriter metrics(directory_);
  for (const auto& [step, row] : rows_) metrics.write(step, row);
  write_file(directory_ + "/policy.pt", read_file(best_where_ + "/policy.pt"));
}

TrainingResult TrainingSeries::result() const {
  TrainingResult result = best_;
  result.updates = updates_;
  result.seconds = seconds_;
  result.training = training_;
  result.validation = validation_;
  result.computed_steps = computed_steps_;
  return result;
}

void TrainingSeries::add_rows(const std::string& where) {
  for (const MetricsRow& row : read_metrics(where + "/metrics.jsonl")) {
    Metrics kept = {{part_, static_cast<double>(parts_)}};
    for (const auto& [name, value] : row.values) kept.emplace_back(name, value + before(name));
    rows_.emplace_back(updates_ + row.step, std::move(kept));
  }
}

/// What a counter among the metrics stood at before this part; of others 0.
double TrainingSeries::before(const std::string& counter) const {
  if (counter == "computed_steps") return static_cast<double>(computed_steps_);
  for (const auto& [field, member] : kCounterFields) {
    if (counter == std::string("training_") + field) return static_cast<double>(training_.*member);
    if (counter == std::string("validation_") + field)
      return static_cast<double>(validation_.*member);
  }
  return 0;
}

}  // namespace reverie
