#include <gtest/gtest.h>

#include <algorithm>

#include "core/exec/cuda/cuda_device.h"
#include "core/exec/reference/reference.h"
#include "core/models/models.h"
#include "env/placement/machine/model_on_streams.h"
#include "env/placement/machine/stream_topology.h"
#include "tests/env/placement/on_devices.h"

namespace reverie {
namespace {

TEST(CudaStreams, ComputeWhatTheReferenceDoes) {
  const auto gpu = device::open_cuda();
  for (const int streams : {2, 4})
    for (const char* name : {"squeezenet_small", "inception_small", "nasrnn"}) {
      SCOPED_TRACE(name);
      const Graph model = build_model(name);
      const std::vector<Tensor> inputs = drawn_inputs(model, 1);
      const auto on_streams = model_on_streams(model, name, inputs, *gpu, streams);
      testing::expect_outputs(*on_streams, streams, ReferenceExecutor().run(model, inputs));
    }
}

TEST(CudaStreams, AreMeasured) {
  const auto gpu = device::open_cuda();
  EXPECT_EQ(measured_stream_topology(*gpu, 4).size(), 4);
  const Graph model = build_model("squeezenet_small");
  const auto on_streams = model_on_streams(model, "m", drawn_inputs(model, 1), *gpu, 2);
  for (const auto others : {ModelOnDevices::Others::kIdle, ModelOnDevices::Others::kBusy}) {
    const std::vector<Picoseconds> times = on_streams->node_times(3, others);
    EXPECT_EQ(std::ranges::count(times, Picoseconds{}), 1) << "the input";
  }
}

}  // namespace
}  // namespace reverie
