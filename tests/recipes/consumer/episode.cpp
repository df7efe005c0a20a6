// What needs no LibTorch: an episode of an environment that the library brings.
#include <fmt/format.h>
#include <reverie/env.h>

int main() {
  const auto config =
      reverie::environment_from("{kind: placement, inputs: [generate:layers:100:1]}");
  const auto environment = reverie::make_environment(config).environment;
  reverie::Rng rng(/*seed=*/1);
  environment->reset(/*seed=*/0);
  for (bool over = false; !over;) {
    const auto action = environment->mask().choice(static_cast<int>(rng.below(2)), 0);
    const reverie::StepResult result = environment->step(action);
    over = result.terminated || result.truncated;
  }
  fmt::print("{}\n", environment->describe());
}
