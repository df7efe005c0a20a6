#include "core/base/fast_start.h"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

namespace reverie {
namespace {

/// Set in the restarted process, so that a restart that does not help is not repeated.
constexpr const char* kRestarted = "REVERIE_RESTARTED";

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kMuch = 1 << 30;  // bytes
  mallopt(M_MMAP_THRESHOLD, kMuch);
  mallopt(M_TRIM_THRESHOLD, kMuch);
#endif
}

void restart(const BlasSettings& settings, char** argv) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  set("OPENBLAS_CORETYPE", settings.core_type);
  set("ATEN_CPU_CAPABILITY", settings.capability);
  set("OMP_WAIT_POLICY", settings.wait_policy);
  setenv(kRestarted, "1", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace

BlasProbe probe_blas() {
  BlasProbe probe;
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename"))
    probe.core_name = reinterpret_cast<char* (*)()>(symbol)();
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
  if (!settings.empty() && std::getenv(kRestarted) == nullptr) restart(settings, argv);
  keep_freed_memory();
}

void return_large_blocks() {
#ifdef __GLIBC__
  constexpr int kLarge = 8 << 20;  // bytes
  mallopt(M_MMAP_THRESHOLD, kLarge);
#endif
}

void give_back_memory() {
#ifdef __GLIBC__
  constexpr size_t kMuch = size_t{128} << 20;  // bytes
  if (mallinfo2().fordblks > kMuch) malloc_trim(0);
#endif
}

}  // namespace reverie
