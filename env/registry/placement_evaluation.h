#pragma once

#include <memory>
#include <string>
#include <vector>

#include "env/placement/placement_environment.h"
#include "env/registry/registry.h"

namespace reverie {

/// A placement to be run in order.
struct PlacementSolution : Solution {
  explicit PlacementSolution(Placement one) : placement(std::move(one)) {}
  Placement placement;
};

/// One case for each graph. Baselines: the methods of `reverie place` that learn nothing, each with
/// so many evaluations, on the graphs as they were before groups were joined (`whole`, by start
/// state). Solutions are placements, written as JSON to "placements" below the report.
std::unique_ptr<EvaluationCases> placement_cases(std::unique_ptr<PlacementEnvironment> environment,
                                                 std::vector<CostGraph> whole,
                                                 const PlacementEvaluationConfig& how,
                                                 std::vector<std::string> warnings);

}  // namespace reverie
