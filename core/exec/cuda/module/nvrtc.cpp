#include "core/exec/cuda/module/nvrtc.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <memory>

#include "core/base/error.h"

namespace reverie::device::cuda {
namespace {

/// The functions of the library, which is no part of the module's own, so that all else runs
/// without it.
struct Nvrtc {
  Nvrtc() {
    const std::string name = fmt::format("libnvrtc.so.{}", CUDART_VERSION / 1000);
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw InputError("cannot load {}: {}", name, dlerror());
    find("nvrtcCreateProgram", create);
    find("nvrtcDestroyProgram", destroy);
    find("nvrtcCompileProgram", compile);
    find("nvrtcGetCUBINSize", cubin_size);
    find("nvrtcGetCUBIN", cubin);
    find("nvrtcGetProgramLogSize", log_size);
    find("nvrtcGetProgramLog", log);
    find("nvrtcGetErrorString", error_text);
  }

  template <typename F>
  void find(const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(library, name));
    if (function == nullptr) throw InputError("{}", dlerror());
  }

  void check(nvrtcResult status, const char* what) const {
    if (status != NVRTC_SUCCESS) throw InputError("NVRTC: {} failed: {}", what, error_text(status));
  }

  void* library = nullptr;
  decltype(nvrtcCreateProgram)* create = nullptr;
  decltype(nvrtcDestroyProgram)* destroy = nullptr;
  decltype(nvrtcCompileProgram)* compile = nullptr;
  decltype(nvrtcGetCUBINSize)* cubin_size = nullptr;
  decltype(nvrtcGetCUBIN)* cubin = nullptr;
  decltype(nvrtcGetProgramLogSize)* log_size = nullptr;
  decltype(nvrtcGetProgramLog)* log = nullptr;
  decltype(nvrtcGetErrorString)* error_text = nullptr;
};

/// The first line of what the compiler says.
std::string first_complaint(const Nvrtc& nvrtc, nvrtcProgram program) {
  size_t size = 0;
  if (nvrtc.log_size(program, &size) != NVRTC_SUCCESS || size <= 1) return "";
  std::string log(size, '\0');
  if (nvrtc.log(program, log.data()) != NVRTC_SUCCESS) return "";
  return ": " + log.substr(0, log.find_first_of("\n\0", 0, 2));
}

}  // namespace

std::string compiled(const std::string& source, const std::string& architecture) {
  static const Nvrtc nvrtc;
  nvrtcProgram program = nullptr;
  nvrtc.check(nvrtc.create(&program, source.c_str(), "fused.cu", 0, nullptr, nullptr),
              "nvrtcCreateProgram");
  const auto destroy = [](nvrtcProgram* made) { nvrtc.destroy(made); };
  const std::unique_ptr<nvrtcProgram, decltype(destroy)> owned(&program, destroy);
  const std::string target = "--gpu-architecture=" + architecture;
  const char* const options[] = {target.c_str(), "--std=c++17", "--fmad=false"};
  if (const nvrtcResult status = nvrtc.compile(program, std::size(options), options);
      status != NVRTC_SUCCESS)
    throw InputError("NVRTC: {}{}", nvrtc.error_text(status), first_complaint(nvrtc, program));
  size_t size = 0;
  nvrtc.check(nvrtc.cubin_size(program, &size), "nvrtcGetCUBINSize");
  std::string cubin(size, '\0');
  nvrtc.check(nvrtc.cubin(program, cubin.data()), "nvrtcGetCUBIN");
  return cubin;
}

}  // namespace reverie::device::cuda
