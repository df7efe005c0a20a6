#pragma once

#include <memory>
#include <span>
#include <utility>

#include "core/exec/cuda/module/context.h"
#include "core/exec/device/calls.h"
#include "core/exec/device/device.h"

/// Kernels for calls, as Device::prepare wants them.
namespace reverie::device::cuda {

using KernelPtr = std::unique_ptr<Kernel>;
using Memory = std::span<std::byte* const>;

/// A kernel from a function of what is read and written and of the workspace.
template <typename Launch>
class LaunchKernel final : public Kernel {
 public:
  LaunchKernel(Launch launch, int64_t workspace)
      : launch_(std::move(launch)), workspace_(workspace) {}
  int64_t workspace_bytes() const override { return workspace_; }
  void launch(Memory memory, std::byte* workspace) override { launch_(memory, workspace); }

 private:
  Launch launch_;
  int64_t workspace_;
};

template <typename Launch>
KernelPtr make_kernel(Launch launch, int64_t workspace = 0) {
  return std::make_unique<LaunchKernel<Launch>>(std::move(launch), workspace);
}

/// For calls that have nothing to write.
inline KernelPtr nothing_to_do() {
  return make_kernel([](Memory, std::byte*) {});
}

KernelPtr prepare(const ContextPtr& context, const Elementwise& call);
KernelPtr prepare(const ContextPtr& context, const Pointwise& call);
KernelPtr prepare(const ContextPtr& context, const Movement& call);
KernelPtr prepare(const ContextPtr& context, const Fill& call);
KernelPtr prepare(const ContextPtr& context, const Gather& call);
KernelPtr prepare(const ContextPtr& context, const Product& call);
KernelPtr prepare(const ContextPtr& context, const Convolution& call);
KernelPtr prepare(const ContextPtr& context, const Pooling& call);
KernelPtr prepare(const ContextPtr& context, const Softmax& call);
KernelPtr prepare(const ContextPtr& context, const LayerNormalization& call);
KernelPtr prepare(const ContextPtr& context, const Reduction& call);
KernelPtr prepare(const ContextPtr& context, const Attention& call);

/// For what NVRTC compiles no kernel for, or memory that is not aligned for it.
KernelPtr prepare_any_pointwise(const ContextPtr& context, const Pointwise& call);
/// Kernels of this library for what cuDNN does not take.
KernelPtr prepare_any_pooling(const ContextPtr& context, const Pooling& call);
KernelPtr prepare_any_softmax(const ContextPtr& context, const Softmax& call);

}  // namespace reverie::device::cuda
