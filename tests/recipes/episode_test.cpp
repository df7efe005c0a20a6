#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "env/kind.h"

namespace reverie {
namespace {

/// What README.md shows under "From C++": the metrics that its episode ends with.
StepInfo play() {
  const auto config = environment_from("{kind: placement, inputs: [generate:layers:100:1]}");
  const auto environment = make_environment(config).environment;
  Rng rng(/*seed=*/1);
  environment->reset(/*seed=*/0);
  for (bool over = false; !over;) {
    const ActionMask mask = environment->mask();  // what each action can do to each entity
    const Action action = mask.choice(static_cast<int>(rng.below(2)), 0);  // on either GPU
    const StepResult result = environment->step(action);
    over = result.terminated || result.truncated;
  }
  return environment->info();
}

TEST(ReadmeExample, PlacesEveryGroupOnOneOfTwoGpus) {
  const StepInfo end = play();
  EXPECT_TRUE(end.feasible);
  EXPECT_GT(end.metrics.front(), end.best) << "at random it takes longer than on one GPU";
}

}  // namespace
}  // namespace reverie
