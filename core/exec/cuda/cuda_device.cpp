#include "core/exec/cuda/cuda_device.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/error.h"

namespace reverie::device {
namespace {

using Open = Device* (*)(const CudaOptions&);

Open load_module() {
  constexpr const char* kName = "libreverie_cuda.so";
  std::error_code ignored;
  auto beside = std::filesystem::read_symlink("/proc/self/exe", ignored);
  beside.replace_filename(kName);
  const bool is_beside = std::filesystem::exists(beside, ignored);
  void* module = dlopen(is_beside ? beside.c_str() : kName, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw InputError("CUDA: cannot load {}: {}", kName, dlerror());
  auto* open = reinterpret_cast<Open>(dlsym(module, "reverie_open_cuda"));
  if (open == nullptr) throw InputError("CUDA: {}", dlerror());
  return open;
}

}  // namespace

bool cuda_built() {
#ifdef REVERIE_HAS_CUDA
  return true;
#else
  return false;
#endif
}

std::unique_ptr<Device> open_cuda(const CudaOptions& options) {
  if (!cuda_built())
    throw InputError("this build has no CUDA: build where a CUDA toolkit with cuDNN is found");
  static const Open open = load_module();
  return std::unique_ptr<Device>(open(options));
}

}  // namespace reverie::device
