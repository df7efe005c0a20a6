#include "env/known_dynamics.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {

std::vector<size_t> learned_places(const EnvSpec& spec) {
  std::vector<size_t> places;
  const auto graph = spec.targets.begin() + spec.target_count(TargetLevel::kNode);
  for (const std::string& name : spec.learned) {
    const auto found = std::ranges::find(graph, spec.targets.end(), name, &Target::name);
    REVERIE_CHECK(found != spec.targets.end(), "'{}' is learned, but no target of graphs", name);
    places.push_back(static_cast<size_t>(found - graph));
  }
  return places;
}

std::vector<float> learned_of(const EnvSpec& spec, const GraphFeatures& graph) {
  std::vector<float> values;
  for (const size_t place : learned_places(spec)) values.push_back(graph.graph_targets.at(place));
  return values;
}

}  // namespace reverie
