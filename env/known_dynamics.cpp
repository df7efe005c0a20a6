#include "env/known_dynamics.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

class ComputedDynamics : public KnownDynamics {
 public:
  explicit ComputedDynamics(std::unique_ptr<Environment> environment)
      : environment_(std::move(environment)) {}

  const EnvSpec& spec() const override { return environment_->spec(); }
  KnownStep step(const Action& action) override {
    const StepResult result = environment_->step(action);
    return {result.terminated, result.truncated, result.reward};
  }
  ActionMask mask() const override { return environment_->mask(); }
  Observation observe() const override { return environment_->observe(); }
  void tell(std::span<const float> learned) override { REVERIE_CHECK(learned.empty()); }
  std::unique_ptr<KnownDynamics> fork() const override {
    return computed_dynamics(environment_->fork());
  }

 private:
  std::unique_ptr<Environment> environment_;
};

}  // namespace

std::unique_ptr<KnownDynamics> computed_dynamics(std::unique_ptr<Environment> environment) {
  return std::make_unique<ComputedDynamics>(std::move(environment));
}

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
