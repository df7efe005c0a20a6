#include "tests/env/conformance.h"

#include "env/selected_starts.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "env/translated.h"
#include "tests/support/counting_environment.h"
#include "tests/support/renamed_environment.h"

namespace reverie::testing {
namespace {

std::unique_ptr<Environment> toy(int blocks, int start_states, int horizon = 0,
                                 bool entities = false) {
  return std::make_unique<ToyEnvironment>(ToyConfig{
      .blocks = blocks, .start_states = start_states, .horizon = horizon, .entities = entities});
}

std::unique_ptr<Environment> knapsack(int items, int start_states) {
  return std::make_unique<KnapsackEnvironment>(
      KnapsackConfig{.items = items, .start_states = start_states});
}

/// As one sees it who knows the names in another order, and no count above 1.
std::unique_ptr<Environment> translation(std::unique_ptr<Environment> environment) {
  EnvSpec known = reversed(environment->spec());
  known.max_choices = 1;
  return translated(std::move(environment), known);
}

INSTANTIATE_TEST_SUITE_P(
    Small, EnvironmentConformance,
    ::testing::Values(
        EnvironmentCase{"toy", [] { return toy(3, 4); }},
        EnvironmentCase{"toy_of_one_block", [] { return toy(1, 1); }},
        EnvironmentCase{"toy_of_many_blocks", [] { return toy(40, 64, 50); }},
        EnvironmentCase{"toy_of_entities", [] { return toy(3, 4, 0, true); }},
        EnvironmentCase{"toy_of_one_entity", [] { return toy(1, 1, 0, true); }},
        EnvironmentCase{"toy_of_many_entities", [] { return toy(80, 64, 50, true); }},
        EnvironmentCase{"toy_from_some_starts",
                        [] {
                          return select_starts(toy(3, 16), {11, 2, 5});
                        }},
        EnvironmentCase{"toy_translated", [] { return translation(toy(3, 4)); }},
        EnvironmentCase{"toy_of_entities_translated",
                        [] { return translation(toy(3, 4, 0, true)); }},
        EnvironmentCase{"knapsack", [] { return knapsack(4, 3); }},
        EnvironmentCase{"knapsack_of_one_item", [] { return knapsack(1, 8); }},
        EnvironmentCase{"knapsack_from_some_starts",
                        [] {
                          return select_starts(knapsack(3, 4), {3, 1});
                        }},
        EnvironmentCase{"knapsack_translated", [] { return translation(knapsack(4, 2)); }},
        EnvironmentCase{"counting", [] { return std::make_unique<CountingEnvironment>(9, 3); }}),
    environment_case_name);

}  // namespace
}  // namespace reverie::testing
