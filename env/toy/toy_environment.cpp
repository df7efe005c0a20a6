#include "env/toy/toy_environment.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {
namespace {

using Block = ToyEnvironment::Block;
using Branches = ToyEnvironment::Branches;
using Tail = ToyEnvironment::Tail;

constexpr int kStepsPerBlock = 6;
constexpr uint64_t kVersion = 1;  // changes with the meaning of an action

enum NodeType { kInput, kNarrow, kWide, kMergedNarrow, kMergedWide, kJoin, kScale, kActivation, kOutput };
constexpr std::array<int, kOutput + 1> kNodeCost = {0, 4, 6, 5, 7, 1, 1, 1, 0};
constexpr std::array<int, kOutput + 1> kNodeWidth = {0, 1, 3, 1, 3, 0, 0, 0, 0};

bool merged(const Block& block) { return block.branches >= Branches::kNarrow; }
bool left_wide(const Block& block) {
  return block.branches == Branches::kWideNarrow || block.branches == Branches::kWideWide;
}
bool right_wide(const Block& block) {
  return block.branches == Branches::kNarrowWide || block.branches == Branches::kWideWide;
}

std::vector<NodeType> tail_nodes(const Block& block) {
  switch (block.tail) {
    case Tail::kScaleFirst: return {kScale, kActivation};
    case Tail::kActivationFirst: return {kActivation, kScale};
    default: return {kActivation};
  }
}

/// The nodes of a block from left to right: two branches and a join, or one merged node; the tail.
std::vector<NodeType> nodes_of(const Block& block) {
  std::vector<NodeType> nodes;
  if (merged(block)) {
    nodes = {block.branches == Branches::kNarrow ? kMergedNarrow : kMergedWide};
  } else {
    nodes = {left_wide(block) ? kWide : kNarrow, right_wide(block) ? kWide : kNarrow, kJoin};
  }
  const auto tail = tail_nodes(block);
  nodes.insert(nodes.end(), tail.begin(), tail.end());
  return nodes;
}

int cost_of(const Block& block) {
  int cost = 0;
  for (const NodeType node : nodes_of(block)) cost += kNodeCost[node];
  return cost;
}

int cost_of(const std::vector<Block>& blocks) {
  int cost = 0;
  for (const Block& block : blocks) cost += cost_of(block);
  return cost;
}

/// What a block becomes, for each valid application of a primary action to it.
std::vector<Block> successors(const Block& block, int primary) {
  const auto [branches, tail] = block;
  switch (primary) {
    case ToyEnvironment::kMerge:
      if (branches == Branches::kNarrowNarrow) return {{Branches::kNarrow, tail}};
      if (branches == Branches::kWideWide) return {{Branches::kWide, tail}};
      return {};
    case ToyEnvironment::kEnlarge:
      if (branches == Branches::kNarrowNarrow)
        return {{Branches::kWideNarrow, tail}, {Branches::kNarrowWide, tail}};
      if (branches == Branches::kNarrowWide || branches == Branches::kWideNarrow)
        return {{Branches::kWideWide, tail}};
      return {};
    case ToyEnvironment::kFold:
      if (merged(block) && tail == Tail::kScaleFirst) return {{branches, Tail::kFolded}};
      return {};
    case ToyEnvironment::kSwap:
      if (tail == Tail::kScaleFirst) return {{branches, Tail::kActivationFirst}};
      if (tail == Tail::kActivationFirst) return {{branches, Tail::kScaleFirst}};
      return {};
    default:
      return {};
  }
}

/// Appends nodes and edges to plain arrays.
class FeatureWriter {
 public:
  /// Each block is a region where `regions` is more than 1.
  explicit FeatureWriter(int regions) : regions_(regions) {}
  int add(NodeType type, size_t block, double block_position) {
    features_.node_types.push_back(type);
    if (regions_ > 1) features_.node_regions.push_back(static_cast<int32_t>(block));
    const float columns[] = {static_cast<float>(kNodeCost[type]) / 8.0f,
                             static_cast<float>(kNodeWidth[type]) / 3.0f,
                             static_cast<float>(block_position)};
    features_.nodes.insert(features_.nodes.end(), std::begin(columns), std::end(columns));
    return features_.node_count() - 1;
  }
  void connect(int from, int to, int operand) {
    features_.senders.push_back(from);
    features_.receivers.push_back(to);
    features_.edges.push_back(static_cast<float>(operand));
    features_.edges.push_back(static_cast<float>(to - from) / 4.0f);
  }
  /// Returns the block's last node.
  int add_block(const Block& block, size_t number, int input, double position) {
    const auto nodes = nodes_of(block);
    size_t next = 0;
    int last = add(nodes[next++], number, position);
    connect(input, last, 0);
    if (!merged(block)) {
      const int right = add(nodes[next++], number, position);
      const int join = add(nodes[next++], number, position);
      connect(input, right, 0);
      connect(last, join, 0);
      connect(right, join, 1);
      last = join;
    }
    for (; next < nodes.size(); ++next) {
      const int node = add(nodes[next], number, position);
      connect(last, node, 0);
      last = node;
    }
    return last;
  }
  GraphFeatures take(int total_cost) {
    for (const int type : features_.node_types)
      features_.node_targets.push_back(static_cast<float>(kNodeCost[type]) /
                                       static_cast<float>(total_cost));
    return std::move(features_);
  }

