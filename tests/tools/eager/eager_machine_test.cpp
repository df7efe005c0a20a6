#include "tools/eager/eager_machine.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/cost/measured.h"
#include "worldmodel/torch.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EagerMachineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_machine(eager_machines()); }

  static Graph chain(const char* second) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kFloat32, {4, 8}});
    graph.add_output("y", graph.add(second, {graph.add("Relu", {x})}));
    return graph;
  }
  static OpSignature signature(const Graph& graph) {
    return signature_of(graph, graph.producer(graph.outputs()[0].value));
  }
};

TEST_F(EagerMachineTest, IsFoundByItsName) {
  EXPECT_EQ(make_machine("eager")->name(), "eager");
  EXPECT_EQ(make_machine("eager:3")->name(), "eager:3");
  EXPECT_TRUE(is_machine("eager:3"));
  EXPECT_EQ(profile_of_machine("eager:3"), "cpu");
  EXPECT_EQ(profile_of_machine("eager:cuda"), "h200");
  EXPECT_THAT(known_machines(), HasSubstr("eager:<threads>"));
  EXPECT_THAT(make_machine("eager")->info().library, StartsWith("LibTorch "));
  EXPECT_THAT(make_machine("eager:3")->info().device, HasSubstr(", 3 threads"));
}

TEST_F(EagerMachineTest, OthersAreRefusedInALine) {
  for (const char* wrong : {"eager:", "eager:gpu", "eager:0", "eager:cuda:1"})
    EXPECT_THROW(make_machine(wrong), InputError) << wrong;
  if (torch::cuda::is_available()) GTEST_SKIP() << "LibTorch has a CUDA device";
  try {
    make_machine("eager:cuda");
    FAIL() << "made a machine of a device that is not there";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no CUDA device"));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
  }
}

TEST_F(EagerMachineTest, TimesGraphsWithItsOwnThreads) {
  const int threads = at::get_num_threads();
  const auto machine = make_machine("eager:2");
  EndToEndOptions options;
  options.repeats = 3;
  options.min_seconds = 0;
  options.machine = machine;
  const EndToEnd time = measure_end_to_end(chain("Exp"), options);
  EXPECT_GT(time.median, Picoseconds());
  EXPECT_EQ(time.fallbacks, 0);
  EXPECT_EQ(at::get_num_threads(), threads);
}

TEST_F(EagerMachineTest, TimesOperatorsThatLibTorchHas) {
  const auto machine = make_machine("eager");
  TimingOptions options;
  options.warm_up_seconds = 0;
  options.max_seconds = 0;
  EXPECT_GT(machine->time_operator(signature(chain("Exp")), options).median, 0);

  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kUInt32, {4}});
  graph.add_output("y", graph.add("Add", {x, x}));
  EXPECT_THROW(machine->time_operator(signature(graph), options), InputError);
  EXPECT_EQ(machine->ready(graph)->fallbacks(), 1);
}

}  // namespace
}  // namespace reverie
