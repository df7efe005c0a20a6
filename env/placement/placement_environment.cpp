#include "env/placement/placement_environment.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/statistics.h"
#include "env/placement/graph/kernel_cost.h"
#include "env/placement/search/heuristics.h"

namespace reverie {
namespace {

constexpr char kOther[] = "other";

uint64_t hash_double(double value) { return hash_string(fmt::format("{:a}", value)); }

uint64_t fingerprint_of(const CostGraph& graph, const Topology& topology, bool is_measured) {
  uint64_t hash = hash_string("placement");
  const auto add = [&](uint64_t word) { hash = hash_combine(hash, word); };
  const auto add_cost = [&](uint64_t word) {
    if (!is_measured) add(word);
  };
  for (int node = 0; node < graph.size(); ++node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    add(hash_string(one.op));
    for (const int64_t number : {one.persistent_bytes, one.temporary_bytes, int64_t{one.group}})
      add(static_cast<uint64_t>(number));
    for (int kind = 0; kind < std::ssize(graph.kinds()); ++kind)
      add_cost(static_cast<uint64_t>(graph.cost(node, kind).count));
  }
  for (const CostTensor& tensor : graph.tensors()) {
    for (const int64_t number : {int64_t{tensor.producer}, tensor.bytes, tensor.transfer.count})
      add(static_cast<uint64_t>(number));
    for (const int reader : tensor.readers) add(static_cast<uint64_t>(reader));
  }
  for (const Device& device : topology.devices) {
    add(hash_string(device.kind));
    add(static_cast<uint64_t>(device.memory_bytes));
  }
  for (const Link& link : topology.links) {
    add_cost(static_cast<uint64_t>(link.latency.count));
    add_cost(hash_double(link.bytes_per_second));
    add(static_cast<uint64_t>(link.bus));
  }
  for (const bool on : {topology.send_engines, topology.receive_engines, topology.shared_buses})
    add(on ? 1 : 0);
  return hash;
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

}  // namespace

struct PlacementEnvironment::Start {
  Start(PlacementStart one, const Topology& topology, const PlacementEnvConfig& config)
      : name(std::move(one.name)),
        graph(std::move(one.graph)),
        measure(std::move(one.measure)),
        simulator(graph, topology),
        entities(graph),
        ranks(path_ranks(simulator.plain())) {
    if (config.fusion) find_fusible();
    const auto key = [](const Outcome& of) { return std::pair(of.bytes_over, of.makespan); };
    for (int device = 0; device < topology.size(); ++device) {
      const Outcome alone =
          simulator.run(on_one_device(simulator.plain(), device), Dispatch::kInOrder);
      if (device > 0 && key(alone) >= key(outcome)) continue;
      outcome = alone;
      best_device = device;
    }
    simulator.run(on_one_device(simulator.plain(), best_device), Dispatch::kInOrder, &schedule);
    judged = outcome;
    if (measure) judged.makespan = measure(schedule);
    const bool visits = config.form == PlacementForm::kConstructive;
    features.emplace(simulator.plain(), entities, visits,
                     static_cast<double>(outcome.makespan.count));
  }

  void find_fusible() {
    require_parts(graph);
    fusible.resize(static_cast<size_t>(entities.size()));
    for (const CostTensor& tensor : graph.tensors())
      for (const int reader : tensor.readers)
        if (starts_kernel(graph, tensor.producer) && starts_kernel(graph, reader))
          fusible[static_cast<size_t>(entities.of(tensor.producer))] = 1;
  }

  std::string name;
  CostGraph graph;
  MeasureSchedule measure;  ///< empty where makespans are simulated
  FusingSimulator simulator;
  PlacementEntities entities;
  std::vector<int64_t> ranks;
  std::vector<int> fusible;  ///< by entity: a kernel reads from one of its kernels
  int best_device = 0;
  Outcome outcome;  ///< of all on the best device, as simulated
  Outcome judged;   ///< with the makespan that counts
  Timeline schedule;
  std::optional<PlacementFeatures> features;
};

struct PlacementEnvironment::Shared {
  Topology topology;
  PlacementEnvConfig config;
  EnvSpec spec;
  std::vector<std::unique_ptr<Start>> starts;

