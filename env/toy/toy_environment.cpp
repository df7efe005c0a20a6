#include "env/toy/toy_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

const std::vector<std::string> kNodeTypes = {"input",         "narrow",      "wide",
                                             "merged narrow", "merged wide", "join",
                                             "scale",         "activation",  "output"};
enum ToyNode {
  kInput,
  kNarrow,
  kWide,
  kMergedNarrow,
  kMergedWide,
  kJoin,
  kScale,
  kActivation,
  kOutput
};
constexpr std::array<int, kOutput + 1> kNodeCost = {0, 4, 6, 5, 7, 1, 1, 1, 0};
constexpr std::array<int, kOutput + 1> kNodeWidth = {0, 1, 3, 1, 3, 0, 0, 0, 0};

bool merged(const Block& block) { return block.branches >= Branches::kNarrow; }
bool left_wide(const Block& block) {
  return block.branches == Branches::kWideNarrow || block.branches == Branches::kWideWide;
}
bool right_wide(const Block& block) {
  return block.branches == Branches::kNarrowWide || block.branches == Branches::kWideWide;
}

std::vector<ToyNode> tail_nodes(const Block& block) {
  switch (block.tail) {
    case Tail::kScaleFirst:
      return {kScale, kActivation};
    case Tail::kActivationFirst:
      return {kActivation, kScale};
    default:
      return {kActivation};
  }
}

/// The nodes of a block from left to right: two branches and a join, or one merged node; the tail.
std::vector<ToyNode> nodes_of(const Block& block) {
  std::vector<ToyNode> nodes;
  if (merged(block)) {
    nodes = {block.branches == Branches::kNarrow ? kMergedNarrow : kMergedWide};
  } else {
    nodes = {left_wide(block) ? kWide : kNarrow, right_wide(block) ? kWide : kNarrow, kJoin};
  }
  const auto tail = tail_nodes(block);
  nodes.insert(nodes.end(), tail.begin(), tail.end());
  return nodes;
}

/// "narrow + wide, join, scale, activation".
std::string text_of(const Block& block) {
  std::string text;
  for (const ToyNode node : nodes_of(block)) {
    const bool beside = !text.empty() && (node == kNarrow || node == kWide);
    text += (text.empty() ? "" : beside ? " + " : ", ") + kNodeTypes[node];
  }
  return text;
}

int cost_of(const Block& block) {
  int cost = 0;
  for (const ToyNode node : nodes_of(block)) cost += kNodeCost[node];
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
  int add(ToyNode type, int entity, double block_position) {
    features_.node_types.push_back(type);
    features_.node_entities.push_back(entity);
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
  int add_block(const Block& block, int entity, int input, double position) {
    const auto nodes = nodes_of(block);
    size_t next = 0;
    int last = add(nodes[next++], entity, position);
    connect(input, last, 0);
    if (!merged(block)) {
      const int right = add(nodes[next++], entity, position);
      const int join = add(nodes[next++], entity, position);
      connect(input, right, 0);
      connect(last, join, 0);
      connect(right, join, 1);
      last = join;
    }
    for (; next < nodes.size(); ++next) {
      const int node = add(nodes[next], entity, position);
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
  GraphFeatures features_;
};

EnvSpec make_spec(const ToyConfig& config) {
  EnvSpec spec;
  spec.name = "toy";
  spec.node_types = kNodeTypes;
  spec.node_features = {"cost / 8", "width / 3", "position"};
  spec.edge_features = {"operand", "distance / 4"};
  spec.action_features = {"best gain"};
  spec.actions = {"merge", "enlarge", "fold", "swap", "NO-OP"};
  spec.targets = {{"cost share", TargetLevel::kNode, TargetLoss::kShare},
                  {"relative cost", TargetLevel::kGraph, TargetLoss::kRegression},
                  {"log nodes", TargetLevel::kGraph, TargetLoss::kRegression}};
  spec.metrics = {{"cost", ""}};
  spec.max_choices = 2 * config.blocks;
  spec.horizon = config.horizon > 0 ? config.horizon : kStepsPerBlock * config.blocks;
  spec.source = "none";
  spec.looks_ahead = true;
  spec.knows_dynamics = true;
  return spec;
}

uint64_t hash_of(const std::vector<Block>& blocks) {
  uint64_t hash = hash_string("toy");
  for (const Block& block : blocks)
    hash = hash_combine(
        hash, static_cast<uint64_t>(block.branches) * 16 + static_cast<uint64_t>(block.tail));
  return hash;
}

}  // namespace

ToyEnvironment::ToyEnvironment(const ToyConfig& config) : config_(config) {
  if (config.blocks < 1 || config.blocks > 1000)
    throw InputError("toy.blocks is {}; it must be from 1 to 1000", config.blocks);
  const int bits = std::min(2 * config.blocks, 30);
  if (config.start_states < 1 || config.start_states > (1 << bits))
    throw InputError("toy.start_states is {}; with {} blocks it must be from 1 to {}",
                     config.start_states, config.blocks, 1 << bits);
  if (config.horizon < 0)
    throw InputError("toy.horizon is {}; it must be 0 or more", config.horizon);
  spec_ = make_spec(config);
  for (int start = 0; start < config.start_states; ++start)
    spec_.starts.push_back({fmt::format("toy-{}", start), hash_of(start_blocks(start))});
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
  blocks_ = start_blocks(static_cast<int>(seed % static_cast<uint64_t>(spec_.start_states())));
  initial_cost_ = best_cost_ = cost_of(blocks_);
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
  ++counters_.cost_lookups;
}

StepResult ToyEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment before the next step");
  require_allowed(spec_, mask(), action);
  const int before = cost_of(blocks_);
  if (action.primary != kNoOp) {
    const auto [block, way] = step_of(action);
    blocks_[block] = successors(blocks_[block], action.primary)[static_cast<size_t>(way)];
  }
  const int after = cost_of(blocks_);
  best_cost_ = std::min(best_cost_, after);
  ++steps_;
  ++counters_.steps;
  ++counters_.cost_lookups;
  StepResult result;
  result.reward = 100.0 * (before - after) / initial_cost_;
  const ActionMask left = mask();
  const bool nothing_left = std::all_of(left.counts.begin(), left.counts.end() - left.entities,
                                        [](int n) { return n == 0; });
  result.terminated = action.primary == kNoOp || nothing_left;
  result.truncated = !result.terminated && steps_ >= spec_.horizon;
  result.info = info();
  over_ = result.terminated || result.truncated;
  return result;
}

/// Of a valid action other than NO-OP.
ToyEnvironment::Step ToyEnvironment::step_of(const Action& action) const {
  int index = action.index;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (entity_of(b) != action.entity) continue;
    const auto ways = static_cast<int>(successors(blocks_[b], action.primary).size());
    if (index < ways) return {b, index};
    index -= ways;
  }
  throw InternalError("the toy allows an action that no block has");
}

