#pragma once

namespace reverie::device::cuda {

/// Of the GPU's multiprocessors at this moment, in MHz, as NVML says, which comes with the driver;
/// 0 where it says nothing.
int clock_mhz_now(int ordinal);

}  // namespace reverie::device::cuda
