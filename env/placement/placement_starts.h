#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/environment.h"
#include "env/placement/graph/cost_graph.h"
#include "env/placement/graph/topology.h"
#include "env/placement/placement_config.h"
#include "env/placement/placement_features.h"
#include "env/placement/placement_visits.h"
#include "env/placement/simulator/fusing_simulator.h"
#include "env/placement/simulator/measure_schedule.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {

/// A graph to be placed. Its colocation groups, and its nodes without one, are what is placed.
struct PlacementStart {
  std::string name;
  CostGraph graph;
  MeasureSchedule measure = {};  ///< where makespans are measured
};

/// A start with what all episodes from it share.
struct PreparedStart {
  PreparedStart(PlacementStart start, const Topology& topology, const PlacementEnvConfig& config);

  std::string name;
  CostGraph graph;
  MeasureSchedule measure;  ///< empty where makespans are simulated
  FusingSimulator simulator;
  PlacementEntities entities;
  std::vector<int64_t> ranks;
  std::vector<int> fusible;  ///< by entity: a kernel reads from one of its kernels
  int best_device = 0;
  Outcome simulated;  ///< of all on the best device
  Timeline schedule;  ///< the same
  Outcome judged;     ///< the same, with the makespan that counts
  PlacementVisits visits;
  std::optional<PlacementFeatures> features;
};

/// The starts of a PlacementEnvironment, and what it looks like from outside.
struct PlacementStarts {
  /// InputError as PlacementEnvironment.
  PlacementStarts(std::vector<PlacementStart> all, Topology topology,
                  const PlacementEnvConfig& config);

  Topology topology;
  PlacementEnvConfig config;
  std::vector<std::unique_ptr<PreparedStart>> starts;
  EnvSpec spec;
};

}  // namespace reverie
