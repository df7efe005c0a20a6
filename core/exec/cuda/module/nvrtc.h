#pragma once

#include <string>

namespace reverie::device::cuda {

/// CUDA C++ compiled by NVRTC for an architecture such as "sm_90", as a cubin. Products and sums
/// are not contracted, so that results are those of single operators. NVRTC is loaded when it is
/// first needed. InputError with one line where it is missing or refuses the source. Several
/// threads may call it.
std::string compiled(const std::string& source, const std::string& architecture);

}  // namespace reverie::device::cuda
