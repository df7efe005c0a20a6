#include "env/toy/knapsack_environment.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/tally.h"
#include "core/base/words.h"

namespace reverie {
namespace {

constexpr int kLargestWeight = 3, kLeastValue = 3, kLargestValue = 6;
constexpr double kOverloadCost = kLargestValue + 1;
enum KnapsackNode { kBag, kItem };

EnvSpec make_spec(const KnapsackConfig& config) {
  EnvSpec spec;
  spec.name = "knapsack";
  spec.node_types = {"bag", "item"};
  spec.node_features = {"value", "weight", "in the bag", "room"};
  spec.edge_features = {"in the bag"};
  spec.actions = {"take", "drop", "NO-OP"};
  spec.targets = {{"value", TargetLevel::kGraph, TargetLoss::kRegression},
                  {"room", TargetLevel::kGraph, TargetLoss::kRegression},
                  {"overloaded", TargetLevel::kGraph, TargetLoss::kBinary}};
  spec.metrics = {{"value", ""}, {"overload", ""}};
  spec.less_is_better = false;
  spec.max_choices = 1;
  spec.horizon = config.horizon > 0 ? config.horizon : 2 * (config.items + config.start_states - 1);
  spec.source = "none";
  spec.may_be_infeasible = true;
  spec.knows_dynamics = true;
  return spec;
}

}  // namespace

KnapsackEnvironment::KnapsackEnvironment(const KnapsackConfig& config) : config_(config) {
  if (config.items < 1 || config.items > 20)
    throw InputError("knapsack.items is {}; it must be from 1 to 20", config.items);
  if (config.start_states < 1 || config.start_states > 8)
    throw InputError("knapsack.start_states is {}; it must be from 1 to 8", config.start_states);
  if (config.horizon < 0)
    throw InputError("knapsack.horizon is {}; it must be 0 or more", config.horizon);
  spec_ = make_spec(config);
  for (int start = 0; start < config.start_states; ++start) {
    uint64_t fingerprint = hash_string("knapsack");
    for (const Item& item : items_of(start))
      fingerprint = hash_combine(fingerprint, static_cast<uint64_t>(16 * item.weight + item.value));
    spec_.starts.push_back({fmt::format("knapsack-{}", start), fingerprint});
  }
}

std::vector<KnapsackEnvironment::Item> KnapsackEnvironment::items_of(int start_state) const {
  Rng rng = Rng(4).fork(static_cast<uint64_t>(start_state));
  std::vector<Item> items(static_cast<size_t>(config_.items + start_state));
  for (Item& item : items)
    item = {1 + static_cast<int>(rng.below(kLargestWeight)),
            kLeastValue + static_cast<int>(rng.below(kLargestValue - kLeastValue + 1))};
  return items;
}

int KnapsackEnvironment::capacity_of(const std::vector<Item>& items) {
  int total = 0;
  for (const Item& item : items) total += item.weight;
  return std::max(items.front().weight, 2 * total / 3);
}

int KnapsackEnvironment::value() const {
  int sum = 0;
  for (size_t i = 0; i < items_.size(); ++i)
    if (taken_[i]) sum += items_[i].value;
  return sum;
}

int KnapsackEnvironment::weight() const {
  int sum = 0;
  for (size_t i = 0; i < items_.size(); ++i)
    if (taken_[i]) sum += items_[i].weight;
  return sum;
}

int KnapsackEnvironment::overload() const { return std::max(0, weight() - capacity_of(items_)); }

/// In percent of the value of all items.
double KnapsackEnvironment::score() const {
  double all = 0;
  for (const Item& item : items_) all += item.value;
  return 100 * (value() - kOverloadCost * overload()) / all;
}

void KnapsackEnvironment::reset(uint64_t seed) {
  start_ = static_cast<int>(seed % static_cast<uint64_t>(spec_.start_states()));
  items_ = items_of(start_);
  taken_.assign(items_.size(), false);
  taken_.front() = true;
  best_ = value();
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
}

StepResult KnapsackEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment before the next step");
  require_allowed(spec_, mask(), action);
  const double before = score();
  if (action.primary != kNoOp)
    taken_[static_cast<size_t>(action.entity) - 1] = action.primary == kTake;
  if (overload() == 0) best_ = std::max(best_, static_cast<double>(value()));
  ++counters_.steps;
  StepResult result;
  result.reward = score() - before;
  result.terminated = action.primary == kNoOp;
  result.truncated = ++steps_ >= spec_.horizon && !result.terminated;
  result.info = info();
  over_ = result.terminated || result.truncated;
  return result;
}

