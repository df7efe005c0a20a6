#include "datasets/episode.h"

namespace reverie {

double Episode::improvement_percent(const EnvSpec& spec) const {
  double best = spec.worst();
  for (size_t state = 0; state < objective.size(); ++state)
    if (feasible_at(state) && spec.better(objective[state], best)) best = objective[state];
  return spec.improvement_percent(objective.front(), best);
}

}  // namespace reverie
