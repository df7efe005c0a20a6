#pragma once

#include <cudnn_graph.h>
#include <library_types.h>

#include "core/ir/types.h"

namespace reverie::device::cuda {

/// The element types in which the libraries compute.
inline bool is_16_or_32_bit_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

inline cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::kFloat16) return CUDA_R_16F;
  return dtype == DType::kBFloat16 ? CUDA_R_16BF : CUDA_R_32F;
}

inline cudnnDataType_t cudnn_type(DType dtype) {
  if (dtype == DType::kFloat16) return CUDNN_DATA_HALF;
  return dtype == DType::kBFloat16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
}

}  // namespace reverie::device::cuda
