#include "core/exec/cuda/module/epilogue.h"

#include <array>

namespace reverie::device::cuda {
namespace {

Strides dense_strides(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

}  // namespace

KernelPtr prepare_epilogue(const ContextPtr& context, const Epilogue& epilogue) {
  const size_t addends = size_t{epilogue.has_bias} + size_t{epilogue.has_residual};
  if (addends == 0 && epilogue.activation == Activation::kNone) return nullptr;
  constexpr std::array kFunctions = {Function::kIdentity, Function::kAdd, Function::kSum};
  const Operand dense{epilogue.dtype, dense_strides(epilogue.shape)};
  Elementwise call{.function = kFunctions[addends],
                   .activation = epilogue.activation,
                   .result = epilogue.dtype,
                   .shape = epilogue.shape,
                   .operands = {dense}};
  if (epilogue.has_bias) {
    Operand bias{epilogue.dtype, Strides(epilogue.shape.size(), 0)};
    bias.strides[epilogue.bias_axis] = 1;
    call.operands.push_back(bias);
  }
  if (epilogue.has_residual) call.operands.push_back(dense);
  std::shared_ptr<Kernel> kernel = prepare(context, call);
  return make_kernel([kernel, addends](Memory memory, std::byte* workspace) {
    std::array<std::byte*, 4> pieces{memory.back()};  // the result, what is added, and the result
    const Memory last = memory.last(addends + 1);
    std::copy(last.begin(), last.end(), pieces.begin() + 1);
    kernel->launch(Memory(pieces).first(addends + 2), workspace);
  });
}

KernelPtr in_sequence(KernelPtr first, KernelPtr second) {
  if (first == nullptr || second == nullptr) return first;
  const int64_t workspace = first->workspace_bytes();
  return make_kernel(
      [first = std::move(first), second = std::move(second)](Memory memory, std::byte* space) {
        first->launch(memory, space);
        second->launch(memory, space);
      },
      workspace);
}

}  // namespace reverie::device::cuda
