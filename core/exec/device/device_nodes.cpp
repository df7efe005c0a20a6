#include "core/exec/device/device_nodes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/exec/arena.h"
#include "core/exec/device/device_tensors.h"

namespace reverie {

using device::Buffer;
using device::BufferId;
using device::Builder;
using device::Device;
using device::DeviceMemory;
using device::Step;

namespace {

constexpr int64_t kAlignment = 256;  // as devices allocate

/// By buffer: the steps from the first to the last that use it; none where `last` is negative.
std::vector<Lifetime> uses_of(const Builder& builder) {
  std::vector<Lifetime> uses;
  for (const Buffer& buffer : builder.buffers)
    uses.push_back({.bytes = buffer.bytes, .first = 0, .last = -1});
  for (size_t step = 0; step < builder.steps.size(); ++step) {
    std::vector<BufferId> used = builder.steps[step].memory;
    if (builder.steps[step].workspace >= 0) used.push_back(builder.steps[step].workspace);
    for (const BufferId buffer : used) {
      Lifetime& use = uses[static_cast<size_t>(buffer)];
      if (use.last < 0) use.first = static_cast<int>(step);
      use.last = static_cast<int>(step);
    }
  }
  return uses;
}

void require_kernels(const Builder& builder, Device& device) {
  std::vector<std::string> missing;
  for (const auto& [op, count] : builder.fallbacks) missing.push_back(op);
  if (!missing.empty())
    throw InputError("{} has no kernel for {}", device.info().name, fmt::join(missing, ", "));
}

}  // namespace

DeviceNodes::DeviceNodes(Device& device, const Graph& graph, const WeightSource& weights)
    : device_(device), interface_(graph), steps_(static_cast<size_t>(graph.node_capacity())) {
  Builder builder(graph, device, weights);
  builder.build();
  require_kernels(builder, device);
  inputs_ = builder.inputs;
  outputs_ = builder.outputs;
  place(builder);
  for (Step& step : builder.steps)
    steps_[static_cast<size_t>(step.node.index)].push_back(std::move(step));
}

/// What the steps of one node use alone is scratch, and shares it with that of others.
void DeviceNodes::place(const Builder& builder) {
  constant_.assign(builder.buffers.size(), nullptr);
  offset_.assign(builder.buffers.size(), -1);
  value_bytes_.assign(builder.buffers.size(), 0);
  std::vector<Lifetime> uses = uses_of(builder), scratch;
  std::vector<size_t> in_scratch;
  const auto step = [&](int number) -> const Step& {
    return builder.steps[static_cast<size_t>(number)];
  };
  for (size_t i = 0; i < uses.size(); ++i) {
    const Buffer& buffer = builder.buffers[i];
    const bool is_interface = std::ranges::count(inputs_, static_cast<BufferId>(i)) > 0 ||
                              std::ranges::count(outputs_, static_cast<BufferId>(i)) > 0;
    if (buffer.is_constant()) {
      constant_[i] = weights_.emplace_back(device_, buffer.bytes).get();
      device_.upload(constant_[i], buffer.constant.bytes());
    } else if (is_interface ||
               (uses[i].last >= 0 && step(uses[i].first).node != step(uses[i].last).node)) {
      value_bytes_[i] = buffer.bytes;
    } else if (uses[i].last >= 0) {
      scratch.push_back(uses[i]);
      in_scratch.push_back(i);
    }
  }
  const ArenaLayout layout = plan_arena(scratch, kAlignment);
  scratch_bytes_ = std::max<int64_t>(layout.bytes, 1);
  for (size_t i = 0; i < in_scratch.size(); ++i) offset_[in_scratch[i]] = layout.offsets[i];
}

std::byte* DeviceNodes::at(BufferId buffer, const Values& values, std::byte* scratch) const {
  const auto place = static_cast<size_t>(buffer);
  if (constant_[place] != nullptr) return constant_[place];
  return offset_[place] >= 0 ? scratch + offset_[place] : values.at[place];
}

DeviceNodes::Values DeviceNodes::values() const {
  Values values;
  for (const int64_t bytes : value_bytes_)
    values.at.push_back(bytes == 0 ? nullptr : values.blocks.emplace_back(device_, bytes).get());
  return values;
}

void DeviceNodes::upload(std::span<const Tensor> inputs, const Values& values) {
  interface_.check(inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    device::upload(device_, inputs[i], at(inputs_[i], values, nullptr));
}

void DeviceNodes::launch(NodeId node, const Values& values, std::byte* scratch) {
  for (Step& step : steps_[static_cast<size_t>(node.index)]) {
    std::vector<std::byte*> memory;
    for (const BufferId buffer : step.memory) memory.push_back(at(buffer, values, scratch));
    step.kernel->launch(memory, step.workspace < 0 ? nullptr : at(step.workspace, values, scratch));
  }
}

std::vector<Tensor> DeviceNodes::outputs(const Values& values) const {
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs_.size(); ++i)
    results.push_back(
        device::downloaded(device_, interface_.output_types[i], at(outputs_[i], values, nullptr)));
  return results;
}

}  // namespace reverie
