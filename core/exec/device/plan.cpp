#include <algorithm>

#include "core/base/error.h"
#include "core/exec/arena.h"
#include "core/exec/device/builder.h"
#include "core/exec/device/device_executor.h"
#include "core/exec/device/device_memory.h"
#include "core/exec/device/device_tensors.h"
#include "core/exec/device/fuse.h"
#include "core/exec/draw.h"
#include "core/exec/graph_interface.h"
#include "core/exec/reference/reference.h"

namespace reverie {

using device::Buffer;
using device::BufferId;
using device::Builder;
using device::Device;
using device::DeviceMemory;
using device::HostNode;
using device::Step;

struct DevicePlan::Impl {
  Impl(Device& device, const Graph& graph, const WeightSource& weights, bool poison);

  void place(const Builder& builder);
  std::vector<Lifetime> lifetimes(const Builder& builder, std::vector<BufferId>& blocks) const;
  void run_on_host(const Step& step) const;
  std::vector<std::byte*> memory_of(const Step& step) const;
  std::byte* memory_of(BufferId buffer) const { return memory[static_cast<size_t>(buffer)]; }
  void launch();

  Device& device;
  bool poison;
  GraphInterface interface;
  std::vector<BufferId> inputs, outputs;
  std::vector<int64_t> index_limits;  ///< by input: what numbers a table's rows is below this
  std::map<std::string, int> fallbacks;
  std::vector<Step> steps;
  std::vector<DeviceMemory> blocks;  ///< of weights, then the arena
  std::vector<std::byte*> memory;    ///< by buffer; null where nothing uses it
  int64_t weight_bytes = 0, arena_bytes = 0;
  std::byte* arena = nullptr;
};

DevicePlan::Impl::Impl(Device& d, const Graph& graph, const WeightSource& weights, bool poisoned)
    : device(d), poison(poisoned), interface(graph) {
  const Graph as_run = fused(graph);
  Builder builder(as_run, device, weights);
  builder.build();
  inputs = builder.inputs;
  outputs = builder.outputs;
  const Graph* const graphs[] = {&graph};
  const DrawPlan roles(graphs);
  for (const std::string& name : interface.input_names)
    index_limits.push_back(roles.input(name).index_limit);
  fallbacks = builder.fallbacks;
  for (const auto& [op, count] : fallbacks) say_fallback("device", op);
  place(builder);
  steps = std::move(builder.steps);
}

/// `ids` receives, for each lifetime, the buffer it belongs to. Constants have none.
std::vector<Lifetime> DevicePlan::Impl::lifetimes(const Builder& builder,
                                                  std::vector<BufferId>& ids) const {
  constexpr int kNever = -1;
  const int end = static_cast<int>(builder.steps.size());
  std::vector<Lifetime> lives(builder.buffers.size(), {.bytes = 0, .first = end, .last = kNever});
  const auto use = [&](BufferId buffer, int step) {
    if (buffer < 0) return;
    Lifetime& life = lives[static_cast<size_t>(buffer)];
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  };
  for (const BufferId buffer : inputs) {  // kept, for `launch` to find them again
    use(buffer, 0);
    use(buffer, end);
  }
  for (const BufferId buffer : outputs) use(buffer, end);
  for (int i = 0; i < end; ++i) {
    for (const BufferId buffer : builder.steps[static_cast<size_t>(i)].memory) use(buffer, i);
    use(builder.steps[static_cast<size_t>(i)].workspace, i);
  }
  std::vector<Lifetime> result;
  for (size_t i = 0; i < lives.size(); ++i) {
    if (builder.buffers[i].is_constant() || lives[i].last == kNever) continue;
    lives[i].bytes = builder.buffers[i].bytes;
    result.push_back(lives[i]);
    ids.push_back(static_cast<BufferId>(i));
  }
  return result;
}

void DevicePlan::Impl::place(const Builder& builder) {
  constexpr int64_t kAlignment = 256;  // as devices allocate
  memory.assign(builder.buffers.size(), nullptr);
  for (size_t i = 0; i < memory.size(); ++i) {
    const Buffer& buffer = builder.buffers[i];
    if (!buffer.is_constant()) continue;
    memory[i] = blocks.emplace_back(device, buffer.bytes).get();
    device.upload(memory[i], buffer.constant.bytes());
    weight_bytes += buffer.bytes;
  }
  std::vector<BufferId> ids;
  const std::vector<Lifetime> lives = lifetimes(builder, ids);
  const ArenaLayout layout = plan_arena(lives, kAlignment);
  arena_bytes = std::max<int64_t>(layout.bytes, 1);
  arena = blocks.emplace_back(device, arena_bytes).get();
  for (size_t i = 0; i < ids.size(); ++i)
    memory[static_cast<size_t>(ids[i])] = arena + layout.offsets[i];
}

void DevicePlan::Impl::run_on_host(const Step& step) const {
  const std::vector<std::byte*> at = memory_of(step);
  std::vector<Tensor> inputs_of_node;
  size_t next = 0;
  for (const TensorType& type : step.host.inputs)
    inputs_of_node.push_back(type.known() ? downloaded(device, type, at[next++]) : Tensor());
  for (const Tensor& result : evaluate_node(*step.host.op, *step.host.attributes, inputs_of_node))
    upload(device, result, at[next++]);
}

std::vector<std::byte*> DevicePlan::Impl::memory_of(const Step& step) const {
  std::vector<std::byte*> result;
  for (const BufferId buffer : step.memory) result.push_back(memory_of(buffer));
  return result;
}

void DevicePlan::Impl::launch() {
  for (const Step& step : steps) {
    if (step.kernel == nullptr) {
      run_on_host(step);
    } else {
      step.kernel->launch(memory_of(step),
                          step.workspace < 0 ? nullptr : memory_of(step.workspace));
    }
  }
}

DevicePlan::DevicePlan(Device& device, const Graph& graph, const WeightSource& weights, bool poison)
    : impl_(std::make_unique<Impl>(device, graph, weights, poison)) {}
DevicePlan::~DevicePlan() = default;
DevicePlan::DevicePlan(DevicePlan&&) noexcept = default;
DevicePlan& DevicePlan::operator=(DevicePlan&&) noexcept = default;

std::vector<Tensor> DevicePlan::run(std::span<const Tensor> tensors) {
  Impl& plan = *impl_;
  plan.interface.check(tensors);
  if (plan.poison) plan.device.set(plan.arena, std::byte{0xff}, plan.arena_bytes);  // NaN
  for (size_t i = 0; i < tensors.size(); ++i)
    device::upload(plan.device, tensors[i], plan.memory_of(plan.inputs[i]));
  plan.launch();
  plan.device.synchronize();
  std::vector<Tensor> results;
  for (size_t i = 0; i < plan.outputs.size(); ++i)
    results.push_back(device::downloaded(plan.device, plan.interface.output_types[i],
                                         plan.memory_of(plan.outputs[i])));
  return results;
}

void DevicePlan::draw_inputs(Rng& rng) {
  for (size_t i = 0; i < impl_->inputs.size(); ++i) {
    const TensorType& type = impl_->interface.input_types[i];
    Tensor tensor(type);
    std::fill(tensor.bytes().begin(), tensor.bytes().end(), std::byte{0});
    if (type.dtype == DType::kFloat32) {
      for (float& value : tensor.data<float>()) value = static_cast<float>(rng.uniform(-1, 1));
    } else if (!is_floating(type.dtype)) {
      tensor = draw(type, {.index_limit = impl_->index_limits[i]}, rng.fork(i));
    }
    device::upload(impl_->device, tensor, impl_->memory_of(impl_->inputs[i]));
  }
}

void DevicePlan::launch() { impl_->launch(); }
const std::map<std::string, int>& DevicePlan::fallbacks() const { return impl_->fallbacks; }
int64_t DevicePlan::weight_bytes() const { return impl_->weight_bytes; }
int64_t DevicePlan::arena_bytes() const { return impl_->arena_bytes; }

int DevicePlan::kernels() const {
  return static_cast<int>(std::count_if(impl_->steps.begin(), impl_->steps.end(),
                                        [](const Step& step) { return step.kernel != nullptr; }));
}

}  // namespace reverie
