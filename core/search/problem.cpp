#include "core/search/problem.h"

namespace reverie {

double Problem::change(const Move& move) const {
  const auto next = copy();
  return next->apply(move) ? next->cost() - cost() : 0;
}

}  // namespace reverie