 private:
  int regions_;
  GraphFeatures features_;
};

EnvSpec make_spec(const ToyConfig& config) {
  EnvSpec spec;
  spec.name = "toy";
  spec.node_types = kOutput + 1;
  spec.node_features = 3;
  spec.edge_features = 2;
  spec.global_features = 2;
  spec.action_features = 1;
  spec.actions = {"merge", "enlarge", "fold", "swap", "NO-OP"};
  spec.max_secondary = 2 * config.blocks;
  spec.horizon = config.horizon > 0 ? config.horizon : kStepsPerBlock * config.blocks;
  spec.start_states = config.start_states;
  spec.regions = config.regions ? std::max(2, config.blocks) : 1;
  spec.fingerprint = hash_combine(hash_string("toy"), kVersion);
  if (config.regions) spec.fingerprint = hash_combine(spec.fingerprint, hash_string("regions"));
  spec.cost_source = "none";
  return spec;
}

}  // namespace

ToyEnvironment::ToyEnvironment(const ToyConfig& config) : config_(config) {
  if (config.blocks < 1 || config.blocks > 1000)
    throw InputError("toy.blocks is {}; it must be from 1 to 1000", config.blocks);
  const int bits = std::min(2 * config.blocks, 30);
  if (config.start_states < 1 || config.start_states > (1 << bits))
    throw InputError("toy.start_states is {}; with {} blocks it must be from 1 to {}",
                     config.start_states, config.blocks, 1 << bits);
  if (config.regions && config.blocks > kMaxRegions)
    throw InputError("toy.blocks is {}; with toy.regions it must be at most {}", config.blocks,
                     kMaxRegions);
  if (config.horizon < 0) throw InputError("toy.horizon is {}; it must be 0 or more", config.horizon);
  spec_ = make_spec(config);
}

std::vector<Block> ToyEnvironment::start_blocks(int start_state) const {
  std::vector<Block> blocks;
  for (int b = 0; b < config_.blocks; ++b) {
    const int bits = b < 15 ? (start_state >> (2 * b)) & 3 : 0;
    const Branches uneven = b % 2 == 0 ? Branches::kNarrowWide : Branches::kWideNarrow;
    blocks.push_back({bits & 1 ? Branches::kNarrowNarrow : uneven,
                      bits & 2 ? Tail::kActivationFirst : Tail::kScaleFirst});
  }
  return blocks;
}

void ToyEnvironment::reset(uint64_t seed) {
  blocks_ = start_blocks(static_cast<int>(seed % static_cast<uint64_t>(spec_.start_states)));
  initial_cost_ = best_cost_ = cost_of(blocks_);
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
  ++counters_.cost_lookups;
}

