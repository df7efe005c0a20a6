#include "core/exec/cuda/cuda_device.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/error.h"

namespace reverie::device {
namespace {

using Open = Device* (*)(const CudaOptions&);

/// The executable or the shared library that this code is in.
std::filesystem::path own_file() {
  static const char kHere = 0;
  Dl_info info;
  link_map* object = nullptr;
  const bool is_library =
      dladdr1(&kHere, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) != 0 &&
      object->l_name[0] != 0;  // the executable's name is empty
  std::error_code ignored;
  return is_library ? std::filesystem::path(object->l_name)
                    : std::filesystem::read_symlink("/proc/self/exe", ignored);
}

Open load_module() {
  constexpr const char* kName = "libreverie_cuda.so";
  std::filesystem::path beside = own_file();
  beside.replace_filename(kName);
  std::error_code ignored;
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
