#include <omp.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/base/error.h"
#include "core/exec/arena.h"
#include "core/exec/cpu/builder.h"
#include "core/exec/graph_interface.h"

namespace reverie {
namespace {

using cpu::Buffer;
using cpu::Builder;
using cpu::Slot;
using cpu::Step;

class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) {
    if (threads > 0) omp_set_num_threads(threads);
  }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

Tensor bytes_tensor(size_t bytes) {
  return Tensor({DType::kUInt8, {static_cast<int64_t>(std::max<size_t>(bytes, 1))}});
}

Tensor constant_tensor(const Buffer& buffer) {
  if (buffer.tensor.type().known()) return buffer.tensor;
  if (buffer.fill == nullptr) return bytes_tensor(buffer.bytes);
  const DType dtype = buffer.fill->type().dtype;
  const int64_t count = static_cast<int64_t>(buffer.bytes) / size_of(dtype);
  return Weight::constant({dtype, {count}}, buffer.fill->fill_value())->materialize();
}

/// By buffer: whether a step or an output is there.
std::vector<bool> used_buffers(const Builder& builder) {
  std::vector<bool> used(builder.buffers.size(), false);
  for (const Slot& slot : builder.outputs) used[static_cast<size_t>(slot.buffer)] = true;
  for (const Step& step : builder.steps)
    for (const auto& argument : step.arguments)
      used[static_cast<size_t>(argument.slot.buffer)] = true;
  return used;
}

}  // namespace

struct CpuPlan::Impl {
  /// A step with its memory.
  struct Kernel {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
    cpu::NativeKernel native;
    std::vector<std::byte*> memory;

    void execute(dnnl::stream& stream) const {
      if (native) {
        native(memory);
      } else {
        primitive.execute(stream, arguments);
      }
    }
  };

  Impl(const Graph& graph, const WeightSource& weights, CpuOptions options);

  void place(const Builder& builder);
  std::vector<Lifetime> lifetimes(const Builder& builder, std::vector<int>& blocks) const;
  Kernel bind(const Step& step) const;
  void set_up(const Builder& builder);
  void run_kernels();
  std::byte* memory_of(const Slot& slot) const { return memory[static_cast<size_t>(slot.buffer)]; }

  CpuOptions options;
  GraphInterface interface;
  std::vector<Slot> inputs, outputs;
  std::map<std::string, int> fallbacks;
  std::vector<Kernel> kernels;
  std::vector<Tensor> constants;   ///< by buffer; empty where the buffer is no constant
  std::vector<std::byte*> memory;  ///< by buffer
  Tensor arena;
  dnnl::stream stream{cpu::engine()};
};

CpuPlan::Impl::Impl(const Graph& graph, const WeightSource& weights, CpuOptions o)
    : options(o), interface(graph) {
  const ThreadCount threads(options.threads);
  Builder builder(graph, &weights, options);
  builder.build();
  inputs = builder.inputs;
  outputs = builder.outputs;
  fallbacks = builder.fallbacks;
  for (const auto& [op, count] : fallbacks) say_fallback("cpu", op);
  place(builder);
  set_up(builder);
}

/// `blocks` receives, for each lifetime, the buffer it belongs to.
std::vector<Lifetime> CpuPlan::Impl::lifetimes(const Builder& builder,
                                               std::vector<int>& blocks) const {
  constexpr int kNever = -1;
  const int end = static_cast<int>(builder.steps.size());
  std::vector<Lifetime> by_buffer(builder.buffers.size(),
                                  {.bytes = 0, .first = end, .last = kNever});
  const auto use = [&](const Slot& slot, int step) {
    if (slot.buffer < 0) return;
    Lifetime& life = by_buffer[static_cast<size_t>(slot.buffer)];
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  };
  for (const Slot& slot : inputs) {  // kept, for `execute` to find them again
    use(slot, 0);
    use(slot, end);
  }
  for (const Slot& slot : outputs) use(slot, end);
  for (int i = 0; i < end; ++i)
    for (const auto& argument : builder.steps[static_cast<size_t>(i)].arguments)
      use(argument.slot, i);
  std::vector<Lifetime> result;
  for (size_t i = 0; i < by_buffer.size(); ++i) {
    if (builder.buffers[i].constant || by_buffer[i].last == kNever) continue;
    by_buffer[i].bytes = static_cast<int64_t>(builder.buffers[i].bytes);
    result.push_back(by_buffer[i]);
    blocks.push_back(static_cast<int>(i));
  }
  return result;
}

