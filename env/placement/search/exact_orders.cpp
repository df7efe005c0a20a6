#include "env/placement/search/exact_orders.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/error.h"
#include "env/placement/search/heuristics.h"

namespace reverie {
namespace {

uint64_t bit(int number) { return uint64_t{1} << number; }

bool limits_nothing(const Topology& topology) {
  return !sends_one_by_one(topology) && !topology.receive_engines &&
         std::ranges::all_of(topology.devices, [](const Device& device) {
           return device.memory_bytes == Device::kUnlimited;
         });
}

}  // namespace

bool sends_one_by_one(const Topology& topology) {
  return topology.send_engines ||
         (topology.shared_buses &&
          std::ranges::any_of(topology.links, [](const Link& link) { return link.bus >= 0; }));
}

bool OpenBranches::are_closed_at(double bound) {
  if (has_nothing_below(bound)) return true;
  if (!evaluator_->spent()) return false;
  lowest_ = std::min(lowest_, bound);
  return true;
}

double OpenBranches::proved() const {
  return std::min(lowest_, evaluator_->cost(evaluator_->best_outcome()));
}

OrderSearch::OrderSearch(Evaluator& evaluator, ScheduleBound& bound, OpenBranches& open)
    : evaluator_(evaluator),
      graph_(evaluator.graph()),
      bound_(bound),
      open_(open),
      is_free_(evaluator.objective() == PlacementObjective::kMakespan &&
               limits_nothing(evaluator.topology())),
      rank_(path_priorities(evaluator.simulator())) {
  const auto nodes = static_cast<size_t>(graph_.size());
  REVERIE_CHECK(nodes <= 64);
  inputs_.resize(nodes);
  before_.resize(nodes);
  for (const int node : graph_.order())
    for (const int input : graph_.inputs(node)) {
      const int producer = graph_.tensors()[static_cast<size_t>(input)].producer;
      inputs_[static_cast<size_t>(node)] |= bit(producer);
      before_[static_cast<size_t>(node)] |= bit(producer) | before_[static_cast<size_t>(producer)];
    }
  partial_.run.resize(nodes);
  run_.resize(nodes);
  placement_.priority.resize(nodes);
}

void OrderSearch::run(const std::vector<int>& device, double bound) {
  const auto devices = static_cast<size_t>(evaluator_.topology().size());
  partial_.device = placement_.device = device;
  partial_.first.assign(devices, {});
  untold_.assign(devices, 0);
  bytes_ = least_bytes(graph_, device, evaluator_.topology().size());
  for (size_t node = 0; node < device.size(); ++node)
    untold_[static_cast<size_t>(device[node])] |= bit(static_cast<int>(node));
  search(0, bound);
}

void OrderSearch::search(size_t depth, double bound) {
  if (open_.are_closed_at(bound) || !complete_order()) return;
  if (timelines_.size() == depth) timelines_.emplace_back();
  Timeline& timeline = timelines_[depth];
  simulate(timeline);
  const auto told = std::pair(partial_.first, untold_);
  const Turn turn = next_turn();
  if (turn.device >= 0) {
    look_back(timeline);
    bound = bound_of(timeline, bound);
    if (!open_.has_nothing_below(bound))
      for (const int node : undominated(turn.nodes)) {
        const auto before = std::pair(partial_.first, untold_);
        tell(turn.device, node);
        search(depth + 1, bound);
        std::tie(partial_.first, untold_) = before;
      }
  }
  std::tie(partial_.first, untold_) = told;
}

/// Nodes that are told, and the others by rank. False: some wait for each other.
bool OrderSearch::complete_order() {
  std::vector<uint64_t> needs = inputs_;
  for (size_t device = 0; device < untold_.size(); ++device) {
    uint64_t earlier = 0;
    for (const int node : partial_.first[device]) {
      needs[static_cast<size_t>(node)] |= earlier;
      earlier |= bit(node);
    }
    for (uint64_t rest = untold_[device]; rest != 0; rest &= rest - 1)
      needs[static_cast<size_t>(std::countr_zero(rest))] |= earlier;
  }
  partial_.order.clear();
  uint64_t done = 0;
  while (std::ssize(partial_.order) < graph_.size()) {
    int best = -1;
    for (int node = 0; node < graph_.size(); ++node)
      if ((done & bit(node)) == 0 && (needs[static_cast<size_t>(node)] & ~done) == 0 &&
          (best < 0 || rank_[static_cast<size_t>(node)] > rank_[static_cast<size_t>(best)]))
        best = node;
    if (best < 0) return false;
    done |= bit(best);
    partial_.order.push_back(best);
  }
  return true;
}

void OrderSearch::simulate(Timeline& timeline) {
  for (size_t i = 0; i < partial_.order.size(); ++i)
    placement_.priority[static_cast<size_t>(partial_.order[i])] = -static_cast<int64_t>(i);
  const Outcome outcome = evaluator_.simulator().run(placement_, Dispatch::kInOrder, &timeline);
  if (open_.has_nothing_below(evaluator_.cost(outcome)))
    evaluator_.charge(1);
  else
    evaluator_.evaluate(placement_, Dispatch::kInOrder);
  for (const Timeline::Run& run : timeline.runs) run_[static_cast<size_t>(run.node)] = &run;
}

/// Tells devices what they can only do: it is what they did in the last simulation.
OrderSearch::Turn OrderSearch::next_turn() {
  for (int device = free_device(); device >= 0; device = free_device()) {
    std::vector<int> nodes = next_on(static_cast<size_t>(device));
    if (nodes.size() > 1) return {device, std::move(nodes)};
    tell(device, nodes[0]);
  }
  return {-1, {}};
}

/// The first to be free of those that are not told all, and when; -1: there is none.
int OrderSearch::free_device() {
  int device = -1;
  for (size_t other = 0; other < untold_.size(); ++other) {
    if (untold_[other] == 0) continue;
    const auto& first = partial_.first[other];
    const int64_t free = first.empty() ? 0 : run_[static_cast<size_t>(first.back())]->end.count;
    if (device >= 0 && free >= partial_.now) continue;
    device = static_cast<int>(other);
    partial_.now = free;
  }
  return device;
}

std::vector<int> OrderSearch::next_on(size_t device) const {
  std::vector<int> nodes;
  for (uint64_t rest = untold_[device]; rest != 0; rest &= rest - 1)
    if (const int node = std::countr_zero(rest);
        (before_[static_cast<size_t>(node)] & untold_[device]) == 0)
      nodes.push_back(node);
  return nodes;
}

void OrderSearch::tell(int device, int node) {
  partial_.first[static_cast<size_t>(device)].push_back(node);
  untold_[static_cast<size_t>(device)] &= ~bit(node);
}

/// What has begun and been sent by now.
void OrderSearch::look_back(const Timeline& timeline) {
  for (size_t node = 0; node < run_.size(); ++node)
    partial_.run[node] = run_[node]->start.count < partial_.now ? run_[node] : nullptr;
  const auto is_sent = [&](const Timeline::Transfer& one) {
    const int producer = graph_.tensors()[static_cast<size_t>(one.tensor)].producer;
    const Timeline::Run* run = partial_.run[static_cast<size_t>(producer)];
    return run != nullptr && run->end.count <= partial_.now;
  };
  const auto last = std::ranges::find_if_not(timeline.transfers, is_sent);
  partial_.transfers = std::span(timeline.transfers.begin(), last);
}

/// Of what goes on from now.
double OrderSearch::bound_of(const Timeline& timeline, double bound) {
  std::vector<int64_t> bytes = bytes_;
  for (const Timeline::MemoryStep& step : timeline.memory) {
    if (step.time.count >= partial_.now) break;
    int64_t& most = bytes[static_cast<size_t>(step.device)];
    most = std::max(most, step.bytes);
  }
  const Outcome least = outcome_of(bound_.of(partial_), bytes, evaluator_.topology());
  return std::max(bound, evaluator_.cost(least));
}

/// Those that may be best next, the ones that can begin early first. Where nothing is limited,
/// starting a node earlier delays none, so that one that can be done before another begins need not
/// come after it.
std::vector<int> OrderSearch::undominated(const std::vector<int>& nodes) const {
  const auto comes_before = [&](int node, int other) {
    for (uint64_t rest = inputs_[static_cast<size_t>(node)]; rest != 0; rest &= rest - 1)
      if (partial_.run[static_cast<size_t>(std::countr_zero(rest))] == nullptr) return false;
    return bound_.ends(node) > bound_.begins(node) && bound_.ends(node) <= bound_.begins(other);
  };
  std::vector<int> left;
  for (const int node : nodes)
    if (!is_free_ ||
        std::ranges::none_of(nodes, [&](int other) { return comes_before(other, node); }))
      left.push_back(node);
  std::ranges::stable_sort(left, {}, [&](int node) { return bound_.begins(node); });
  return left;
}

}  // namespace reverie
