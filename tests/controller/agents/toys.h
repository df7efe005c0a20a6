#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "controller/agents/learner.h"
#include "tests/env/placement/placements.h"

namespace reverie::testing {

/// A graph on two equal devices, and its shortest makespan.
struct Toy {
  std::string name;
  CostGraph graph;
  Topology topology = ideal_devices(2, "d");
  int64_t optimum;
};

/// What node `from` sends to `to` takes so long.
inline CostTensor sent(int from, int to, int64_t time) {
  return {.producer = from, .bytes = time, .transfer = {time}, .readers = {to}};
}

/// Two chains that would run side by side, but for what they send each other: all belongs on one
/// device.
inline Toy dear_transfers() {
  std::vector<CostTensor> tensors;
  for (int node = 0; node + 2 < 8; ++node) {
    tensors.push_back(sent(node, node + 2, 100));
    if (node % 2 == 0) tensors.push_back(sent(node, node + 3, 100));
  }
  return {"dear transfers", graph_of(std::vector<int64_t>(8, 10), tensors), ideal_devices(2, "d"),
          80};
}

/// Two chains of four nodes, which take turns in the order of the nodes, of an operator each: each
/// belongs on a device of its own.
inline Toy two_chains() {
  std::vector<CostNode> nodes;
  std::vector<CostTensor> tensors;
  for (int node = 0; node < 8; ++node) {
    nodes.push_back({.name = fmt::format("n{}", node), .op = node % 2 == 0 ? "left" : "right"});
    if (node + 2 < 8) tensors.push_back(sent(node, node + 2, 10));
  }
  const std::vector<Picoseconds> costs(nodes.size(), {10});
  return {"two chains", CostGraph("chains", {"d"}, nodes, costs, tensors), ideal_devices(2, "d"),
          40};
}

/// The makespan of what a new learner holds best after so many evaluations of a toy.
inline int64_t makespan_learned(const LearnerKind& kind, const Toy& toy, int64_t evaluations,
                                uint64_t seed) {
  const auto learner = kind.make(2, seed);
  Evaluator evaluator(toy.graph, toy.topology, PlacementObjective::kMakespan,
                      {.evaluations = evaluations});
  Evaluator* const one[] = {&evaluator};
  learner->learn(one);
  Evaluator judge(toy.graph, toy.topology, PlacementObjective::kMakespan, {.evaluations = 1});
  learner->place(judge);
  return judge.best_outcome().makespan.count;
}

}  // namespace reverie::testing
