#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/search/search.h"

namespace reverie {

std::span<const NamedMethod> search_methods() {
  static const std::vector<NamedMethod> methods = {
      {"greedy", "the largest gain, until there is none", "", greedy_search},
      {"taso", "backtracking search of TASO (Jia et al., SOSP 2019), no state twice", "expansions",
       taso_search},
      {"taso_published", "the same as published, duplicates expanded again", "expansions",
       taso_published_search},
      {"beam", "the cheapest distinct states of each depth", "expansions", beam_search},
      {"mcts", "UCT with greedy rollouts and transpositions", "rollouts", mcts_search},
      {"annealing", "simulated annealing with restarts", "chains", annealing_search},
      {"softmax", "best of N samples by cost change", "samples", softmax_search},
      {"rulelist", "random orders of the rules", "orders", rule_list_search},
      {"rulelist_cmaes", "orders of the rules, tuned by CMA-ES", "orders", rule_list_cmaes_search},
      {"exhaustive", "every state; says `optimal` when it saw all", "", exhaustive_search},
      {"saturation_greedy", "an e-graph of all rewrites; the best graph that descent finds in it",
       "", saturation_greedy_search},
      {"saturation_ilp", "the same; the best graph by an integer linear program", "",
       saturation_ilp_search},
      {"random", "random walks", "walks", random_search}};
  return methods;
}

std::string budget_units() {
  std::vector<std::pair<std::string, std::string>> units;  // each with the methods it belongs to
  for (const NamedMethod& method : search_methods()) {
    if (method.budget_unit.empty()) continue;
    const auto same = [&](const auto& unit) { return unit.first == method.budget_unit; };
    const auto known = std::find_if(units.begin(), units.end(), same);
    if (known == units.end())
      units.emplace_back(method.budget_unit, method.name);
    else
      known->second += ", " + method.name;
  }
  std::string text;
  for (const auto& [unit, names] : units)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", unit, names);
  return text;
}

}  // namespace reverie
