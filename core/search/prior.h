#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/parallel.h"
#include "core/search/problem.h"

namespace reverie {

/// A state to ask about, and how it was reached.
struct Arrival {
  const Problem* state = nullptr;
  int depth = 0;                     ///< moves since the start
  std::shared_ptr<const void> from;  ///< Advice::memory of the state before; null at the start
  Move move;                         ///< that led here from there
};

struct AdvisedMove {
  Move move;
  double log_prior = 0;  ///< log-probability
};

struct Advice {
  std::vector<AdvisedMove> moves;      ///< those worth a try, the likeliest first
  std::shared_ptr<const void> memory;  ///< what the prior wants to be given at the next states
};

/// Says which moves of a state are likely to lead to good ones: what a search may be guided by.
class MovePrior {
 public:
  virtual ~MovePrior() = default;
  /// In one batch; all are starts or none is. `pool` may be null.
  virtual std::vector<Advice> look(std::span<const Arrival> arrivals, WorkerPool* pool) const = 0;
};

}  // namespace reverie
