#include <gmock/gmock.h>

#include <set>

#include "core/base/error.h"
#include "core/cost/machine.h"
#include "core/exec/cuda/cuda_device.h"
#include "core/exec/device/device_executor.h"
#include "core/models/models.h"
#include "tests/core/exec/device/low_precision.h"
#include "tests/core/exec/device/random_tree.h"
#include "tests/support/device_queues.h"
#include "tests/support/host_device.h"

namespace reverie {
namespace {

using device::Precision;
using testing::drawn_inputs;
using ::testing::HasSubstr;
using testing::HostDevice;
using ::testing::IsEmpty;
using testing::operator_cases;
using testing::OperatorCase;

std::shared_ptr<device::Device> gpu(Precision precision = Precision::kFloat32) {
  static std::map<Precision, std::shared_ptr<device::Device>> opened;
  auto& device = opened[precision];
  if (device == nullptr) device = device::open_cuda({.precision = precision});
  return device;
}

}  // namespace

namespace testing {

INSTANTIATE_TEST_SUITE_P(Cuda, ExecutorConformance, conformance_parameters([] {
                           return std::make_unique<DeviceExecutor>("cuda", gpu(), true);
                         }),
                         conformance_name);

}  // namespace testing

namespace {

TEST(Cuda, EveryOperatorAtLowerPrecision) {
  testing::expect_operators_agree_at_lower_precision(gpu);
}

/// What the host device, which has every kernel, leaves to the host is all that a GPU does.
TEST(Cuda, NothingElseFallsBackToTheHost) {
  HostDevice host;
  for (const OperatorCase& one : operator_cases())
    EXPECT_EQ(DevicePlan(*gpu(), one.graph).fallbacks(), DevicePlan(host, one.graph).fallbacks())
        << one.name;
}

TEST(Cuda, WholeNetworksAgreeWithTheReference) {
  for (const char* name : {"squeezenet_small", "inception_small", "bert_tiny"}) {
    SCOPED_TRACE(name);
    const Graph graph = build_model(name);
    DeviceExecutor executor("cuda", gpu());
    ReferenceExecutor judge({.precision = reverie::Precision::kDouble});
    const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
    const std::vector<Tensor> expected = judge.run(graph, inputs);
    const std::vector<Tensor> results = executor.run(graph, inputs);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_LE(testing::relative_error(results[i], expected[i]), 1e-4) << "output " << i;
    EXPECT_THAT(executor.fallbacks(), IsEmpty());
  }
}

/// By kernels that NVRTC compiles: none is interpreted.
TEST(Cuda, FusedTreesComputeTheSame) {
  ::testing::internal::CaptureStderr();
  testing::expect_fused_trees_agree(gpu);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

TEST(Cuda, ARecordingOfFusedKernelsComputesWhatARunDoes) {
  const Graph graph = testing::random_tree(3, DType::kFloat32, 10);
  DevicePlan plan(*gpu(), graph);
  const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
  const std::vector<Tensor> first = plan.run(inputs);
  const auto recording = gpu()->record([&] { plan.launch(); });
  recording->launch();
  gpu()->synchronize();
  EXPECT_EQ(plan.run(inputs)[0].to_doubles(), first[0].to_doubles());
}

TEST(Cuda, ARecordingComputesWhatARunDoes) {
  const Graph graph = build_model("squeezenet_small");
  DevicePlan plan(*gpu(), graph);
  const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
  const std::vector<Tensor> first = plan.run(inputs);
  const auto recording = gpu()->record([&] { plan.launch(); });
  recording->launch();
  recording->launch();
  gpu()->synchronize();
  EXPECT_EQ(plan.run(inputs)[0].to_doubles(), first[0].to_doubles());
}

/// 64 MiB each, so that what does not wait would be too early.
TEST(Cuda, MarksOrderQueues) { testing::expect_marks_order_queues(*gpu(), 1 << 24); }

TEST(Cuda, NoRoomIsOneLineWithSizes) {
  try {
    gpu()->allocate(int64_t{1} << 50);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("1125899906842624"));
  }
  EXPECT_NO_THROW(gpu()->release(gpu()->allocate(1 << 20)));
}

TEST(Cuda, AnIndexOutOfRangeIsRefusedAndForgotten) {
  Graph graph;
  const auto table = graph.add_constant(Weight::fill({DType::kFloat32, {3, 2}}, 1, "t"));
  const ValueId index = graph.add_input("i", {DType::kInt64, {2}});
  graph.add_output("y", graph.add("Gather", {table, index}));
  DeviceExecutor executor("cuda", gpu());
  EXPECT_THROW(executor.run(graph, std::vector{Tensor::of<int64_t>({2}, {0, 3})}), InputError);
  EXPECT_NO_THROW(executor.run(graph, std::vector{Tensor::of<int64_t>({2}, {0, -3})}));
}

TEST(Cuda, OperatorsAndGraphsAreTimed) {
  const auto machine = make_machine("cuda");
  const MedianInterval product = machine->time_operator(
      parse_signature("MatMul(float32 1024x1024, const float32 1024x1024)"), {});
  EXPECT_GT(product.low, 0);
  EXPECT_GE(product.samples, 5);
  const MedianInterval tree =
      machine->time_operator(parse_signature("Pointwise(float32 64x1024, const float32 1024) "
                                             "{program=\"t0 = Mul(x0, x1); y = Sigmoid(t0)\"}"),
                             {});
  EXPECT_GT(tree.low, 0);
  const auto ready = machine->ready(build_model("squeezenet_small"));
  EXPECT_GT(ready->seconds_of_run(), 0);
  EXPECT_EQ(ready->fallbacks(), 0);
}

}  // namespace
}  // namespace reverie
