#include "env/adapt/standing.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "env/adapt/features.h"

namespace reverie {
namespace {

double accuracy_of(const AdaptTable& table, const RecordedSequence& sequence, int final_epochs) {
  std::vector<double> accuracies;
  for (const RecordedRun& run : sequence.runs) {
    std::vector<EpochRecord> curve = table.curve;
    curve.insert(curve.end(), run.curve.begin(), run.curve.end());
    accuracies.push_back(100 * mean_accuracy(curve, final_epochs));
  }
  return mean(accuracies);
}

}  // namespace

Standing standing(const AdaptTable& table, const Decisions& decisions, int final_epochs) {
  const auto found = std::ranges::find(table.sequences, decisions, &RecordedSequence::decisions);
  if (found == table.sequences.end())
    throw InputError("scenario '{}': this sequence of decisions was not recorded", table.scenario);
  std::vector<double> all;
  for (const RecordedSequence& sequence : table.sequences)
    all.push_back(accuracy_of(table, sequence, final_epochs));
  const double own = all[static_cast<size_t>(found - table.sequences.begin())];
  return {.accuracy = own,
          .best = std::ranges::max(all),
          .mean = mean(all),
          .rank = 1 + static_cast<int>(
                          std::ranges::count_if(all, [&](double other) { return other > own; })),
          .sequences = static_cast<int>(all.size())};
}

}  // namespace reverie
