#pragma once

#include <string>

namespace reverie {

/// The environment variable settings (value by name) with which this process should have been
/// started to compute fast, empty when nothing is to be gained. They are read while libraries load,
/// so that they cannot be set later; one that is already there is respected:
///  - OPENBLAS_CORETYPE: OpenBLAS 0.3.21 does not know recent processors and takes its slowest
///    kernels (core name "Prescott") on machines with AVX2 or AVX-512, and those of AVX2 ("Zen") on
///    processors by AMD that have AVX-512.
///  - ATEN_CPU_CAPABILITY=avx512: LibTorch leaves AVX-512 alone, as it slowed the clock of the
///    processors that first had it; those by AMD keep theirs.
///  - OMP_WAIT_POLICY=passive: threads that wait leave the processor to others.
struct BlasSettings {
  std::string core_type;  ///< of all, empty: leave as it is
  std::string capability;
  std::string wait_policy;

  bool empty() const { return core_type.empty() && capability.empty() && wait_policy.empty(); }
};

/// What decides the settings; see `probe_blas`.
struct BlasProbe {
  std::string core_name = {};  ///< as OpenBLAS reports it; empty without OpenBLAS
  bool avx2 = false;
  bool avx512 = false;
  bool amd = false;
  bool core_type_is_set = false;
  bool capability_is_set = false;
  bool wait_policy_is_set = false;
};

/// Of this process, or of the BLAS that another program would load where this one has none.
BlasProbe probe_blas();
BlasSettings better_settings(const BlasProbe& probe);

/// Call before anything is computed. Replaces this process by itself, once, under better settings
/// where there are any and that is possible.
void start_fast(char** argv);

/// Replaces this process by a program, under better settings where there are any: it need not start
/// twice. InputError where that cannot be.
[[noreturn]] void become(const std::string& program, char** argv);

}  // namespace reverie
