#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/exec/device/calls.h"

/// Pointwise calls as CUDA C++, for a device that compiles kernels when a graph is made ready.
/// Extents and distances stand in the text as numbers.
namespace reverie::device {

struct KernelSource {
  /// Defines kKernelName(const Stored* x0, const Stored* x1, ..., Stored* y), which expects before
  /// it functions_text(), and a prelude with the type Stored of elements, to_float(Stored),
  /// to_stored(float) and the first_unit() and unit_step() of a thread.
  std::string text;
  /// Elements that a thread reads and writes at once: 1, or 4, and then what is read along the last
  /// axis, and what is written, must be aligned to four elements.
  int width = 1;
  int64_t units = 0;  ///< of so many elements: what threads share
};

inline constexpr char kKernelName[] = "pointwise";

/// The call has operands and instructions, and elements to write.
KernelSource source_of(const Pointwise& call);

/// The text of functions.h.
std::string_view functions_text();

/// A prelude for the CUDA compiler, without headers: elements of float32, float16 or bfloat16 and a
/// grid of any size along x, for compute capability 8.0 and later.
std::string cuda_prelude(DType dtype);

}  // namespace reverie::device
