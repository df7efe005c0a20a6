#include "core/exec/cuda/module/clock.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace reverie::device::cuda {
namespace {

/// The part of NVML that is needed, with the names and types of its documentation; the toolkit need
/// not have its header.
class Nvml {
 public:
  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    find_device_ = reinterpret_cast<FindDevice>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    get_clock_ = reinterpret_cast<GetClock>(dlsym(library, "nvmlDeviceGetClockInfo"));
    ready_ = initialize != nullptr && find_device_ != nullptr && get_clock_ != nullptr &&
             initialize() == kSuccess;
  }

  int clock_mhz(const char* bus_id) const {
    void* device = nullptr;
    unsigned mhz = 0;
    if (!ready_ || find_device_(bus_id, &device) != kSuccess) return 0;
    return get_clock_(device, kMultiprocessors, &mhz) == kSuccess ? static_cast<int>(mhz) : 0;
  }

 private:
  using FindDevice = int (*)(const char* bus_id, void** device);
  using GetClock = int (*)(void* device, int type, unsigned* mhz);
  static constexpr int kSuccess = 0;          // NVML_SUCCESS
  static constexpr int kMultiprocessors = 1;  // NVML_CLOCK_SM

  FindDevice find_device_ = nullptr;
  GetClock get_clock_ = nullptr;
  bool ready_ = false;
};

}  // namespace

int clock_mhz_now(int ordinal) {
  static const Nvml nvml;
  constexpr int kBusIdBytes = 32;
  char bus_id[kBusIdBytes] = {};
  if (cudaDeviceGetPCIBusId(bus_id, kBusIdBytes, ordinal) != cudaSuccess) return 0;
  return nvml.clock_mhz(bus_id);
}

}  // namespace reverie::device::cuda
