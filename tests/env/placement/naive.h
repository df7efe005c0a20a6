#pragma once

#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "env/placement/simulator/simulator.h"

namespace reverie::testing {

/// What Simulator does, by the words of its header alone and without a thought
/// for speed: no counters, no heaps; memory is counted when all is over. For
/// times of at least 1.
class NaiveSimulator {
 public:
  NaiveSimulator(const CostGraph& graph, const Topology& topology, const Placement& placement,
                 bool in_order)
      : graph_(graph), topology_(topology), placement_(placement), in_order_(in_order) {
    while (std::ssize(end_) < graph.size()) advance();
  }

  int64_t makespan() const {
    int64_t last = 0;
    for (const auto& [node, time] : end_) last = std::max(last, time);
    return last;
  }
  int64_t bytes_sent() const {
    int64_t bytes = 0;
    for (const auto& [tensor_to, times] : sent_) bytes += tensor(tensor_to.first).bytes;
    return bytes;
  }
  int64_t peak(int device) const {
    int64_t peak = 0;
    for (const int64_t moment : moments()) peak = std::max(peak, bytes_at(device, moment));
    return peak;
  }

 private:
  const CostTensor& tensor(int number) const {
    return graph_.tensors()[static_cast<size_t>(number)];
  }
  int device_of(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  int home_of(int number) const { return device_of(tensor(number).producer); }
  int64_t time_of(int node) const {
    const Device& device = topology_.devices[static_cast<size_t>(device_of(node))];
    return graph_.cost(node, graph_.kind_named(device.kind)).count;
  }

  /// When a tensor is on a device, or never.
  int64_t there_at(int number, int device) const {
    const auto ended = end_.find(tensor(number).producer);
    if (ended == end_.end() || ended->second > now_) return INT64_MAX;
    if (home_of(number) == device) return ended->second;
    const auto found = sent_.find({number, device});
    return found == sent_.end() ? INT64_MAX : found->second.second;
  }
  int64_t ready_at(int node) const {
    int64_t time = 0;
    for (const int input : graph_.inputs(node))
      time = std::max(time, there_at(input, device_of(node)));
    return time;
  }

  /// To the next moment at which anything ends, then what can begin does.
  void advance() {
    for (const auto& [node, time] : end_)
      if (time == now_) ask_for_transfers(node);
    for (int device = 0; device < topology_.size(); ++device) begin_on(device);
    int64_t next = INT64_MAX;
    for (const auto& [node, time] : end_)
      if (time > now_) next = std::min(next, time);
    for (const auto& [tensor_to, times] : sent_)
      if (times.second > now_) next = std::min(next, times.second);
    if (next == INT64_MAX && std::ssize(end_) < graph_.size()) throw std::runtime_error("stuck");
    if (next != INT64_MAX) now_ = next;
  }

  void ask_for_transfers(int node) {
    const auto [first, last] = graph_.outputs(node);
    for (int number = first; number < last; ++number) {
      std::set<int> others;
      for (const int reader : tensor(number).readers) others.insert(device_of(reader));
      others.erase(device_of(node));
      for (const int other : others) send(number, other);
    }
  }

  void send(int number, int to) {
    const int from = home_of(number);
    const Link& link = topology_.link(from, to);
    int64_t begin = now_;
    for (const auto& [tensor_to, times] : sent_) {
      const int from2 = home_of(tensor_to.first), to2 = tensor_to.second;
      const int bus2 = topology_.link(from2, to2).bus;
      if ((topology_.send_engines && from == from2) || (topology_.receive_engines && to == to2) ||
          (topology_.shared_buses && link.bus >= 0 && link.bus == bus2))
        begin = std::max(begin, times.second);
    }
    int64_t time = tensor(number).transfer.count;
    if (time < 0)
      time = link.latency.count +
             static_cast<int64_t>(std::ceil(1e12 * static_cast<double>(tensor(number).bytes) /
                                            link.bytes_per_second));
    sent_[{number, to}] = {begin, begin + time};
  }

  void begin_on(int device) {
    std::vector<std::tuple<int64_t, int64_t, int>> waiting;  // the first is the next
    for (int node = 0; node < graph_.size(); ++node) {
      if (device_of(node) != device) continue;
      const auto begun = end_.find(node);
      if (begun != end_.end() && begun->second > now_) return;  // it is busy
      if (begun != end_.end()) continue;
      const int64_t ready = ready_at(node);
      if (ready > now_ && !in_order_) continue;
      waiting.push_back(
          {-placement_.priority[static_cast<size_t>(node)], in_order_ ? 0 : ready, node});
    }
    if (waiting.empty()) return;
    const int node = std::get<2>(*std::ranges::min_element(waiting));
    if (ready_at(node) > now_) return;
    begin_[node] = now_;
    end_[node] = now_ + time_of(node);
  }

  std::set<int64_t> moments() const {
    std::set<int64_t> all = {0};
    for (const auto& [node, time] : begin_) all.insert(time);
    for (const auto& [tensor_to, times] : sent_) all.insert(times.first);
    return all;
  }

  /// From the moment on.
  int64_t bytes_at(int device, int64_t moment) const {
    const auto within = [&](int64_t first, int64_t last) {
      return first <= moment && moment < last;
    };
    int64_t bytes = 0;
    for (int node = 0; node < graph_.size(); ++node) {
      const CostNode& one = graph_.nodes()[static_cast<size_t>(node)];
      if (device_of(node) != device) continue;
      bytes += one.persistent_bytes;
      if (within(begin_.at(node), end_.at(node))) bytes += one.temporary_bytes;
    }
    for (int number = 0; number < std::ssize(graph_.tensors()); ++number) {
      const bool at_home = home_of(number) == device;
      const auto sent = sent_.find({number, device});
      if (!at_home && sent == sent_.end()) continue;
      const int producer = tensor(number).producer;
      const int64_t first = at_home ? begin_.at(producer) : sent->second.first;
      int64_t last = tensor(number).readers.empty() ? INT64_MAX : 0;
      for (const int reader : tensor(number).readers)
        if (device_of(reader) == device) last = std::max(last, end_.at(reader));
      if (at_home)
        for (const auto& [tensor_to, times] : sent_)
          if (tensor_to.first == number) last = std::max(last, times.second);
      if (within(first, last)) bytes += tensor(number).bytes;
    }
    return bytes;
  }

  const CostGraph& graph_;
  const Topology& topology_;
  const Placement& placement_;
  bool in_order_;
  int64_t now_ = 0;
  std::map<int, int64_t> begin_, end_;
  std::map<std::pair<int, int>, std::pair<int64_t, int64_t>> sent_;  // by tensor and device
};

}  // namespace reverie::testing
