#include "tests/env/conformance.h"

#include "env/selected_starts.h"
#include "env/toy/toy_environment.h"
#include "tests/support/counting_environment.h"

namespace reverie::testing {
namespace {

std::unique_ptr<Environment> toy(int blocks, int start_states, int horizon = 0,
                                 bool regions = false) {
  return std::make_unique<ToyEnvironment>(ToyConfig{
      .blocks = blocks, .start_states = start_states, .horizon = horizon, .regions = regions});
}

INSTANTIATE_TEST_SUITE_P(
    Small, EnvironmentConformance,
    ::testing::Values(
        EnvironmentCase{"toy", [] { return toy(3, 4); }},
        EnvironmentCase{"toy_of_one_block", [] { return toy(1, 1); }},
        EnvironmentCase{"toy_of_many_blocks", [] { return toy(40, 64, 50); }},
        EnvironmentCase{"toy_of_regions", [] { return toy(3, 4, 0, true); }},
        EnvironmentCase{"toy_of_one_block_and_two_regions", [] { return toy(1, 1, 0, true); }},
        EnvironmentCase{"toy_of_many_regions", [] { return toy(40, 64, 50, true); }},
        EnvironmentCase{"toy_from_some_starts", [] { return select_starts(toy(3, 16), {11, 2, 5}); }},
        EnvironmentCase{"counting", [] { return std::make_unique<CountingEnvironment>(); }},
        EnvironmentCase{"explicit_lists",
                        [] { return std::make_unique<CountingEnvironment>(9, true, 3); }}),
    environment_case_name);

}  // namespace
}  // namespace reverie::testing
