#pragma once

#include <string>
#include <utility>
#include <vector>

#include "controller/train/dream_train.h"

namespace reverie {

/// Trainings that follow on each other, told as one: with the policy of the one whose validation
/// was best, and the updates, the real work and the time of all.
class TrainingSeries {
 public:
  /// Writes to `directory`, which exists. `part` names what follows on each other in the rows of
  /// metrics.jsonl. A series that is resumed leaves the files as they are until it has come as far
  /// as they tell.
  TrainingSeries(std::string directory, std::string part, bool resume);

  /// Adds a training that is in `where`: its rows to metrics.jsonl, counted on. Where its score is
  /// above all before, its policy.pt becomes that of the series.
  void add(const TrainingResult& result, const std::string& where);

  /// Where the best of those added is.
  const std::string& best() const { return best_where_; }
  const ValidationScore& best_score() const { return best_.best; }

  /// Real work of learning that was done between trainings.
  void add_training(const EnvCounters& counters) { training_ += counters; }

  /// That of the best, but for what counts all; its best update counts from the first update of
  /// all.
  TrainingResult result() const;

 private:
  void add_rows(const std::string& where);
  double before(const std::string& counter) const;
  void write() const;

  std::string directory_, part_;
  std::string best_where_;
  TrainingResult best_;
  size_t rows_there_ = 0;  // in the files of a series that is resumed
  std::vector<std::pair<int64_t, Metrics>> rows_;
  int64_t parts_ = 0, updates_ = 0, computed_steps_ = 0;
  double seconds_ = 0;
  EnvCounters training_, validation_;
};

}  // namespace reverie
