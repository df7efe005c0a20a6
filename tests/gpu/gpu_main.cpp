#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/exec/cuda/cuda_device.h"

/// Tests that need a GPU: where there is none they are skipped as a whole, with the reason.
int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  ::testing::InitGoogleTest(&argc, argv);
  try {
    const auto device = reverie::device::open_cuda();
    const auto info = device->info();
    fmt::print("{}, driver {}, {}\n", info.name, info.driver, info.library);
  } catch (const reverie::InputError& error) {
    fmt::print("skipped: {}\n", error.what());
    return kSkipped;
  }
  return RUN_ALL_TESTS();
}
