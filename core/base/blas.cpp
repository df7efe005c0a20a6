#include "core/base/blas.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace reverie {
namespace {

/// Set in the restarted process, so that a restart that does not help is not repeated.
constexpr const char* kRestarted = "REVERIE_RESTARTED";

}  // namespace

BlasProbe probe_blas() {
  BlasProbe probe;
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_get_corename"))
    probe.core_name = reinterpret_cast<char* (*)()>(symbol)();
#if defined(__x86_64__)
  probe.avx2 = __builtin_cpu_supports("avx2");
  probe.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  probe.core_type_is_set = std::getenv("OPENBLAS_CORETYPE") != nullptr;
  probe.wait_policy_is_set = std::getenv("OMP_WAIT_POLICY") != nullptr;
  return probe;
}

BlasSettings better_settings(const BlasProbe& probe) {
  BlasSettings settings;
  if (probe.core_name == "Prescott" && !probe.core_type_is_set) {
    if (probe.avx512) {
      settings.core_type = "SkylakeX";
    } else if (probe.avx2) {
      settings.core_type = "Haswell";
    }
  }
  if (!probe.wait_policy_is_set) settings.wait_policy = "passive";
  return settings;
}

void restart_with_fast_blas(char** argv) {
  const BlasSettings settings = better_settings(probe_blas());
  if (settings.empty() || std::getenv(kRestarted) != nullptr) return;
  if (!settings.core_type.empty()) setenv("OPENBLAS_CORETYPE", settings.core_type.c_str(), 1);
  if (!settings.wait_policy.empty()) setenv("OMP_WAIT_POLICY", settings.wait_policy.c_str(), 1);
  setenv(kRestarted, "1", 1);
  execv("/proc/self/exe", argv);
}

}  // namespace reverie
