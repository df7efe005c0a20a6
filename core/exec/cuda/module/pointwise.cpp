#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/cuda/module/nvrtc.h"
#include "core/exec/device/kernel_source.h"

namespace reverie::device::cuda {
namespace {

std::string architecture_of(const Context& context) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context.ordinal),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, context.ordinal),
        "cudaDeviceGetAttribute");
  return fmt::format("sm_{}{}", major, minor);
}

cudaKernel_t load(const std::string& cubin) {
  cudaLibrary_t library = nullptr;  // never unloaded, as the cache that holds its kernel
  check(cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cudaLibraryLoadData");
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library, kKernelName), "cudaLibraryGetKernel");
  return kernel;
}

/// Compiled once in a process; nullptr where that fails, which is said once.
cudaKernel_t kernel_of(const Context& context, const std::string& source) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<std::string, std::string>, cudaKernel_t>;
  static bool said = false;
  const std::string architecture = architecture_of(context);
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = known.try_emplace({architecture, source}, nullptr);
  if (!is_new) return place->second;
  try {
    place->second = load(compiled(source, architecture));
  } catch (const DeviceError&) {
    throw;
  } catch (const InputError& error) {
    if (!said) fmt::print(stderr, "CUDA: fused kernels are interpreted (slow): {}\n", error.what());
    said = true;
  }
  return place->second;
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Pointwise& call) {
  if (element_count(call.shape) == 0) return nothing_to_do();
  const KernelSource source = source_of(call);
  std::shared_ptr<Kernel> any = prepare_any_pointwise(context, call);
  const cudaKernel_t kernel = kernel_of(
      *context, fmt::format("{}{}{}", functions_text(), cuda_prelude(call.dtype), source.text));
  const auto bytes = static_cast<uintptr_t>(source.width * size_of(call.dtype));
  const unsigned blocks = blocks_for(*context, source.units);
  return make_kernel([=](Memory memory, std::byte* space) {
    std::byte* pointers[kMaxPointwiseOperands + 1];
    void* arguments[kMaxPointwiseOperands + 1];
    bool is_aligned = true;  // memory that is read element by element, too: it costs nothing
    for (size_t i = 0; i < memory.size(); ++i) {
      pointers[i] = memory[i];
      arguments[i] = &pointers[i];
      is_aligned = is_aligned && reinterpret_cast<uintptr_t>(memory[i]) % bytes == 0;
    }
    if (kernel == nullptr || !is_aligned) return any->launch(memory, space);
    check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(kThreads),
                           arguments, 0, context->stream()),
          "launch of Pointwise");
  });
}

}  // namespace reverie::device::cuda
