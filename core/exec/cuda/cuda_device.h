#pragma once

#include <memory>

#include "core/exec/device/device.h"

namespace reverie::device {

struct CudaOptions {
  Precision precision = Precision::kFloat32;  ///< how products of float32 tensors are computed
  int ordinal = 0;                            ///< number of the GPU
};

/// Whether this build has what open_cuda needs.
bool cuda_built();

/// An NVIDIA GPU. Loads libreverie_cuda.so from beside the executable or the shared library that
/// holds this code, or from where the system looks for libraries, and keeps it. InputError with one
/// line when this build has no CUDA, when the module or a library that it needs is missing, and
/// when there is no such GPU or its driver is too old. Other threads than the one that opened it
/// can launch on number 0 only.
std::unique_ptr<Device> open_cuda(const CudaOptions& options = {});

}  // namespace reverie::device