void CpuPlan::Impl::place(const Builder& builder) {
  memory.assign(builder.buffers.size(), nullptr);
  constants.resize(builder.buffers.size());
  const std::vector<bool> used = used_buffers(builder);
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!builder.buffers[i].constant || !used[i]) continue;
    constants[i] = constant_tensor(builder.buffers[i]);
    memory[i] = constants[i].bytes().data();
  }
  std::vector<int> blocks;
  const std::vector<Lifetime> lives = lifetimes(builder, blocks);
  constexpr int64_t kCacheLine = 64;
  const ArenaLayout layout = plan_arena(lives, kCacheLine);
  arena = bytes_tensor(static_cast<size_t>(layout.bytes));
  for (size_t i = 0; i < blocks.size(); ++i)
    memory[static_cast<size_t>(blocks[i])] = arena.bytes().data() + layout.offsets[i];
}

CpuPlan::Impl::Kernel CpuPlan::Impl::bind(const Step& step) const {
  Kernel kernel{.primitive = step.primitive, .arguments = {}, .native = step.native, .memory = {}};
  for (const auto& [index, slot] : step.arguments) {
    if (step.native) {
      kernel.memory.push_back(memory_of(slot));
    } else {
      kernel.arguments.emplace(index, dnnl::memory(slot.desc, cpu::engine(), memory_of(slot)));
    }
  }
  return kernel;
}

/// Does the work on constants and lets go of those that no run needs.
void CpuPlan::Impl::set_up(const Builder& builder) {
  std::vector<bool> needed(memory.size(), false);
  for (const Slot& slot : outputs) needed[static_cast<size_t>(slot.buffer)] = true;
  for (const Step& step : builder.steps) {
    if (step.setup) {
      bind(step).execute(stream);
      continue;
    }
    kernels.push_back(bind(step));
    for (const auto& argument : step.arguments)
      needed[static_cast<size_t>(argument.slot.buffer)] = true;
  }
  stream.wait();
  for (size_t i = 0; i < needed.size(); ++i)
    if (!needed[i]) constants[i] = Tensor();
}

void CpuPlan::Impl::run_kernels() {
  for (const Kernel& kernel : kernels) kernel.execute(stream);
  stream.wait();
}

int cpu_threads(int threads) { return threads > 0 ? threads : omp_get_max_threads(); }

CpuPlan::CpuPlan(const Graph& graph, const WeightSource& weights, CpuOptions options)
    : impl_(std::make_unique<Impl>(graph, weights, options)) {}
CpuPlan::~CpuPlan() = default;
CpuPlan::CpuPlan(CpuPlan&&) noexcept = default;
CpuPlan& CpuPlan::operator=(CpuPlan&&) noexcept = default;

std::vector<Tensor> CpuPlan::run(std::span<const Tensor> tensors) {
  Impl& plan = *impl_;
  REVERIE_CHECK(!plan.options.free_layouts, "a plan with free layouts is for timing alone");
  plan.interface.check(tensors);
  const ThreadCount threads(plan.options.threads);
  if (plan.options.poison)
    std::fill(plan.arena.bytes().begin(), plan.arena.bytes().end(), std::byte{0xff});  // NaN
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto bytes = tensors[i].bytes();
    if (plan.memory_of(plan.inputs[i]) != nullptr)
      std::copy(bytes.begin(), bytes.end(), plan.memory_of(plan.inputs[i]));
  }
  plan.run_kernels();
  std::vector<Tensor> results;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    results.emplace_back(plan.interface.output_types[i]);
    std::copy_n(plan.memory_of(plan.outputs[i]), results[i].bytes().size(),
                results[i].bytes().data());
  }
  return results;
}

void CpuPlan::draw_inputs(Rng& rng) {
  for (size_t i = 0; i < impl_->inputs.size(); ++i) {
    const Slot& slot = impl_->inputs[i];
    if (slot.buffer < 0) continue;
    std::byte* memory = impl_->memory_of(slot);
    const size_t bytes = slot.desc.get_size();
    std::memset(memory, 0, bytes);
    if (impl_->interface.input_types[i].dtype != DType::kFloat32) continue;
    auto* values = reinterpret_cast<float*>(memory);
    for (size_t j = 0; j < bytes / sizeof(float); ++j)
      values[j] = static_cast<float>(rng.uniform(-1, 1));
  }
}

void CpuPlan::execute() {
  const ThreadCount threads(impl_->options.threads);
  impl_->run_kernels();
}

const std::map<std::string, int>& CpuPlan::fallbacks() const { return impl_->fallbacks; }
int CpuPlan::kernels() const { return static_cast<int>(impl_->kernels.size()); }
int64_t CpuPlan::arena_bytes() const { return impl_->arena.type().bytes(); }

}  // namespace reverie
