#include "core/exec/cuda/module/nvrtc.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/exec/device/builder.h"
#include "core/exec/device/kernel_source.h"

namespace reverie::device {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// NVRTC needs no GPU, but may be missing.
class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cuda::compiled("", "sm_80");
    } catch (const InputError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

/// One instruction for each function of at most three operands.
Pointwise with_every_function(DType dtype, const Shape& shape) {
  Pointwise call{
      .dtype = dtype, .shape = shape, .operands = {row_major(shape)}, .instructions = {}};
  call.operands.push_back(Strides(shape.size(), 0));
  call.operands.push_back(Strides(shape.size(), 0));
  if (!shape.empty()) call.operands.back().back() = 1;
  for (int i = 0; i < static_cast<int>(Function::kNormalize); ++i)
    call.instructions.push_back({.function = static_cast<Function>(i),
                                 .alpha = 0.1,
                                 .beta = i % 2 == 0 ? INFINITY : 6,
                                 .arguments = {i + 2, i % 3, 1}});
  return call;
}

void expect_compiles(DType dtype, const Shape& shape, const char* architecture) {
  const KernelSource source = source_of(with_every_function(dtype, shape));
  const std::string cubin = cuda::compiled(
      fmt::format("{}{}{}", functions_text(), cuda_prelude(dtype), source.text), architecture);
  EXPECT_THAT(cubin, StartsWith("\x7f"
                                "ELF"));
  EXPECT_THAT(cubin, HasSubstr(kKernelName));
}

TEST_F(NvrtcTest, CompilesEveryFunctionForEveryTypeAndWidth) {
  expect_compiles(DType::kFloat32, {6, 8}, "sm_90");
  expect_compiles(DType::kFloat16, {6, 7}, "sm_90");
  expect_compiles(DType::kBFloat16, {1 << 20, 1 << 12}, "sm_90");
  expect_compiles(DType::kFloat32, {}, "sm_80");
  expect_compiles(DType::kBFloat16, {6, 8}, "sm_80");
}

TEST_F(NvrtcTest, RefusesInOneLine) {
  try {
    cuda::compiled("__global__ void f() { this is no statement; }", "sm_90");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("fused.cu(1): error"));
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
  EXPECT_THROW(cuda::compiled("", "sm_1"), InputError);
}

}  // namespace
}  // namespace reverie::device
