#pragma once

#include <string>
#include <vector>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Types of operators by the time that they take in a timeline.
class TypeRanks {
 public:
  /// At most `named` types have names in a chart: those that take most of the time.
  TypeRanks(const CostGraph& graph, const Timeline& timeline, size_t named);

  /// The longest first; none that takes no time.
  const std::vector<std::string>& named() const { return named_; }
  /// Of the time of all operators: by named type, and last of all other types together.
  const std::vector<double>& shares() const { return shares_; }
  /// Place of a node's type among all, the longest first: the named ones come first.
  size_t rank(int node) const { return ranks_[static_cast<size_t>(node)]; }
  size_t types() const { return types_; }

 private:
  std::vector<std::string> named_;
  std::vector<double> shares_;
  std::vector<size_t> ranks_;  ///< by node
  size_t types_ = 0;
};

/// One run or transfer, or several that follow each other closely.
struct GanttBlock {
  Picoseconds start, end;
  Picoseconds busy;  ///< the sum of what it stands for
  int count = 0;     ///< of them
  int first = 0;     ///< position of the first one in the timeline's runs or transfers
  size_t rank = 0;   ///< of the type that takes most of its time; 0 for transfers
};

/// A row of a Gantt chart: what a device runs, or what it sends.
struct GanttLane {
  int device = 0;
  bool sends = false;
  std::vector<GanttBlock> blocks;  ///< in the order of their starts
};

/// For each device the lane of its runs, and that of its transfers where it sends. What is shorter
/// than `shortest` becomes one block with what is as short and begins within `shortest` of the
/// block's start; `shortest` is doubled until there are at most `most` blocks, or a block a lane.
std::vector<GanttLane> gantt_lanes(const Topology& topology, const Timeline& timeline,
                                   const TypeRanks& types, Picoseconds shortest, size_t most);

}  // namespace reverie
