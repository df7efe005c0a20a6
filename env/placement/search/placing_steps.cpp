#include "env/placement/search/placing_steps.h"

#include <algorithm>
#include <cmath>

#include "env/placement/search/plan.h"

namespace reverie {
namespace {

constexpr double kLeastOwn = 0.1, kMostMemory = 1.5;

double as_number(Picoseconds time) { return static_cast<double>(time.count); }

/// By device, how much it has more than that which has least.
std::vector<double> above_least(std::vector<double> values) {
  const double least = std::ranges::min(values);
  for (double& value : values) value -= least;
  return values;
}

}  // namespace

PlacingOrder::PlacingOrder(const Simulator& simulator, const std::vector<int64_t>& priority)
    : simulator_(&simulator),
      entities_(simulator.graph()),
      nodes_(order_by(simulator.graph(), priority)) {
  sum_work();
  sum_transfers();
}

void PlacingOrder::sum_work() {
  const CostGraph& graph = simulator_->graph();
  const auto devices = static_cast<size_t>(simulator_->topology().size());
  bytes_.resize(static_cast<size_t>(entities_.size()));
  work_.resize(bytes_.size() * devices);
  double all = 0;
  for (int node = 0; node < graph.size(); ++node) {
    const auto entity = static_cast<size_t>(entities_.of(node));
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    bytes_[entity] += static_cast<double>(one.persistent_bytes);
    for (size_t device = 0; device < devices; ++device) {
      const double time = as_number(simulator_->cost(node, static_cast<int>(device)));
      work_[entity * devices + device] += time;
      all += time / static_cast<double>(devices);
    }
  }
  all = std::max(all, 1.0);
  mean_ = all / graph.size();
  share_ = all / static_cast<double>(devices);
}

void PlacingOrder::sum_transfers() {
  sent_.resize(bytes_.size());
  const auto& tensors = simulator_->graph().tensors();
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const double time = mean_transfer(*simulator_, static_cast<int>(tensor));
    const int from = entities_.of(tensors[tensor].producer);
    for (const int reader : tensors[tensor].readers) {
      const int to = entities_.of(reader);
      if (to == from) continue;
      sent_[static_cast<size_t>(from)].emplace_back(to, time);
      sent_[static_cast<size_t>(to)].emplace_back(from, time);
    }
  }
}

PlacingSteps::PlacingSteps(const PlacingOrder& order)
    : order_(&order),
      plan_(*order.simulator_),
      device_(order.bytes_.size(), -1),
      work_(static_cast<size_t>(order.simulator_->topology().size())),
      bytes_(work_.size()) {
  plan_.clear(0, Plan::Transfers::kQueued);
  schedule();
}

void PlacingSteps::schedule() {
  for (next_ = -1; scheduled_ < order_->nodes_.size(); ++scheduled_) {
    const int node = order_->nodes_[scheduled_], entity = order_->entities_.of(node);
    const int device = device_[static_cast<size_t>(entity)];
    if (device < 0) {
      next_ = entity;
      return;
    }
    plan_.put(node, device, plan_.earliest(node, device, /*gaps=*/false));
  }
}

std::vector<Timeline::Run> PlacingSteps::runs() const {
  std::vector<Timeline::Run> runs;
  for (size_t i = 0; i < scheduled_; ++i) {
    const int node = order_->nodes_[i];
    runs.push_back({node, plan_.device(node), {plan_.start(node)}, {plan_.end(node)}});
  }
  return runs;
}

void PlacingSteps::place(int device) {
  const auto entity = static_cast<size_t>(next_), to = static_cast<size_t>(device);
  device_[entity] = device;
  work_[to] += order_->work_[entity * work_.size() + to];
  bytes_[to] += order_->bytes_[entity];
  schedule();
}

/// Transfers of the next entity with those that are placed.
struct PlacingSteps::Near {
  std::vector<double> there;  ///< by device
  double all = 0;
};

PlacingSteps::Near PlacingSteps::near() const {
  Near near{std::vector<double>(work_.size())};
  for (const auto& [other, time] : order_->sent_[static_cast<size_t>(next_)]) {
    const int device = device_[static_cast<size_t>(other)];
    if (device < 0) continue;
    near.there[static_cast<size_t>(device)] += time;
    near.all += time;
  }
  return near;
}

void PlacingSteps::describe(float* columns) const {
  const auto entity = static_cast<size_t>(next_);
  const int node = order_->nodes_[scheduled_];
  const Simulator& simulator = *order_->simulator_;
  std::vector<double> start, end, ready, work;
  double own = 0;
  for (size_t i = 0; i < work_.size(); ++i) {
    const int device = static_cast<int>(i);
    const double time = order_->work_[entity * work_.size() + i];
    own += time / static_cast<double>(work_.size());
    start.push_back(static_cast<double>(plan_.earliest(node, device, /*gaps=*/false)));
    end.push_back(start.back() + as_number(simulator.cost(node, device)));
    ready.push_back(static_cast<double>(plan_.ready(node, device)));
    work.push_back(work_[i] + time);
  }
  own = std::max(own, kLeastOwn * order_->mean_);
  start = above_least(start), end = above_least(end), ready = above_least(ready);
  work = above_least(work);
  const Near near = this->near();
  for (size_t i = 0; i < work_.size(); ++i) {
    const auto memory = static_cast<double>(simulator.topology().devices[i].memory_bytes);
    const double bytes = (bytes_[i] + order_->bytes_[entity]) / std::max(1.0, memory);
    for (const double value :
         {std::log1p(start[i] / order_->mean_), std::log1p(end[i] / order_->mean_),
          std::log1p(ready[i] / order_->mean_), std::log1p(work[i] / own), work[i] / order_->share_,
          work_[i] / order_->share_, std::log1p(near.there[i] / own),
          std::log1p((near.all - near.there[i]) / own), std::min(bytes, kMostMemory)})
      *columns++ = static_cast<float>(value);
  }
}

}  // namespace reverie
