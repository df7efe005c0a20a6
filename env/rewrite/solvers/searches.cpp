#include "env/rewrite/search/search.h"
#include "env/solver.h"

namespace reverie {
namespace {

constexpr char kRewrite[] = "rewrite";

const bool kRegistered =
    register_solver<AlgorithmSolver<search::RuleLists>>(
        SearchText{.name = "rulelist",
                   .what = "random orders of the rules",
                   .budget_unit = "orders",
                   .usual_budget = 50,
                   .draws = true,
                   .environment = kRewrite}) &&
    register_solver<AlgorithmSolver<search::Saturation>>(
        SearchText{.name = "saturation_greedy",
                   .what = "an e-graph of all rewrites; the best graph that descent finds in it",
                   .section = "saturation",
                   .environment = kRewrite}) &&
    register_solver<AlgorithmSolver<search::Saturation>>(
        SearchText{.name = "saturation_ilp",
                   .what = "the same; the best graph by an integer linear program",
                   .section = "saturation",
                   .environment = kRewrite},
        [](search::Saturation& saturation) { saturation.solve = true; });

}  // namespace
}  // namespace reverie
