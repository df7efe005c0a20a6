#include "env/placement/graph/cost_graph_builder.h"

#include <algorithm>
#include <limits>

#include "core/base/sort_unique.h"
#include "core/cost/work.h"

namespace reverie {
namespace {

/// The time that is left where memory is infinitely fast and a launch is free.
Picoseconds arithmetic_of(DeviceProfile profile, const OpSignature& work) {
  profile.bandwidth = std::numeric_limits<double>::infinity();
  profile.launch_seconds = 0;
  return roofline_time(profile, work);
}

}  // namespace

CostGraphBuilder::CostGraphBuilder(std::vector<std::string> kinds) : kinds_(std::move(kinds)) {
  sort_unique(kinds_);
  for (const std::string& kind : kinds_) {
    const DeviceProfile& profile = device_profile(kind);
    profiles_.push_back(profile);
    parts_.kinds.push_back({profile.bandwidth * profile.bandwidth_share,
                            Picoseconds::from_seconds(profile.launch_seconds)});
  }
}

int CostGraphBuilder::add_node(std::string name, std::string op, const OpSignature* work) {
  nodes_.push_back({.name = std::move(name), .op = std::move(op)});
  leader_.push_back(static_cast<int>(leader_.size()));
  parts_.moved_bytes.push_back(work == nullptr ? 0 : work_of(*work).bytes);
  for (const DeviceProfile& profile : profiles_) {
    costs_.push_back(work == nullptr ? Picoseconds{} : roofline_time(profile, *work));
    parts_.arithmetic.push_back(work == nullptr ? Picoseconds{} : arithmetic_of(profile, *work));
  }
  return leader_.back();
}

int CostGraphBuilder::add_tensor(int producer, int64_t bytes) {
  tensors_.push_back({.producer = producer, .bytes = bytes, .readers = {}});
  return static_cast<int>(tensors_.size()) - 1;
}

void CostGraphBuilder::read(int node, int tensor) {
  std::vector<int>& readers = tensors_[static_cast<size_t>(tensor)].readers;
  if (std::ranges::find(readers, node) == readers.end()) readers.push_back(node);
}

void CostGraphBuilder::hold(int node, int64_t bytes) {
  nodes_[static_cast<size_t>(node)].persistent_bytes += bytes;
}

int CostGraphBuilder::leader(int node) {
  int& next = leader_[static_cast<size_t>(node)];
  return next == node ? node : next = leader(next);
}

void CostGraphBuilder::keep_together(int node, int other) {
  const auto [low, high] = std::minmax({leader(node), leader(other)});
  leader_[static_cast<size_t>(high)] = low;
}

void CostGraphBuilder::number_groups() {
  std::vector<int> members(nodes_.size());
  const int nodes = static_cast<int>(nodes_.size());
  for (int node = 0; node < nodes; ++node) ++members[static_cast<size_t>(leader(node))];
  int groups = 0;
  for (int node = 0; node < nodes; ++node) {
    const auto first = static_cast<size_t>(leader(node));
    if (members[first] < 2) continue;
    if (nodes_[first].group < 0) nodes_[first].group = groups++;
    nodes_[static_cast<size_t>(node)].group = nodes_[first].group;
  }
}

CostGraph CostGraphBuilder::finish(std::string name) {
  number_groups();
  return CostGraph(std::move(name), kinds_, std::move(nodes_), std::move(costs_),
                   std::move(tensors_), std::move(parts_));
}

}  // namespace reverie