GraphFeatures ToyEnvironment::graph_features() const {
  FeatureWriter writer;
  int last = writer.add(kInput, 0, 0);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const double position = static_cast<double>(b + 1) / static_cast<double>(blocks_.size() + 1);
    last = writer.add_block(blocks_[b], entity_of(b), last, position);
  }
  writer.connect(last, writer.add(kOutput, entity_of(blocks_.size() - 1), 1), 0);
  const int cost = cost_of(blocks_);
  GraphFeatures graph = writer.take(cost);
  graph.graph_targets = {static_cast<float>(cost) / static_cast<float>(initial_cost_),
                         static_cast<float>(std::log1p(graph.node_count()))};
  return graph;
}

Observation ToyEnvironment::observe() const {
  Observation observation;
  observation.graph = graph_features();
  observation.mask = mask();
  for (int primary = 0; primary <= kNoOp; ++primary) {
    const auto best = best_by_entity(observation.mask, primary, gains(primary));
    observation.action_features.insert(observation.action_features.end(), best.begin(), best.end());
  }
  observation.state_key = hash_combine(hash_of(blocks_), static_cast<uint64_t>(initial_cost_));
  return observation;
}

ActionMask ToyEnvironment::mask() const {
  ActionMask mask(kNoOp + 1, config_.entities ? config_.blocks : 1);
  for (size_t b = 0; b < blocks_.size(); ++b)
    for (int primary = 0; primary < kNoOp; ++primary)
      mask.at(primary, entity_of(b)) +=
          static_cast<uint16_t>(successors(blocks_[b], primary).size());
  return mask;
}

StepInfo ToyEnvironment::info() const {
  return {{static_cast<double>(cost_of(blocks_))}, true, static_cast<double>(best_cost_)};
}

std::vector<double> ToyEnvironment::gains(int primary) const {
  if (primary == kNoOp) return {0.0};
  std::vector<double> gains;
  for (const Block& block : blocks_)
    for (const Block& next : successors(block, primary))
      gains.push_back(100.0 * (cost_of(block) - cost_of(next)) / initial_cost_);
  return gains;
}

std::string ToyEnvironment::describe() const {
  std::vector<std::string> blocks;
  for (const Block& block : blocks_) blocks.push_back(text_of(block));
  return fmt::format("{}; cost {}", fmt::join(blocks, " | "), cost_of(blocks_));
}

std::string ToyEnvironment::describe(const Action& action) const {
  require_allowed(spec_, mask(), action);
  const std::string& name = spec_.actions[static_cast<size_t>(action.primary)];
  if (action.primary == kNoOp) return name;
  const auto [at, way] = step_of(action);
  if (action.primary != kEnlarge) return fmt::format("{} block {}", name, at);
  const Block next = successors(blocks_[at], kEnlarge)[static_cast<size_t>(way)];
  const bool left = left_wide(next) && !left_wide(blocks_[at]);
  return fmt::format("{} the {} branch of block {}", name, left ? "left" : "right", at);
}

std::unique_ptr<Environment> ToyEnvironment::fork() const {
  auto copy = std::make_unique<ToyEnvironment>(*this);
  copy->counters_ = {};
  return copy;
}

double ToyEnvironment::optimal_cost(int start_state) const {
  double cost = 0;
  for (const Block& block : start_blocks(start_state))
    cost += block.branches == Branches::kNarrowNarrow ? 6 : 8;
  return cost;
}

}  // namespace reverie
