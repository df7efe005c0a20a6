#include "worldmodel/batch/episode_source.h"

#include <algorithm>

namespace reverie {

std::vector<int> EpisodeSource::episodes_in(Split wanted) const {
  std::vector<int> result;
  for (int i = 0; i < static_cast<int>(episodes().size()); ++i)
    if (split(i) == wanted) result.push_back(i);
  return result;
}

std::vector<int> EpisodeSource::states_in(Split wanted) const {
  std::vector<int> result;
  for (const int episode : episodes_in(wanted)) {
    for (const Transition& step : episodes()[episode].steps) result.push_back(step.state);
    result.push_back(episodes()[episode].final_state);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

Split EpisodeSource::judging_split() const {
  return episodes_in(Split::kValidation).empty() ? Split::kTrain : Split::kValidation;
}

}  // namespace reverie
