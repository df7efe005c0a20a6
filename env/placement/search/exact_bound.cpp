#include "env/placement/search/exact_bound.h"

#include <algorithm>
#include <functional>
#include <ranges>

namespace reverie {

std::vector<int64_t> least_bytes(const CostGraph& graph, const std::vector<int>& device,
                                 int devices) {
  std::vector<int64_t> persistent(static_cast<size_t>(devices)), running(persistent);
  for (int node = 0; node < graph.size(); ++node) {
    const int on = device[static_cast<size_t>(node)];
    if (on == PartialSchedule::kOpen) continue;
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    int64_t bytes = one.temporary_bytes;
    const auto add = [&](int tensor) {
      bytes += graph.tensors()[static_cast<size_t>(tensor)].bytes;
    };
    std::ranges::for_each(graph.inputs(node), add);
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor) add(tensor);
    persistent[static_cast<size_t>(on)] += one.persistent_bytes;
    running[static_cast<size_t>(on)] = std::max(running[static_cast<size_t>(on)], bytes);
  }
  std::ranges::transform(persistent, running, persistent.begin(), std::plus());
  return persistent;
}

Outcome outcome_of(Picoseconds makespan, std::span<const int64_t> bytes, const Topology& topology) {
  Outcome outcome{.makespan = makespan};
  for (size_t device = 0; device < bytes.size(); ++device) {
    outcome.peak_bytes = std::max(outcome.peak_bytes, bytes[device]);
    outcome.bytes_over +=
        std::max<int64_t>(bytes[device] - topology.devices[device].memory_bytes, 0);
  }
  return outcome;
}

int64_t one_machine_bound(std::vector<MachineJob>& jobs) {
  std::ranges::sort(jobs, std::greater(), &MachineJob::tail);
  int64_t now = 0, bound = 0;
  while (!jobs.empty()) {
    int64_t next = std::numeric_limits<int64_t>::max();
    auto best = jobs.begin();
    for (; best != jobs.end() && best->release > now; ++best) next = std::min(next, best->release);
    if (best == jobs.end()) {
      now = next;
      continue;
    }
    const int64_t run = std::min(best->time, next - now);
    now += run;
    best->time -= run;
    if (best->time > 0) continue;
    bound = std::max(bound, now + best->tail);
    jobs.erase(best);
  }
  return bound;
}

ScheduleBound::ScheduleBound(const Simulator& simulator) : simulator_(&simulator) {
  const CostGraph& graph = simulator.graph();
  const Topology& topology = simulator.topology();
  for (int node = 0; node < graph.size(); ++node) {
    Picoseconds fastest = simulator.cost(node, 0);
    for (int device = 1; device < topology.size(); ++device)
      fastest = std::min(fastest, simulator.cost(node, device));
    fastest_.push_back(fastest.count);
  }
  head_.resize(fastest_.size());
  tail_.resize(fastest_.size());
}

Picoseconds ScheduleBound::of(const PartialSchedule& partial) {
  begin(partial);
  heads(partial);
  tails(partial);
  list_sendings(partial);
  return {std::max({longest_path(), busiest_device(partial), busiest_engine()})};
}

void ScheduleBound::begin(const PartialSchedule& partial) {
  const Topology& topology = simulator_->topology();
  const auto devices = static_cast<size_t>(topology.size());
  time_ = fastest_;
  for (size_t node = 0; node < time_.size(); ++node)
    if (partial.device[node] != PartialSchedule::kOpen)
      time_[node] = simulator_->cost(static_cast<int>(node), partial.device[node]).count;
  arrived_.assign(simulator_->graph().tensors().size() * devices, -1);
  sends_until_.assign(devices, 0);
  receives_until_.assign(devices, 0);
  bus_until_.assign(static_cast<size_t>(topology.buses), 0);
  for (const Timeline::Transfer& one : partial.transfers) {
    const auto from = static_cast<size_t>(one.from), to = static_cast<size_t>(one.to);
    arrived_[static_cast<size_t>(one.tensor) * devices + to] = one.end.count;
    sends_until_[from] = std::max(sends_until_[from], one.end.count);
    receives_until_[to] = std::max(receives_until_[to], one.end.count);
    if (const int bus = topology.link(one.from, one.to).bus; bus >= 0) {
      int64_t& until = bus_until_[static_cast<size_t>(bus)];
      until = std::max(until, one.end.count);
    }
  }
}

int64_t ScheduleBound::engines_free(int from, int to) const {
  const Topology& topology = simulator_->topology();
  const int bus = topology.link(from, to).bus;
  int64_t free = 0;
  if (topology.send_engines) free = std::max(free, sends_until_[static_cast<size_t>(from)]);
  if (topology.receive_engines) free = std::max(free, receives_until_[static_cast<size_t>(to)]);
  if (topology.shared_buses && bus >= 0)
    free = std::max(free, bus_until_[static_cast<size_t>(bus)]);
  return free;
}