  void write_spec();
};

void PlacementEnvironment::Shared::write_spec() {
  std::set<std::string> kinds, ops;
  for (const Device& device : topology.devices) {
    kinds.insert("device " + device.kind);
    spec.actions.push_back("place on " + device.name);
  }
  int groups = 0;
  const bool measured = static_cast<bool>(starts.front()->measure);
  for (const auto& start : starts) {
    REVERIE_CHECK_EQ(static_cast<bool>(start->measure), measured);
    groups = std::max(groups, start->entities.size());
    spec.starts.push_back({start->name, fingerprint_of(start->graph, topology, measured)});
    double bytes = 0;
    for (const CostNode& node : start->graph.nodes()) {
      ops.insert(node.op);
      bytes += static_cast<double>(node.persistent_bytes + node.temporary_bytes);
    }
    for (const CostTensor& tensor : start->graph.tensors())
      bytes += static_cast<double>(tensor.bytes);
    for (const Device& device : topology.devices)
      if (bytes > static_cast<double>(device.memory_bytes)) spec.may_be_infeasible = true;
  }
  ops.erase(kOther);
  spec.name = "placement";
  spec.node_types.assign(kinds.begin(), kinds.end());
  spec.node_types.insert(spec.node_types.end(), ops.begin(), ops.end());
  spec.node_types.push_back(kOther);
  spec.other_type = kOther;
  spec.node_features = PlacementFeatures::node_features(topology, config.fusion);
  spec.edge_features = PlacementFeatures::edge_features();
  spec.action_features = PlacementFeatures::action_features();
  if (config.form == PlacementForm::kImproving)
    spec.actions.insert(spec.actions.end(), {"raise", "lower"});
  if (config.fusion) spec.actions.push_back("fuse");
  spec.actions.push_back("NO-OP");
  spec.targets = PlacementFeatures::targets();
  spec.metrics = {{"makespan", "ms"}, {"peak memory", "MiB"}};
  spec.objective = config.memory_weight == 1 ? 1 : 0;
  spec.horizon = config.horizon > 0 ? config.horizon : groups * (config.fusion ? 2 : 1);
  spec.source = (measured ? "" : "simulator:") + topology.name;
  spec.deterministic = !measured;
  spec.measurable = measured;
}

PlacementEnvironment::PlacementEnvironment(std::vector<PlacementStart> starts, Topology topology,
                                           const PlacementEnvConfig& config) {
  REVERIE_CHECK(!starts.empty());
  auto shared = std::make_shared<Shared>();
  shared->topology = std::move(topology);
  shared->config = config;
  for (PlacementStart& start : starts)
    shared->starts.push_back(std::make_unique<Start>(std::move(start), shared->topology, config));
  shared->write_spec();
  shared_ = std::move(shared);
}

const EnvSpec& PlacementEnvironment::spec() const { return shared_->spec; }
const CostGraph& PlacementEnvironment::graph() const { return start().graph; }
const Topology& PlacementEnvironment::topology() const { return shared_->topology; }
bool PlacementEnvironment::fuses() const { return shared_->config.fusion; }
const PlacementEnvironment::Start& PlacementEnvironment::start() const {
  return *shared_->starts[start_];
}

void PlacementEnvironment::reset(uint64_t seed) {
  start_ = static_cast<size_t>(seed % static_cast<uint64_t>(spec().start_states()));
  simulator_ = std::make_shared<FusingSimulator>(start().simulator);
  const auto groups = static_cast<size_t>(start().entities.size());
  state_ = {std::vector<int>(groups, start().best_device), std::vector<int>(groups), 0,
            std::vector<int>(fuses() ? groups : 0)};
  best_state_ = state_;
  best_ = spec().worst();
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
  judged_ = start().judged;
  judge(/*is_new=*/false);
}

Placement PlacementEnvironment::placement_of(const PlacementState& state) const {
  Placement placement{start().entities.spread(state.device), start().ranks};
  const int64_t nodes = graph().size();
  for (int64_t node = 0; node < nodes; ++node) {
    const int group = start().entities.of(static_cast<int>(node));
    placement.priority[static_cast<size_t>(node)] +=
        nodes * state.level[static_cast<size_t>(group)];
  }
  if (!fuses()) return placement;
  std::vector<double> priority(start().ranks.begin(), start().ranks.end());
  for (int node = 0; node < graph().size(); ++node)
    if (state.fused[static_cast<size_t>(start().entities.of(node))] == 0)
      priority[static_cast<size_t>(node)] = -1;
  placement.kernel = greedy_fusion(start().simulator.plain(), placement, priority);
  return placement;
}

void PlacementEnvironment::judge(bool is_new) {
  const Picoseconds before = judged_.makespan;
  timeline_ = {};
  outcome_ = simulator_->run(placement(), Dispatch::kReady, &timeline_);
  ++counters_.cost_lookups;
  judged_ = outcome_;
  if (start().measure) judged_.makespan = is_new ? start().measure(timeline_) : before;
  if (start().measure && is_new) ++counters_.measurements;
  if (!judged_.feasible() || !spec().better(objective_of(judged_), best_)) return;
  best_ = objective_of(judged_);
  best_state_ = state_;
}

double PlacementEnvironment::measured_gain() const {
  if (!spec().measurable) return Environment::measured_gain();
  constexpr int kRuns = 5;
  FusingSimulator simulator = start().simulator;
  Timeline best;
  simulator.run(best_placement(), Dispatch::kReady, &best);
  std::vector<double> before, after;
  for (int i = 0; i < kRuns; ++i) {
    before.push_back(start().measure(start().schedule).seconds());
    after.push_back(start().measure(best).seconds());
  }
  counters_.measurements += 2 * kRuns;
  return 100 * (1 - median(after) / median(before));
}

const MeasureSchedule& PlacementEnvironment::measure(int start) const {
  return shared_->starts[static_cast<size_t>(start)]->measure;
}

double PlacementEnvironment::objective_of(const Outcome& outcome) const {
  return spec().objective == 0 ? outcome.makespan.milliseconds() : mebibytes(outcome.peak_bytes);
}

/// In percent of the start; the less the better.
double PlacementEnvironment::value(const Outcome& outcome) const {
  const Outcome& first = start().judged;
  const auto share = [&](double now, double then) {
    const double ratio = now / std::max(then, 1.0);
    return shared_->config.reward == PlacementReward::kSquareRoot ? std::sqrt(ratio) : ratio;
  };
  const double weight = shared_->config.memory_weight;
  double relative = (1 - weight) * share(static_cast<double>(outcome.makespan.count),
                                         static_cast<double>(first.makespan.count)) +
                    weight * share(static_cast<double>(outcome.peak_bytes),
                                   static_cast<double>(first.peak_bytes));
  if (!outcome.feasible())
    relative = kInfeasible + static_cast<double>(outcome.bytes_over) /
                                 (static_cast<double>(first.peak_bytes) + 1);
  return 100 * relative;
}

/// Whether another placement came of it.
bool PlacementEnvironment::take(const Action& action) {
  const int devices = topology().size();
  const auto group = static_cast<size_t>(action.entity - 1);
  if (action.primary < devices) {
    const int before = std::exchange(state_.device[group], action.primary);
    if (shared_->config.form == PlacementForm::kConstructive) ++state_.placed;
    return action.primary != before;
  }
  if (action.primary == fuse_action()) {
    state_.fused[group] = 1;
  } else {
    state_.level[group] += action.primary == devices ? 1 : -1;
  }
  return true;
}

StepResult PlacementEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment before the next step");
  require_allowed(spec(), mask(), action);
  const double before = value(judged_);
  if (action.primary != spec().no_op()) judge(take(action));
  ++steps_;
  ++counters_.steps;
  StepResult result;
  result.reward = before - value(judged_);
  const bool is_whole = shared_->config.form == PlacementForm::kConstructive &&
                        state_.placed == start().entities.size();
  result.terminated = action.primary == spec().no_op() || is_whole;
  result.truncated = !result.terminated && steps_ >= spec().horizon;
  result.info = info();
  over_ = result.terminated || result.truncated;
  return result;
}

int PlacementEnvironment::fuse_action() const { return fuses() ? spec().no_op() - 1 : -1; }

/// Places, and fusion.
void PlacementEnvironment::offer(int entity, ActionMask& mask) const {
  const auto group = static_cast<size_t>(entity - 1);
  const bool may_stay = shared_->config.form == PlacementForm::kConstructive;
  for (int device = 0; device < topology().size(); ++device)
    if (may_stay || state_.device[group] != device) mask.at(device, entity) = 1;
  if (fuses() && state_.fused[group] == 0) mask.at(fuse_action(), entity) = start().fusible[group];
}

ActionMask PlacementEnvironment::mask() const {
  const int groups = start().entities.size(), devices = topology().size();
  ActionMask mask(spec().primary_actions(), groups + 1);
  mask.at(spec().no_op(), 0) = 1;
  if (shared_->config.form == PlacementForm::kConstructive) {
    if (state_.placed < groups) offer(start().features->visit(state_.placed) + 1, mask);
    return mask;
  }
  for (int entity = 1; entity <= groups; ++entity) {
    offer(entity, mask);
    const int level = state_.level[static_cast<size_t>(entity - 1)];
    mask.at(devices, entity) = level < kLevels ? 1 : 0;
    mask.at(devices + 1, entity) = level > -kLevels ? 1 : 0;
  }
  return mask;
}

Observation PlacementEnvironment::observe() const {
  Observation observation;
  observation.graph = start().features->graph(spec().node_types, state_, outcome_, timeline_);
  observation.mask = mask();
  observation.action_features = start().features->actions(observation.mask, state_, fuse_action());
  uint64_t key = spec().starts[start_].fingerprint;
  for (const int device : state_.device) key = hash_combine(key, static_cast<uint64_t>(device));
  for (const int level : state_.level) key = hash_combine(key, static_cast<uint64_t>(level + 8));
  for (const int fused : state_.fused) key = hash_combine(key, static_cast<uint64_t>(fused));
  observation.state_key = hash_combine(key, static_cast<uint64_t>(state_.placed));
  return observation;
}

StepInfo PlacementEnvironment::info() const {
  return {
      {judged_.makespan.milliseconds(), mebibytes(judged_.peak_bytes)}, judged_.feasible(), best_};
}

std::unique_ptr<Environment> PlacementEnvironment::fork() const {
  auto copy = std::make_unique<PlacementEnvironment>(*this);
  if (simulator_) copy->simulator_ = std::make_shared<FusingSimulator>(*simulator_);
  copy->counters_ = {};
  return copy;
}

}  // namespace reverie
