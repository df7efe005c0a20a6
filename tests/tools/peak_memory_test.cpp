#include "tests/support/peak_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sanitized.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

[[noreturn]] void become(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), REVERIE_PROGRAM);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
  execv(REVERIE_PROGRAM, argv.data());
  _exit(127);
}

int64_t peak_of(const std::vector<std::string>& arguments) {
  return peak_memory_of([&] { become(arguments); });
}

/// What a network's weights cost in memory, as parts of their size: `light` has the same nodes, but
/// no stored weights.
class PeakMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (REVERIE_SANITIZED) GTEST_SKIP() << "sanitizers keep memory of their own";
    const std::vector<std::string> model = {"model",   "resnet18", "--width", "1.125",
                                            "--image", "64",       "--out"};
    for (const bool is_light : {false, true}) {
      std::vector<std::string> arguments = model;
      arguments.push_back(is_light ? light_ : full_);
      if (is_light) arguments.emplace_back("--light");
      peak_of(arguments);
    }
  }

  double share_of_weights(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, full_);
    const int64_t full = peak_of(arguments);
    arguments[1] = light_;
    const auto size = static_cast<double>(std::filesystem::file_size(full_));
    return static_cast<double>(full - peak_of(arguments)) / size;
  }

  TemporaryDirectory folder_;
  const std::string full_ = folder_ / "full.onnx", light_ = folder_ / "light.onnx";
};

TEST_F(PeakMemory, InspectingAModelDoesNotLoadItsWeights) {
  EXPECT_LT(share_of_weights({"inspect"}), 0.4);
}

/// How much more memory a network takes for each byte that its weights have more; the program's own
/// cancels out. Each filter is multiplied by a batch norm's factors in double precision, and the
/// largest has a fifth of all bytes: that takes 1.3. Folded weights that were kept would take one
/// more.
TEST_F(PeakMemory, OptimizingAModelHoldsNoWeightForLong) {
  const std::string wide = folder_ / "wide.onnx";
  peak_of({"model", "resnet18", "--width", "2", "--image", "64", "--out", wide});
  const auto optimized = [&](const std::string& file) {
    return peak_of({"optimize", file, "--method", "greedy", "--cost", "roofline:t4", "--quiet",
                    "--out", folder_ / "out.onnx"});
  };
  const int64_t more = optimized(wide) - optimized(full_);
  const auto bytes =
      static_cast<double>(std::filesystem::file_size(wide) - std::filesystem::file_size(full_));
  EXPECT_LT(static_cast<double>(more), 1.6 * bytes);
}

/// A network of one matrix of 51 MB, more or less. Comparing results takes its size once, and in
/// double precision twice.
TEST_F(PeakMemory, OptimizingHoldsALargeWeightOnce) {
  const auto optimized = [&](const std::string& classes) {
    const std::string file = folder_ / classes + ".onnx";
    peak_of({"model", "resnet18", "--width", "0.125", "--image", "32", "--classes", classes,
             "--out", file});
    const int64_t peak = peak_of({"optimize", file, "--method", "greedy", "--cost", "cpu",
                                  "--quiet", "--out", folder_ / "out.onnx"});
    return std::pair(static_cast<double>(peak),
                     static_cast<double>(std::filesystem::file_size(file)));
  };
  setenv("REVERIE_CACHE", folder_.path().c_str(), 1);
  const auto [large, large_size] = optimized("200000");
  const auto [small, small_size] = optimized("1000");
  EXPECT_LT(large - small, 1.6 * (large_size - small_size));
}

}  // namespace
}  // namespace reverie
