#include "core/search/algorithms.h"
#include "env/solver.h"

namespace reverie {
namespace {

template <class Algorithm>
bool add(SearchText text, void (*adjust)(Algorithm&) = nullptr) {
  return register_solver<AlgorithmSolver<Algorithm>>(std::move(text), adjust);
}

const bool kRegistered =
    add<search::Greedy>({.name = "greedy", .what = "the largest gain, until there is none"}) &&
    add<search::Taso>(
        {.name = "taso",
         .what = "backtracking search of TASO (Jia et al., SOSP 2019), no state twice",
         .budget_unit = "expansions",
         .usual_budget = 100}) &&
    add<search::Taso>({.name = "taso_published",
                       .what = "the same as published, duplicates expanded again",
                       .budget_unit = "expansions",
                       .usual_budget = 100,
                       .section = "taso"},
                      [](search::Taso& taso) { taso.published = true; }) &&
    add<search::Beam>({.name = "beam",
                       .what = "the cheapest distinct states of each depth",
                       .budget_unit = "expansions",
                       .usual_budget = 100}) &&
    add<search::Mcts>({.name = "mcts",
                       .what = "UCT with greedy rollouts and transpositions",
                       .budget_unit = "rollouts",
                       .usual_budget = 100,
                       .draws = true}) &&
    add<search::Annealing>({.name = "annealing",
                            .what = "simulated annealing with restarts",
                            .budget_unit = "chains",
                            .usual_budget = 10,
                            .draws = true}) &&
    add<search::Exhaustive>(
        {.name = "exhaustive", .what = "every state; says `optimal` when it saw all"}) &&
    add<search::RandomWalks>(
        {.name = "random", .what = "random walks", .budget_unit = "walks", .draws = true});

}  // namespace
}  // namespace reverie
