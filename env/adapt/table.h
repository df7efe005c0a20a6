#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "env/adapt/job.h"

namespace reverie {

/// Where a recorded job stood, at a decision or at its end.
struct JobStop {
  int epochs = 0;  ///< of the run's curve, those before the first decision not counted
  double spent = 0, throughput = 1, epoch_share = 0;  ///< as JobState
  bool operator==(const JobStop&) const = default;
};

/// A training that was recorded, from the first decision on.
struct RecordedRun {
  uint64_t seed = 0;
  std::vector<EpochRecord> curve;
  std::vector<JobStop> stops;  ///< after each decision; the last is the end
  bool operator==(const RecordedRun&) const = default;
};

/// What became of a sequence of decisions.
struct RecordedSequence {
  Decisions decisions;
  std::vector<RecordedRun> runs;
  bool operator==(const RecordedSequence&) const = default;
};

/// Recorded outcomes of one scenario.
struct AdaptTable {
  std::string scenario;
  Network network;                 ///< at the first decision
  std::string budget;              ///< for a person: "400 s on one GPU"
  std::vector<double> rates;       ///< ascending
  int decisions = 0;               ///< of a job at most: its budget may end before
  int final_epochs = 3;            ///< the result is the mean accuracy of so many last epochs
  std::vector<EpochRecord> curve;  ///< before the first decision
  JobStop start;                   ///< at the first decision; `epochs` is 0
  std::vector<RecordedSequence> sequences;
  bool operator==(const AdaptTable&) const = default;

  /// Whether the budget is one of seconds: nobody knows beforehand how many epochs it holds.
  bool timed() const;
  /// Adds a run, to its sequence where there is one: `states` of the job at the first decision
  /// (which sets the start of an empty table) and after each decision, the last when it is over.
  /// InputError where it begins in another state than those before.
  void add(uint64_t seed, std::span<const JobState> states);
  /// Adds the runs of another table of the scenario whose seeds its sequences lack. InputError
  /// where it is another scenario, or begins in another state.
  void join(const AdaptTable& other);
};

/// Reads the own format or the published one (env/adapt/published_table.h). InputError with the
/// file, the place and what is wrong, also of what `table_source` refuses.
AdaptTable read_table(const std::string& path);
/// As JSON, format "reverie-adapt/1": `network` as YAML text; `curve` and every run's `curve` a row
/// an epoch [accuracy, train accuracy, loss, spent]; `start` and `stops` rows [epochs, spent,
/// throughput, share of an epoch]; a decision is null (go on) or {"deepen": NAME, "rate": R}, by
/// the block's name.
void write_table(const std::string& path, const AdaptTable& table);

/// Jobs as they were recorded. What was not recorded is not offered.
///
/// At a decision a job stands where the first recorded sequence that begins with its decisions
/// stood; at its end that of its own sequence counts. Its network is what its decisions make of the
/// first, also where that of the recorded job went back. Of n runs of a sequence, in the order of
/// their seeds, seed s picks run mix64(s) mod n; so tables whose sequences have runs with the same
/// seeds show the same training throughout. Jobs of all seeds begin in the same state. Jobs are
/// foreseen where the table is not timed and all runs of a sequence stop alike. InputError
/// where rates are not ascending, a sequence is too long, is recorded twice, cannot be taken or
/// begins with a whole other one, a run does not fit it, or no sequence goes on without a change
/// from one of its decisions to an end: a job must be able to do that.
std::unique_ptr<JobSource> table_source(AdaptTable table);

}  // namespace reverie
