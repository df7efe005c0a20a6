#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "core/base/error.h"
#include "tests/fuzz/target.h"

/// One of the targets, named by the environment variable REVERIE_FUZZ, under libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace reverie;
  static const fuzz::Target* const target = [] {
    const char* name = std::getenv("REVERIE_FUZZ");
    const auto found =
        std::ranges::find(fuzz::kTargets, name == nullptr ? "" : name, &fuzz::Target::name);
    REVERIE_CHECK(found != std::end(fuzz::kTargets), "REVERIE_FUZZ names no target");
    return &*found;
  }();
  try {
    target->read({reinterpret_cast<const char*>(data), size});
  } catch (const InputError&) {
  }
  return 0;
}