StepResult ToyEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment before the next step");
  if (!allows(mask(), action))
    throw InputError("action ({}, {}) is not valid in this state", action.primary, action.secondary);
  const int before = cost_of(blocks_);
  int index = action.secondary;
  for (Block& block : blocks_) {
    const auto next = successors(block, action.primary);
    if (index < static_cast<int>(next.size())) {
      block = next[static_cast<size_t>(index)];
      break;
    }
    index -= static_cast<int>(next.size());
  }
  const int after = cost_of(blocks_);
  best_cost_ = std::min(best_cost_, after);
  ++steps_;
  ++counters_.steps;
  ++counters_.cost_lookups;
  StepResult result;
  result.reward = 100.0 * (before - after) / initial_cost_;
  const auto counts = mask().counts;
  const bool nothing_left = std::all_of(counts.begin(), counts.end() - 1, [](int n) { return n == 0; });
  result.terminated = action.primary == kNoOp || nothing_left;
  result.truncated = !result.terminated && steps_ >= spec_.horizon;
  result.info = info();
  over_ = result.terminated || result.truncated;
  return result;
}

GraphFeatures ToyEnvironment::graph_features() const {
  FeatureWriter writer(spec_.regions);
  int last = writer.add(kInput, 0, 0);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const double position = static_cast<double>(b + 1) / static_cast<double>(blocks_.size() + 1);
    last = writer.add_block(blocks_[b], b, last, position);
  }
  writer.connect(last, writer.add(kOutput, blocks_.size() - 1, 1), 0);
  const int cost = cost_of(blocks_);
  GraphFeatures graph = writer.take(cost);
  graph.globals = {static_cast<float>(cost) / static_cast<float>(initial_cost_),
                   static_cast<float>(std::log1p(graph.node_count()))};
  return graph;
}

Observation ToyEnvironment::observe() const {
  Observation observation;
  observation.graph = graph_features();
  observation.mask = mask();
  observation.action_features = best_gains();
  if (spec_.regions > 1) observation.region_features = best_gains_by_region();
  uint64_t key = hash_combine(spec_.fingerprint, static_cast<uint64_t>(initial_cost_));
  for (const Block& block : blocks_)
    key = hash_combine(key, static_cast<uint64_t>(block.branches) * 16 +
                                static_cast<uint64_t>(block.tail));
  observation.state_key = key;
  return observation;
}

ActionMask ToyEnvironment::mask() const {
  const auto regions = static_cast<size_t>(spec_.regions);
  ActionMask mask;
  mask.counts.assign(kNoOp + 1, 0);
  mask.counts[kNoOp] = 1;
  if (regions > 1) {
    mask.region_counts.assign((kNoOp + 1) * regions, 0);
    mask.region_counts[kNoOp * regions] = 1;
  }
  for (size_t b = 0; b < blocks_.size(); ++b) {
    for (size_t primary = 0; primary < kNoOp; ++primary) {
      const size_t count = successors(blocks_[b], static_cast<int>(primary)).size();
      mask.counts[primary] += static_cast<uint16_t>(count);
      if (regions > 1) mask.region_counts[primary * regions + b] = static_cast<uint16_t>(count);
    }
  }
  return mask;
}

StepInfo ToyEnvironment::info() const {
  return {static_cast<double>(cost_of(blocks_)), static_cast<double>(best_cost_)};
}

std::vector<double> ToyEnvironment::gains(int primary) const {
  if (primary == kNoOp) return {0.0};
  std::vector<double> gains;
  for (const Block& block : blocks_)
    for (const Block& next : successors(block, primary))
      gains.push_back(100.0 * (cost_of(block) - cost_of(next)) / initial_cost_);
  return gains;
}

std::vector<float> ToyEnvironment::best_gains() const {
  std::vector<float> best;
  for (int primary = 0; primary <= kNoOp; ++primary) {
    const auto all = gains(primary);
    best.push_back(all.empty() ? 0.0f : static_cast<float>(*std::max_element(all.begin(), all.end())));
  }
  return best;
}

std::vector<float> ToyEnvironment::best_gains_by_region() const {
  const ActionMask mask = this->mask();
  std::vector<float> best;
  for (int primary = 0; primary <= kNoOp; ++primary) {
    const auto row = best_by_region(mask, primary, spec_.regions, gains(primary));
    best.insert(best.end(), row.begin(), row.end());
  }
  return best;
}

std::unique_ptr<Environment> ToyEnvironment::fork() const {
  auto copy = std::make_unique<ToyEnvironment>(*this);
  copy->counters_ = {};
  return copy;
}

double ToyEnvironment::optimal_cost_ms(int start_state) const {
  double cost = 0;
  for (const Block& block : start_blocks(start_state))
    cost += block.branches == Branches::kNarrowNarrow ? 6 : 8;
  return cost;
}

}  // namespace reverie
