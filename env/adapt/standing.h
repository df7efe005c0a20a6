#pragma once

#include "env/adapt/table.h"

namespace reverie {

/// How a sequence of decisions stands among all that a table has. Accuracies in percent, of a
/// sequence the mean over its runs.
struct Standing {
  double accuracy = 0;
  double best = 0;
  double mean = 0;  ///< of all sequences: what a random one gets
  int rank = 0;     ///< 1 and how many are better
  int sequences = 0;
};

/// InputError where the table does not have the sequence. The accuracy of a run is the mean of its
/// last `final_epochs`, those before the first decision included where there are too few.
Standing standing(const AdaptTable& table, const Decisions& decisions, int final_epochs);

}  // namespace reverie