int64_t ScheduleBound::there_at(const PartialSchedule& partial, int tensor, int device) const {
  const int producer = simulator_->graph().tensors()[static_cast<size_t>(tensor)].producer;
  const int home = partial.device[static_cast<size_t>(producer)];
  if (home == device || home == PartialSchedule::kOpen || device == PartialSchedule::kOpen)
    return ends(producer);
  const size_t cell =
      static_cast<size_t>(tensor) * sends_until_.size() + static_cast<size_t>(device);
  if (arrived_[cell] >= 0) return arrived_[cell];
  return std::max(ends(producer), engines_free(home, device)) +
         simulator_->transfer(tensor, home, device).count;
}

void ScheduleBound::heads(const PartialSchedule& partial) {
  last_.assign(sends_until_.size(), partial.now);  // ends of nodes that run first
  for (const int node : partial.order) {
    const auto i = static_cast<size_t>(node);
    const int device = partial.device[i];
    int64_t& head = head_[i];
    if (partial.run[i] != nullptr) {
      head = partial.run[i]->start.count;
    } else {
      head = device == PartialSchedule::kOpen ? partial.now : last_[static_cast<size_t>(device)];
      for (const int tensor : simulator_->graph().inputs(node))
        head = std::max(head, there_at(partial, tensor, device));
    }
    if (device == PartialSchedule::kOpen) continue;
    const auto at = static_cast<size_t>(device);
    if (std::ranges::count(partial.first[at], node) > 0)
      last_[at] = std::max(last_[at], ends(node));
  }
}

void ScheduleBound::tails(const PartialSchedule& partial) {
  const CostGraph& graph = simulator_->graph();
  last_.assign(sends_until_.size(), 0);  // what must pass after a node that runs first
  for (const int node : partial.order | std::views::reverse) {
    const auto i = static_cast<size_t>(node);
    const int device = partial.device[i];
    int64_t& tail = tail_[i];
    tail = 0;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers) {
        const auto at = static_cast<size_t>(reader);
        const int to = partial.device[at];
        const bool is_sent = device >= 0 && to >= 0 && to != device;
        const int64_t sent = is_sent ? simulator_->transfer(tensor, device, to).count : 0;
        tail = std::max(tail, sent + time_[at] + tail_[at]);
      }
    if (device == PartialSchedule::kOpen) continue;
    int64_t& after = last_[static_cast<size_t>(device)];
    if (std::ranges::count(partial.first[static_cast<size_t>(device)], node) > 0)
      tail = std::max(tail, after);
    after = std::max(after, time_[i] + tail);
  }
}

void ScheduleBound::list_sendings(const PartialSchedule& partial) {
  sendings_.clear();
  const auto& tensors = simulator_->graph().tensors();
  const auto devices = static_cast<int>(sends_until_.size());
  for (int tensor = 0; tensor < std::ssize(tensors); ++tensor) {
    const CostTensor& one = tensors[static_cast<size_t>(tensor)];
    const int from = partial.device[static_cast<size_t>(one.producer)];
    if (from == PartialSchedule::kOpen) continue;
    for (int to = 0; to < devices; ++to) {
      int64_t after = -1;
      for (const int reader : one.readers) {
        const auto at = static_cast<size_t>(reader);
        if (partial.device[at] == to) after = std::max(after, time_[at] + tail_[at]);
      }
      const auto cell = static_cast<size_t>(tensor * devices + to);
      if (to == from || after < 0 || arrived_[cell] >= 0) continue;
      sendings_.push_back({from,
                           to,
                           {std::max(ends(one.producer), engines_free(from, to)),
                            simulator_->transfer(tensor, from, to).count, after}});
    }
  }
}

int64_t ScheduleBound::longest_path() const {
  int64_t longest = 0;
  for (size_t i = 0; i < head_.size(); ++i)
    longest = std::max(longest, head_[i] + time_[i] + tail_[i]);
  return longest;
}

int64_t ScheduleBound::busiest_device(const PartialSchedule& partial) {
  int64_t busiest = 0;
  for (int device = 0; device < std::ssize(sends_until_); ++device) {
    jobs_.clear();
    for (size_t i = 0; i < head_.size(); ++i)
      if (partial.device[i] == device) jobs_.push_back({head_[i], time_[i], tail_[i]});
    busiest = std::max(busiest, one_machine_bound(jobs_));
  }
  return busiest;
}

int64_t ScheduleBound::busiest_engine() {
  const Topology& topology = simulator_->topology();
  int64_t busiest = 0;
  const auto look_at = [&](const auto& uses) {
    jobs_.clear();
    for (const Sending& one : sendings_)
      if (uses(one)) jobs_.push_back(one.job);
    busiest = std::max(busiest, one_machine_bound(jobs_));
  };
  for (int device = 0; device < topology.size(); ++device) {
    if (topology.send_engines) look_at([&](const Sending& one) { return one.from == device; });
    if (topology.receive_engines) look_at([&](const Sending& one) { return one.to == device; });
  }
  for (int bus = 0; topology.shared_buses && bus < topology.buses; ++bus)
    look_at([&](const Sending& one) { return topology.link(one.from, one.to).bus == bus; });
  return busiest;
}

}  // namespace reverie
