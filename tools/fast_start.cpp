#include "tools/fast_start.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Set in the restarted process, so that a restart that does not help is not repeated.
constexpr const char* kRestarted = "REVERIE_RESTARTED";

void set_environment(const BlasSettings& settings) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  set("OPENBLAS_CORETYPE", settings.core_type);
  set("ATEN_CPU_CAPABILITY", settings.capability);
  set("OMP_WAIT_POLICY", settings.wait_policy);
  setenv(kRestarted, "1", 1);
}

}  // namespace

BlasProbe probe_blas() {
  BlasProbe probe;
  const char* const kName = "openblas_get_corename";
  void* symbol = dlsym(RTLD_DEFAULT, kName);
  if (symbol == nullptr)
    if (void* blas = dlopen("libblas.so.3", RTLD_LAZY | RTLD_LOCAL)) symbol = dlsym(blas, kName);
  if (symbol != nullptr) probe.core_name = reinterpret_cast<char* (*)()>(symbol)();
#if defined(__x86_64__)
  probe.avx2 = __builtin_cpu_supports("avx2");
  probe.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  probe.amd = __builtin_cpu_is("amd");
#endif
  probe.core_type_is_set = std::getenv("OPENBLAS_CORETYPE") != nullptr;
  probe.capability_is_set = std::getenv("ATEN_CPU_CAPABILITY") != nullptr;
  probe.wait_policy_is_set = std::getenv("OMP_WAIT_POLICY") != nullptr;
  return probe;
}

BlasSettings better_settings(const BlasProbe& probe) {
  BlasSettings settings;
  if (!probe.core_type_is_set) {
    const bool slowest = probe.core_name == "Prescott";
    if (probe.avx512 && (slowest || probe.core_name == "Zen")) {
      settings.core_type = "SkylakeX";
    } else if (probe.avx2 && slowest) {
      settings.core_type = "Haswell";
    }
  }
  if (probe.amd && probe.avx512 && !probe.capability_is_set) settings.capability = "avx512";
  if (!probe.wait_policy_is_set) settings.wait_policy = "passive";
  return settings;
}

void start_fast(char** argv) {
  const BlasSettings settings = better_settings(probe_blas());
  if (settings.empty() || std::getenv(kRestarted) != nullptr) return;
  set_environment(settings);
  execv("/proc/self/exe", argv);
}

void become(const std::string& program, char** argv) {
  set_environment(better_settings(probe_blas()));
  execv(program.c_str(), argv);
  throw InputError("{}: cannot be run: {}", program, std::strerror(errno));
}

}  // namespace reverie
