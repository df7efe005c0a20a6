#include "core/cost/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/base/error.h"
#include "core/cost/work.h"

namespace reverie {
namespace {

using testing::HasSubstr;

TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

OpSchema row(const std::string& name, int64_t flops) {
  OpSchema op;
  op.name = name;
  op.flops = [flops](const OpContext&) { return flops; };
  return op;
}

OpSignature signature(const OpSchema& op, std::vector<TensorType> inputs, TensorType output,
                      Attributes attributes = {}) {
  return {.op = &op,
          .attributes = std::make_shared<const Attributes>(std::move(attributes)),
          .inputs = std::move(inputs),
          .outputs = {std::move(output)}};
}

// A device with round numbers: 1 TFLOP/s, 100 GB/s reached, 1 us, 64 lanes.
constexpr DeviceProfile kRound{"round", 1e12, 200e9, 0.5, 1e-6, 64, 0.5, 0.25};

TEST(Roofline, AnElementwiseOperatorIsBoundByMemory) {
  const OpSchema relu = row("Relu", 100'000);
  // 800,000 bytes at 100 GB/s are 8 us; 100,000 FLOPs at 0.25 TFLOP/s only 0.4 us.
  const auto s = signature(relu, {floats({100'000})}, floats({100'000}));
  EXPECT_EQ(roofline_time(kRound, s), Picoseconds{9'000'000});
}

TEST(Roofline, AVectorOperatorIsBoundByArithmetic) {
  const OpSchema slow = row("Erf", 10'000'000);
  // 10,000,000 FLOPs at 0.25 TFLOP/s are 40 us.
  const auto s = signature(slow, {floats({1000})}, floats({1000}));
  EXPECT_EQ(roofline_time(kRound, s), Picoseconds{41'000'000});
}

TEST(Roofline, ASmallMatrixProductRunsAtHalfTheRate) {
  // 32 x 32 = 1024 = 16 * 64 outputs: half occupied. 2 * 1024 * 4096 FLOPs at 0.5 * 0.5 TFLOP/s
  // are 33.554432 us; 4 * (2 * 32 * 4096 + 1024) bytes take 10.5 us.
  const OpSchema product = row("MatMul", 2 * 1024 * 4096);
  const auto s = signature(product, {floats({32, 4096}), floats({4096, 32})}, floats({32, 32}));
  EXPECT_EQ(roofline_time(kRound, s), Picoseconds{34'554'432});
}

TEST(Roofline, GroupsOfFewChannelsFillAPartOfATile) {
  const OpSchema conv = row("Conv", 1'000'000'000);
  const auto time = [&](int64_t groups) {
    return roofline_time(
               kRound, signature(conv, {floats({1, 128, 1, 8}), floats({128, 128 / groups, 1, 1})},
                                 floats({1, 128, 1, 8}), {{"group", groups}}))
               .count -
           1'000'000;
  };
  EXPECT_EQ(time(1), 4'000'000'000);
  EXPECT_EQ(time(4), time(1));         // 32 channels a group
  EXPECT_EQ(time(32), 8 * time(1));    // 4 channels
  EXPECT_EQ(time(128), 32 * time(1));  // depthwise
}

TEST(Roofline, AProcessorHasKernelsForDepthwiseConvolutionsAndSmallGroups) {
  const DeviceProfile& cpu = device_profile("cpu");
  const auto time = [&](int64_t groups) {
    const Attributes attributes = {{"group", groups}, {"pads", Shape{1, 1, 1, 1}}};
    const auto s =
        signature(op_named("Conv"), {floats({1, 256, 28, 28}), floats({256, 256 / groups, 3, 3})},
                  floats({1, 256, 28, 28}), op_named("Conv").complete(attributes));
    return roofline_time(cpu, s).seconds();
  };
  // As measured: each halving of the channels of a group halves the time, down to 8 of them.
  for (const int64_t groups : {2, 4, 8, 16, 32})
    EXPECT_LT(time(groups), 0.6 * time(groups / 2)) << groups;
  EXPECT_NEAR(time(64) / time(32), 1, 0.1);  // 4 channels
  EXPECT_GT(time(128), 3 * time(64));        // 2 channels: a generic kernel
  EXPECT_LT(time(256), 0.8 * time(64));      // depthwise, bound by memory
}

TEST(Roofline, AProcessorRuns16BitFloatsAsFloat32) {
  const auto time = [](std::string_view device, DType dtype) {
    const TensorType type = {dtype, {1'000'000}};
    return roofline_time(device_profile(device), signature(op_named("Relu"), {type}, type));
  };
  EXPECT_EQ(time("cpu", DType::kFloat16), time("cpu", DType::kFloat32));
  EXPECT_LT(time("t4", DType::kFloat16), time("t4", DType::kFloat32));
  const auto cast = in_single_precision(signature(
      op_named("Cast"), {floats({2})}, {DType::kFloat16, {2}}, {{"to", std::string("float16")}}));
  EXPECT_EQ(cast.outputs[0], floats({2}));
  EXPECT_EQ(cast.attributes->text("to"), "float32");
}

TEST(Roofline, ViewsCostNothing) {
  const auto model = make_roofline(kRound);
  for (const char* name : {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"}) {
    EXPECT_EQ(model->cost(signature(op_named(name), {floats({2, 3})}, floats({6}))), Cost{})
        << name;
  }
  const OpSchema transpose = row("Transpose", 0);
  EXPECT_EQ(model->cost(signature(transpose, {floats({2, 3})}, floats({3, 2}))).launches, 1);
}

TEST(Roofline, FusingSavesALaunchAndTraffic) {
  const OpSchema product = row("MatMul", 2 * 64 * 64 * 64);
  const OpSchema add = row("Add", 64 * 64);
  const OpSchema fused = row("MatMul", 2 * 64 * 64 * 64 + 64 * 64);
  const TensorType square = floats({64, 64});
  const auto model = make_roofline(device_profile("t4"));
  const Cost apart = model->cost(signature(product, {square, square}, square)) +
                     model->cost(signature(add, {square, square}, square));
  const Cost together =
      model->cost(signature(fused, {square, square, {}, square}, square, {{"activation", "none"}}));
  EXPECT_EQ(apart.launches - together.launches, 1);
  EXPECT_EQ(apart.flops, together.flops);
  EXPECT_EQ(apart.bytes - together.bytes, 2 * square.bytes());
  EXPECT_LT(together.runtime, apart.runtime);
}

TEST(Roofline, EqualSignaturesCostTheSameFromManyThreads) {
  const OpSchema relu = row("Relu", 10);
  const auto model = make_cost_model("roofline:v100");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int64_t n = 1; n <= 500; ++n) {
        const auto s = signature(relu, {floats({n})}, floats({n}));
        ASSERT_EQ(model->cost(s).runtime, roofline_time(device_profile("v100"), s));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model->counters().lookups, 2000);
  EXPECT_EQ(model->counters().measurements, 0);
  EXPECT_TRUE(model->deterministic());
  EXPECT_EQ(model->source(), CostSource::kEstimated);
  EXPECT_EQ(model->name(), "roofline:v100");
}

TEST(CostModelNames, AnUnknownOneIsRefusedWithTheKnown) {
  const auto message = [](const std::string& name) -> std::string {
    try {
      make_cost_model(name);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("guess"), HasSubstr("roofline:<device>"));
  EXPECT_THAT(message("roofline"), HasSubstr("t4"));
  EXPECT_THAT(message("roofline:tpu"), HasSubstr("h200"));
  for (const DeviceProfile& profile : device_profiles())
    EXPECT_NE(make_cost_model(fmt::format("roofline:{}", profile.name)), nullptr);
}

}  // namespace
}  // namespace reverie
