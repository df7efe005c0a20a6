#include "env/placement/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "env/placement/brkga.h"
#include "env/placement/heuristics.h"
#include "env/placement/local_search.h"
#include "env/placement/ordered_placement.h"

namespace reverie {
namespace {

template <auto kHeuristic>
void once(Evaluator& evaluator, uint64_t) {
  evaluator.evaluate(kHeuristic(evaluator.simulator()), Dispatch::kInOrder);
}

constexpr double kReserves[] = {0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

template <auto kHeuristic>
void until_it_fits(Evaluator& evaluator, uint64_t) {
  for (const double reserve : kReserves)
    if (evaluator.evaluate(kHeuristic(evaluator.simulator(), reserve), Dispatch::kInOrder).feasible()) return;
}

void each_device(Evaluator& evaluator, uint64_t) {
  for (int device = 0; device < evaluator.topology().size(); ++device)
    evaluator.evaluate(on_one_device(evaluator.simulator(), device), Dispatch::kInOrder);
}

void random_placements(Evaluator& evaluator, uint64_t seed) {
  const PlacementEntities entities(evaluator.graph());
  const auto devices = static_cast<uint64_t>(evaluator.topology().size());
  Placement placement{{}, path_priorities(evaluator.simulator())};
  for (uint64_t i = 0; !evaluator.spent(); ++i) {
    Rng rng = Rng(seed).fork(i);
    std::vector<int> drawn;
    for (int entity = 0; entity < entities.size(); ++entity)
      drawn.push_back(static_cast<int>(rng.below(devices)));
    placement.device = entities.spread(drawn);
    evaluator.evaluate(placement);
  }
}

/// From the best of one device alone and HEFT.
void improve(Evaluator& evaluator, uint64_t seed) {
  each_device(evaluator, seed);
  until_it_fits<heft>(evaluator, seed);
  local_search(evaluator, Placement(evaluator.best()), Rng(seed));
}

void anneal_from_one_device(Evaluator& evaluator, uint64_t seed) {
  each_device(evaluator, seed);
  anneal(evaluator, Placement(evaluator.best()), Rng(seed));
}

}  // namespace

std::span<const PlaceMethod> place_methods() {
  static const std::vector<PlaceMethod> methods{
      {"one_device", "all on the best device", each_device, false},
      {"m_topo", "devices filled in topological order", once<m_topo>, false},
      {"etf", "the node that can start earliest", until_it_fits<etf>, false, 3000},
      {"heft", "the longest path first, where it ends earliest", until_it_fits<heft>, false},
      {"random", "the best of random devices", random_placements},
      {"local", "iterated local search from the best of one_device and heft", improve},
      {"brkga", "a genetic algorithm on random keys",
       [](Evaluator& evaluator, uint64_t seed) { brkga(evaluator, {}, {}, Rng(seed)); }},
      {"annealing", "simulated annealing from the best device", anneal_from_one_device},
  };
  return methods;
}

const PlaceMethod& place_method(std::span<const PlaceMethod> methods, const std::string& name) {
  const auto found = std::ranges::find(methods, name, &PlaceMethod::name);
  if (found != methods.end()) return *found;
  std::vector<std::string> names;
  for (const PlaceMethod& method : methods) names.push_back(method.name);
  throw InputError("no method '{}'; there are {}", name, fmt::join(names, ", "));
}

}  // namespace reverie
