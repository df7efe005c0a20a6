#include "core/search/search.h"

namespace reverie {

std::span<const NamedMethod> search_methods() {
  static const std::vector<NamedMethod> methods = {
      {"greedy", greedy_search},
      {"taso", taso_search},
      {"taso_published", taso_published_search},
      {"beam", beam_search},
      {"mcts", mcts_search},
      {"annealing", annealing_search},
      {"softmax", softmax_search},
      {"rulelist", rule_list_search},
      {"rulelist_cmaes", rule_list_cmaes_search},
      {"random", random_search},
      {"exhaustive", exhaustive_search},
      {"saturation_greedy", saturation_greedy_search},
      {"saturation_ilp", saturation_ilp_search}};
  return methods;
}

}  // namespace reverie
