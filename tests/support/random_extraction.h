#pragma once

#include <algorithm>
#include <optional>

#include "core/base/random.h"
#include "env/rewrite/search/egraph/extraction.h"

namespace reverie::testing {

/// A small problem with shared inputs, nodes with several outputs, nodes for free, and cycles. Some
/// have no solution.
inline ExtractionProblem random_extraction(uint64_t seed) {
  Rng rng(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(rng.below(static_cast<uint64_t>(bound)));
  };
  ExtractionProblem problem;
  const int classes = 3 + below(6);
  const int nodes = classes + below(8);
  problem.members.resize(static_cast<size_t>(classes));
  for (int i = 0; i < nodes; ++i) {
    ExtractionProblem::Node node;
    node.cost = below(10);
    node.outputs = {i < classes ? i : below(classes)};
    if (below(4) == 0) node.outputs.push_back(below(classes));
    // Mostly from later classes, so that many problems have no cycle and most a solution.
    for (int n = below(3); n > 0; --n)
      if (const int first = node.outputs[0] + 1; below(5) == 0 || first < classes)
        node.inputs.push_back(first < classes && below(5) > 0 ? first + below(classes - first)
                                                              : below(classes));
    for (std::vector<int>* list : {&node.inputs, &node.outputs}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    for (const int output : node.outputs) problem.members[static_cast<size_t>(output)].push_back(i);
    problem.nodes.push_back(std::move(node));
  }
  problem.roots = {0};
  if (below(2) == 0) problem.roots.push_back(classes - 1);
  return problem;
}

/// The least cost of all selections, by trying every one.
inline std::optional<int64_t> least_cost(const ExtractionProblem& problem) {
  Follower follower(problem);
  std::optional<int64_t> least;
  Selection selection(problem.members.size());
  const auto choose = [&](const auto& self, size_t next) -> void {
    if (next == selection.size()) {
      const auto cost = follower.cost(selection);
      if (cost && (!least || *cost < *least)) least = cost;
      return;
    }
    selection[next] = -1;
    if (problem.members[next].empty()) self(self, next + 1);
    for (const int member : problem.members[next]) {
      selection[next] = member;
      self(self, next + 1);
    }
  };
  choose(choose, 0);
  return least;
}

}  // namespace reverie::testing
