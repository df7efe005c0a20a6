#pragma once

#include <limits>

#include "core/search/search_run.h"

namespace reverie {

/// Best-first search: the cheapest state of a queue is expanded, its successors enter; ties go to
/// the older one.
struct BestFirst {
  int64_t budget = 0;  ///< expansions
  /// A successor enters when it costs less than alpha times the best so far, and at most `bound`
  /// times the start.
  double alpha = std::numeric_limits<double>::infinity();
  double bound = std::numeric_limits<double>::infinity();
  /// A state that was reached before, however, is not expanded again, nor is one that costs more
  /// than alpha times the best when its turn comes.
  bool expand_once = true;
  /// Expanded states whose successors wait, at most; beyond, the dearest successors leave the
  /// queue. So many of the last snapshots are kept to be known again; earlier ones are by their
  /// hashes alone.
  int64_t states = std::numeric_limits<int64_t>::max();
};

struct BestFirstEnd {
  bool exhausted = false;  ///< the queue is empty
  bool dropped = false;    ///< a successor was dropped for its cost, or where the queue was full
};

/// Several threads look ahead: while one expands the state whose turn it is, the others expand
/// those that are next in the queue as it stands, for when their turn comes. Order, result and
/// counters are those of one thread; the gain is smallest where each state's best successor is the
/// next in turn, as on a descent.
BestFirstEnd search_best_first(SearchRun& run, const BestFirst& how);

}  // namespace reverie
