#include "core/exec/device/elements.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie::device {
namespace {

void copy_axes(const std::vector<int64_t>& from, int64_t* to) {
  REVERIE_CHECK(from.size() <= static_cast<size_t>(kMaxAxes), "a call of {} axes", from.size());
  std::copy(from.begin(), from.end(), to);
}

}  // namespace

int operands_of(Function function) {
  if (function == Function::kNormalize) return 5;
  if (function >= Function::kWhere) return 3;
  return function >= Function::kAdd ? 2 : 1;
}

ElementwiseWork work_of(const Elementwise& call) {
  REVERIE_CHECK_EQ(static_cast<int>(call.operands.size()), operands_of(call.function));
  ElementwiseWork work{.function = call.function,
                       .activation = call.activation,
                       .result = call.result,
                       .integers = true,
                       .alpha = static_cast<float>(call.alpha),
                       .beta = static_cast<float>(call.beta),
                       .axes = static_cast<int>(call.shape.size()),
                       .operands = static_cast<int>(call.operands.size()),
                       .elements = element_count(call.shape),
                       .extents = {},
                       .strides = {},
                       .dtypes = {}};
  copy_axes(call.shape, work.extents);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    copy_axes(call.operands[i].strides, work.strides[i]);
    work.dtypes[i] = call.operands[i].dtype;
    work.integers = work.integers && !is_floating(work.dtypes[i]);
  }
  return work;
}

PointwiseWork work_of(const Pointwise& call) {
  REVERIE_CHECK(call.operands.size() <= size_t{kMaxPointwiseOperands} &&
                    call.instructions.size() <= size_t{kMaxInstructions} &&
                    !call.operands.empty() && !call.instructions.empty(),
                "a call of {} operands and {} instructions", call.operands.size(),
                call.instructions.size());
  PointwiseWork work{.dtype = call.dtype,
                     .axes = static_cast<int>(call.shape.size()),
                     .operands = static_cast<int>(call.operands.size()),
                     .instructions = static_cast<int>(call.instructions.size()),
                     .elements = element_count(call.shape),
                     .extents = {},
                     .strides = {},
                     .steps = {}};
  copy_axes(call.shape, work.extents);
  for (size_t i = 0; i < call.operands.size(); ++i) copy_axes(call.operands[i], work.strides[i]);
  for (size_t i = 0; i < call.instructions.size(); ++i) {
    const Instruction& one = call.instructions[i];
    work.steps[i] = {one.function,
                     static_cast<float>(one.alpha),
                     static_cast<float>(one.beta),
                     {one.arguments[0], one.arguments[1], one.arguments[2]}};
  }
  return work;
}

PieceWork work_of(const Piece& piece) {
  PieceWork work{.axes = static_cast<int>(piece.shape.size()),
                 .elements = element_count(piece.shape),
                 .extents = {},
                 .source = piece.source,
                 .target = piece.target,
                 .source_strides = {},
                 .target_strides = {}};
  copy_axes(piece.shape, work.extents);
  copy_axes(piece.source_strides, work.source_strides);
  copy_axes(piece.target_strides, work.target_strides);
  return work;
}

PoolingWork work_of(const Pooling& call) {
  PoolingWork work{};
  work.dtype = call.dtype;
  work.kind = call.kind;
  work.planes = call.planes;
  const Window& window = call.window;
  for (size_t i = 0; i < 3; ++i) {
    work.in[i] = window.in[i];
    work.out[i] = window.out[i];
    work.kernel[i] = window.kernel[i];
    work.stride[i] = window.stride[i];
    work.dilation[i] = window.dilation[i];
    work.before[i] = window.before[i];
    work.after[i] = window.after[i];
  }
  return work;
}

ReductionWork work_of(const Reduction& call) {
  ReductionWork work{.dtype = call.dtype,
                     .kind = call.kind,
                     .kept_axes = static_cast<int>(call.kept.size()),
                     .reduced_axes = static_cast<int>(call.reduced.size()),
                     .results = element_count(call.kept),
                     .count = element_count(call.reduced),
                     .kept = {},
                     .reduced = {},
                     .kept_strides = {},
                     .reduced_strides = {}};
  copy_axes(call.kept, work.kept);
  copy_axes(call.reduced, work.reduced);
  copy_axes(call.kept_strides, work.kept_strides);
  copy_axes(call.reduced_strides, work.reduced_strides);
  return work;
}

}  // namespace reverie::device
