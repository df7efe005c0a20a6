#pragma once

#include "core/exec/cuda/module/kernels.h"

namespace reverie::device::cuda {

/// What is done with a dense result of `shape` where the library that computed it does not:
/// result = activation(result + bias + residual), the bias along `bias_axis`.
struct Epilogue {
  DType dtype = DType::kFloat32;
  Shape shape;
  size_t bias_axis = 0;
  bool has_bias = false, has_residual = false;
  Activation activation = Activation::kNone;
};

/// A kernel for the memory of a Product or Convolution, whose last pieces are the bias where there
/// is one, the residual where there is one, and the result. nullptr where there is nothing to do.
KernelPtr prepare_epilogue(const ContextPtr& context, const Epilogue& epilogue);

/// `first`, and then `second` where there is one, in the workspace of the first.
KernelPtr in_sequence(KernelPtr first, KernelPtr second);

}  // namespace reverie::device::cuda