Observation KnapsackEnvironment::observe() const {
  const auto tenth = [](int x) { return static_cast<float>(x) / 10; };
  Observation observation;
  GraphFeatures& graph = observation.graph;
  const auto add = [&](KnapsackNode type, int entity, std::initializer_list<float> row) {
    graph.node_types.push_back(type);
    graph.node_entities.push_back(entity);
    graph.nodes.insert(graph.nodes.end(), row);
  };
  const int room = capacity_of(items_) - weight();
  add(kBag, 0, {tenth(value()), tenth(weight()), 0, tenth(room)});
  uint64_t key = hash_combine(hash_string("knapsack"), static_cast<uint64_t>(start_));
  for (size_t i = 0; i < items_.size(); ++i) {
    const float in_bag = taken_[i] ? 1 : 0;
    add(kItem, static_cast<int>(i) + 1,
        {tenth(items_[i].value), tenth(items_[i].weight), in_bag, 0});
    graph.senders.push_back(static_cast<int32_t>(i) + 1);
    graph.receivers.push_back(0);
    graph.edges.push_back(in_bag);
    key = hash_combine(key, taken_[i]);
  }
  graph.graph_targets = {static_cast<float>(score() / 100), tenth(room),
                         overload() > 0 ? 1.0f : 0.0f};
  observation.mask = mask();
  observation.state_key = key;
  return observation;
}

ActionMask KnapsackEnvironment::mask() const {
  ActionMask mask(kNoOp + 1, static_cast<int>(items_.size()) + 1);
  for (size_t i = 0; i < items_.size(); ++i)
    mask.at(taken_[i] ? kDrop : kTake, static_cast<int>(i) + 1) = 1;
  return mask;
}

StepInfo KnapsackEnvironment::info() const {
  const int over = overload();
  return {{static_cast<double>(value()), static_cast<double>(over)}, over == 0, best_};
}

std::string KnapsackEnvironment::describe() const {
  std::vector<int> taken;
  for (size_t i = 0; i < items_.size(); ++i)
    if (taken_[i]) taken.push_back(static_cast<int>(i) + 1);
  return fmt::format("{}, in the bag: {}; value {}, weight {} of {}",
                     counted(items_.size(), "item"), taken.empty() ? "none" : runs_text(taken),
                     value(), weight(), capacity_of(items_));
}

std::string KnapsackEnvironment::describe(const Action& action) const {
  require_allowed(spec_, mask(), action);
  const std::string& name = spec_.actions[static_cast<size_t>(action.primary)];
  if (action.primary == kNoOp) return name;
  const Item& item = items_[static_cast<size_t>(action.entity) - 1];
  return fmt::format("{} item {} (value {}, weight {})", name, action.entity, item.value,
                     item.weight);
}

std::unique_ptr<Environment> KnapsackEnvironment::fork() const {
  auto copy = std::make_unique<KnapsackEnvironment>(*this);
  copy->counters_ = {};
  return copy;
}

double KnapsackEnvironment::optimal_value(int start_state) const {
  const std::vector<Item> items = items_of(start_state);
  const int capacity = capacity_of(items);
  int best = 0;
  for (uint32_t chosen = 0; chosen < uint32_t{1} << items.size(); ++chosen) {
    int weight = 0, value = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if ((chosen >> i & 1) == 0) continue;
      weight += items[i].weight;
      value += items[i].value;
    }
    if (weight <= capacity) best = std::max(best, value);
  }
  return best;
}

}  // namespace reverie
