#include "env/placement/simulator/simulator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/error.h"

namespace reverie {
namespace {

// A rank: the kind of an event, then a node, or a tensor and a device.
constexpr int kKindAt = 62, kTensorAt = 6;
constexpr size_t kMostDevices = size_t{1} << kTensorAt;

uint64_t number_of(int tensor, int device) {
  return (static_cast<uint64_t>(tensor) << kTensorAt) | static_cast<uint64_t>(device);
}
int tensor_of(uint64_t number) { return static_cast<int>(number >> kTensorAt); }
int device_of(uint64_t number) { return static_cast<int>(number % kMostDevices); }

int64_t time_over(const Link& link, const CostTensor& tensor) {
  if (tensor.transfer != CostTensor::kByLink) return tensor.transfer.count;
  const double bytes = static_cast<double>(tensor.bytes);
  return link.latency.count + static_cast<int64_t>(std::ceil(1e12 * bytes / link.bytes_per_second));
}

}  // namespace

bool Simulator::RunsLater::operator()(const Ready& a, const Ready& b) const {
  return std::tuple(-a.priority, a.since, a.node) > std::tuple(-b.priority, b.since, b.node);
}

Simulator::Simulator(const CostGraph& graph, const Topology& topology)
    : graph_(&graph), topology_(&topology), devices_(topology.devices.size()) {
  REVERIE_CHECK(devices_ > 0 && topology.links.size() == devices_ * devices_);
  if (devices_ > kMostDevices)
    throw InputError("{} devices are too many: there can be {}", devices_, kMostDevices);
  std::vector<int> kinds;
  for (const Device& device : topology.devices) kinds.push_back(graph.kind_named(device.kind));
  for (int node = 0; node < graph.size(); ++node)
    for (const int kind : kinds) costs_.push_back(graph.cost(node, kind).count);
  forbid(kinds);
  flatten();
  std::map<std::pair<int64_t, double>, int> classes;
  for (const Link& link : topology.links) {
    const auto [place, is_new] = classes.try_emplace({link.latency.count, link.bytes_per_second},
                                                     static_cast<int>(classes.size()));
    link_class_.push_back(place->second);
    if (!is_new) continue;
    for (const CostTensor& tensor : graph.tensors())
      class_times_.push_back(time_over(link, tensor));
  }
  const auto nodes = static_cast<size_t>(graph.size());
  ready_.resize(devices_);
  for (auto& queue : ready_) queue.reserve(nodes);
  events_.reserve(nodes + 2 * readers_.size());
  lanes_.reserve(devices_, readers_.size());
  sent_to_.resize(graph.tensors().size());
  waiting_.resize(nodes);
  uses_.resize(graph.tensors().size() * devices_);
}

/// Notes which devices cannot run a node.
void Simulator::forbid(const std::vector<int>& kinds) {
  for (int node = 0; node < graph_->size(); ++node) {
    forbidden_.push_back(0);
    for (size_t device = 0; device < devices_; ++device)
      forbidden_.back() |= uint64_t{!graph_->can_run(node, kinds[device])} << device;
    if (forbidden_.back() == all_devices())
      throw InputError("none of the devices can run node '{}'",
                       graph_->nodes()[static_cast<size_t>(node)].name);
  }
}

uint64_t Simulator::all_devices() const { return ~uint64_t{0} >> (kMostDevices - devices_); }

void Simulator::require_groups() const {
  std::map<int, uint64_t> forbidden;
  for (int node = 0; node < graph_->size(); ++node) {
    const CostNode& one = graph_->nodes()[static_cast<size_t>(node)];
    if (one.group >= 0 &&
        (forbidden[one.group] |= forbidden_[static_cast<size_t>(node)]) == all_devices())
      throw InputError("none of the devices can run all of the colocation group of node '{}'",
                       one.name);
  }
}

void Simulator::flatten() {
  for (const CostTensor& tensor : graph_->tensors()) {
    tensors_.push_back({tensor.bytes, tensor.producer, static_cast<int>(readers_.size())});
    readers_.insert(readers_.end(), tensor.readers.begin(), tensor.readers.end());
  }
  tensors_.push_back({0, -1, static_cast<int>(readers_.size())});
  for (int node = 0; node < graph_->size(); ++node) {
    const auto [first, last] = graph_->outputs(node);
    int64_t outputs = 0;
    for (int tensor = first; tensor < last; ++tensor)
      outputs += tensors_[static_cast<size_t>(tensor)].bytes;
    nodes_.push_back({graph_->nodes()[static_cast<size_t>(node)].temporary_bytes, outputs,
                      static_cast<int>(inputs_.size()), first});
    const auto inputs = graph_->inputs(node);
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
  }
  nodes_.push_back(
      {0, 0, static_cast<int>(inputs_.size()), static_cast<int>(graph_->tensors().size())});
}

std::span<const int> Simulator::inputs(int node) const {
  const FlatNode* one = &nodes_[static_cast<size_t>(node)];
  return {inputs_.data() + one[0].first_input, inputs_.data() + one[1].first_input};
}

std::span<const int> Simulator::readers(size_t tensor) const {
  const FlatTensor* one = &tensors_[tensor];
  return {readers_.data() + one[0].first_reader, readers_.data() + one[1].first_reader};
}

Picoseconds Simulator::cost(int node, int device) const {
  return {costs_[static_cast<size_t>(node) * devices_ + static_cast<size_t>(device)]};
}

Picoseconds Simulator::transfer(int tensor, int from, int to) const {
  const auto link = static_cast<size_t>(from) * devices_ + static_cast<size_t>(to);
  const auto link_class = static_cast<size_t>(link_class_[link]);
  return {class_times_[link_class * graph_->tensors().size() + static_cast<size_t>(tensor)]};
}

Outcome Simulator::run(const Placement& placement, Dispatch dispatch, Timeline* timeline) {
  check(placement);
  placement_ = &placement;
  dispatch_ = dispatch;
  timeline_ = timeline;
  begin();
  start_nodes();
  while (!events_.empty()) {
    now_ = begun_before_ = events_.next_time();
    while (!events_.empty() && events_.next_time() == now_) handle(events_.pop());
    start_nodes();
  }
  if (timeline != nullptr)
    std::ranges::stable_sort(timeline->memory, {}, &Timeline::MemoryStep::time);
  if (done_ != placement.device.size())
    throw InputError("the priorities do not fit the graph: nodes wait for each other");
  for (size_t device = 0; device < devices_; ++device) {
    outcome_.peak_bytes = std::max(outcome_.peak_bytes, peak_[device]);
    const int64_t over = peak_[device] - topology_->devices[device].memory_bytes;
    outcome_.bytes_over += std::max<int64_t>(over, 0);
  }
  return outcome_;
}

void Simulator::check(const Placement& placement) const {
  const auto nodes = static_cast<size_t>(graph_->size());
  if (placement.device.size() != nodes)
    throw InputError("a placement of {} nodes does not fit a graph of {}", placement.device.size(),
                     nodes);
  if (!placement.priority.empty() && placement.priority.size() != nodes)
    throw InputError("{} priorities do not fit a graph of {} nodes", placement.priority.size(),
                     nodes);
  for (const int device : placement.device)
    if (device < 0 || device >= topology_->size())
      throw InputError("there is no device {}; there are {}", device, devices_);
}

void Simulator::begin() {
  now_ = begun_before_ = 0;
  done_ = 0;
  changed_ = 0;
  outcome_ = {};
  if (timeline_ != nullptr) *timeline_ = {};
  events_.clear();
  lanes_.clear(devices_);
  for (auto& queue : ready_) queue.clear();
  running_.assign(devices_, -1);
  used_.assign(devices_, 0);
  peak_.assign(devices_, 0);
  sends_until_.assign(devices_, 0);
  receives_until_.assign(devices_, 0);
  bus_until_.assign(static_cast<size_t>(topology_->buses), 0);
  count_uses();
  for (int node = 0; node < graph_->size(); ++node) {
    const auto device = placement_->device[static_cast<size_t>(node)];
    add_bytes(device, graph_->nodes()[static_cast<size_t>(node)].persistent_bytes);
    outcome_.misplaced += static_cast<int>(forbidden_[static_cast<size_t>(node)] >> device & 1);
    waiting_[static_cast<size_t>(node)] = static_cast<int>(inputs(node).size()) + 1;
    if (dispatch_ == Dispatch::kReady) continue;
    const auto& priority = placement_->priority;
    ready_[static_cast<size_t>(device)].push_back(
        {priority.empty() ? 0 : priority[static_cast<size_t>(node)], 0, node});
  }
  if (dispatch_ == Dispatch::kInOrder)
    for (auto& queue : ready_) std::ranges::sort(queue, RunsLater());
  for (int node = 0; node < graph_->size(); ++node) input_is_there(node);  // its place
}

/// Readers of each tensor on each device; at its producer's also the transfers
/// to other devices.
void Simulator::count_uses() {
  std::ranges::fill(uses_, 0);
  for (size_t i = 0; i + 1 < tensors_.size(); ++i) {
    const int home = placement_->device[static_cast<size_t>(tensors_[i].producer)];
    int* const uses = &uses_[i * devices_];
    uint64_t there = uint64_t{1} << home;
    for (const int reader : readers(i)) {
      const int device = placement_->device[static_cast<size_t>(reader)];
      uses[home] += static_cast<int>(~there >> device & 1);
      there |= uint64_t{1} << device;
      ++uses[device];
    }
    sent_to_[i] = there & ~(uint64_t{1} << home);
  }
}

void Simulator::push(int64_t time, EventKind kind, uint64_t number) {
  events_.push({time, (uint64_t{kind} << kKindAt) | number});
}

void Simulator::handle(const Event& event) {
  const uint64_t number = event.rank & ((uint64_t{1} << kKindAt) - 1);
  switch (static_cast<EventKind>(event.rank >> kKindAt)) {
    case kNodeEnds:
      return end_node(static_cast<int>(number));
    case kArrives:
      return arrive(number);
    case kTransferBegins:
      return add_bytes(device_of(number), tensors_[static_cast<size_t>(tensor_of(number))].bytes);
  }
}

void Simulator::end_node(int node) {
  const int device = placement_->device[static_cast<size_t>(node)];
  ++done_;
  outcome_.makespan = {now_};
  running_[static_cast<size_t>(device)] = -1;
  changed_ |= uint64_t{1} << device;
  const FlatNode* one = &nodes_[static_cast<size_t>(node)];
  add_bytes(device, -one->temporary);
  for (const int tensor : inputs(node)) take(tensor, device);
  for (int tensor = one[0].first_output; tensor < one[1].first_output; ++tensor) {
    for (uint64_t others = sent_to_[static_cast<size_t>(tensor)]; others != 0; others &= others - 1)
      request(tensor, device, std::countr_zero(others));
    for (const int reader : readers(static_cast<size_t>(tensor)))
      if (placement_->device[static_cast<size_t>(reader)] == device) input_is_there(reader);
  }
}

void Simulator::request(int tensor, int from, int to) {
  int64_t* const free[] = {
      topology_->send_engines ? &sends_until_[static_cast<size_t>(from)] : nullptr,
      topology_->receive_engines ? &receives_until_[static_cast<size_t>(to)] : nullptr,
      topology_->shared_buses && topology_->link(from, to).bus >= 0
          ? &bus_until_[static_cast<size_t>(topology_->link(from, to).bus)]
          : nullptr};
  int64_t start = now_;
  for (const int64_t* until : free)
    if (until != nullptr) start = std::max(start, *until);
  const int64_t end = start + transfer(tensor, from, to).count;
  for (int64_t* until : free)
    if (until != nullptr) *until = end;
  if (timeline_ != nullptr) timeline_->transfers.push_back({tensor, from, to, {start}, {end}});
  if (!topology_->receive_engines) push(start, kTransferBegins, number_of(tensor, to));
  if (!topology_->receive_engines || lanes_.add(static_cast<size_t>(to), {start, end, tensor}))
    push(end, kArrives, number_of(tensor, to));
}

void Simulator::arrive(uint64_t number) {
  const int tensor = tensor_of(number), device = device_of(number);
  const int producer = tensors_[static_cast<size_t>(tensor)].producer;
  if (topology_->receive_engines) next_arrival(static_cast<size_t>(device));
  take(tensor, placement_->device[static_cast<size_t>(producer)]);
  for (const int reader : readers(static_cast<size_t>(tensor)))
    if (placement_->device[static_cast<size_t>(reader)] == device) input_is_there(reader);
}

void Simulator::next_arrival(size_t device) {
  if (const ReceiveLanes::Transfer* next = lanes_.arrive(device); next != nullptr)
    push(next->end, kArrives, number_of(next->tensor, static_cast<int>(device)));
}

/// Nothing asks how much memory a device uses between its own events, so that what has begun since
/// the last one can wait for the next.
void Simulator::begin_transfers(size_t device) {
  while (lanes_.begins_at(device) < begun_before_) {
    const ReceiveLanes::Transfer& one = lanes_.begin(device);
    used_[device] += tensors_[static_cast<size_t>(one.tensor)].bytes;
    peak_[device] = std::max(peak_[device], used_[device]);
    if (timeline_ != nullptr)
      timeline_->memory.push_back({static_cast<int>(device), {one.start}, used_[device]});
  }
}

void Simulator::input_is_there(int node) {
  const auto i = static_cast<size_t>(node);
  if (--waiting_[i] > 0) return;
  const int device = placement_->device[i];
  changed_ |= uint64_t{1} << device;
  if (dispatch_ == Dispatch::kInOrder) return;
  auto& queue = ready_[static_cast<size_t>(device)];
  queue.push_back({placement_->priority.empty() ? 0 : placement_->priority[i], now_, node});
  std::ranges::push_heap(queue, RunsLater());
}

void Simulator::take(int tensor, int device) {
  if (--uses_[cell(tensor, device)] == 0)
    add_bytes(device, -tensors_[static_cast<size_t>(tensor)].bytes);
}

void Simulator::add_bytes(int device, int64_t bytes) {
  if (bytes == 0) return;
  const auto i = static_cast<size_t>(device);
  begin_transfers(i);
  used_[i] += bytes;
  peak_[i] = std::max(peak_[i], used_[i]);
  if (timeline_ != nullptr) timeline_->memory.push_back({device, {now_}, used_[i]});
}

void Simulator::start_nodes() {
  begun_before_ = now_ + 1;
  for (; changed_ != 0; changed_ &= changed_ - 1) {
    const auto device = static_cast<size_t>(std::countr_zero(changed_));
    if (running_[device] >= 0) continue;
    if (const int node = next_on(device); node >= 0) start(node, device);
  }
}

/// Takes it off the queue; -1 where nothing can run.
int Simulator::next_on(size_t device) {
  auto& queue = ready_[device];
  if (queue.empty()) return -1;
  if (dispatch_ == Dispatch::kReady) std::ranges::pop_heap(queue, RunsLater());
  const int node = queue.back().node;
  if (waiting_[static_cast<size_t>(node)] > 0) return -1;
  queue.pop_back();
  return node;
}

void Simulator::start(int node, size_t device) {
  const auto i = static_cast<size_t>(node);
  running_[device] = node;
  begin_transfers(device);
  add_bytes(static_cast<int>(device), nodes_[i].temporary + nodes_[i].outputs);
  const int64_t end = now_ + cost(node, static_cast<int>(device)).count;
  push(end, kNodeEnds, i);
  if (timeline_ != nullptr)
    timeline_->runs.push_back({node, static_cast<int>(device), {now_}, {end}});
}

}  // namespace reverie
