#pragma once

#include "core/base/sanitized.h"

/// Before a function: compiled for processors with AVX-512, with AVX2 and for any, of which the one
/// that fits is chosen when the program is loaded. Nothing where compiler or sanitizer cannot.
#if defined(__x86_64__) && !REVERIE_SANITIZED
#define REVERIE_VECTOR_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define REVERIE_VECTOR_CLONES
#endif
