#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/core/exec/device/low_precision.h"

namespace reverie::testing {

/// A tree of `nodes` elementwise operators over values of one shape and ones that broadcast to it.
inline Graph random_tree(uint64_t seed, DType dtype, int nodes) {
  Rng rng(seed);
  const Shape shape = std::vector<Shape>{{12}, {3, 8}, {2, 3, 5}, {2, 4, 1, 6}}[rng.below(4)];
  Graph graph;
  std::vector<ValueId> values;
  for (int i = 0; i < 3; ++i) {
    Shape own = shape;
    for (int64_t& extent : own)
      if (i > 0 && rng.below(2) == 0) extent = 1;
    values.push_back(graph.add_input(fmt::format("x{}", i), {dtype, own}));
  }
  ValueId last = values[0];
  for (int i = 0; i < nodes; ++i) {
    const std::vector<std::string> unary = {"Relu",     "Sigmoid",     "Tanh", "HardSwish",
                                            "Softplus", "Abs",         "Neg",  "LeakyRelu",
                                            "Elu",      "HardSigmoid", "Erf"};
    const std::vector<std::string> binary = {"Add", "Sub", "Mul", "Min", "Max"};
    last = rng.below(2) == 0 ? graph.add(unary[rng.below(unary.size())], {last})
                             : graph.add(binary[rng.below(binary.size())],
                                         {last, values[rng.below(values.size())]});
  }
  graph.add_output("y", last);
  return graph;
}

/// At every precision, and in graphs of 16-bit floats.
inline void expect_fused_trees_agree(const OpenDevice& open) {
  for (const auto precision :
       {device::Precision::kFloat32, device::Precision::kFloat16, device::Precision::kBFloat16})
    for (uint64_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(fmt::format("{}, seed {}", name_of(precision), seed));
      const auto device = open(precision);
      DeviceExecutor executor("device", device, true);
      const Graph graph = random_tree(seed, DType::kFloat32, 2 + static_cast<int>(seed % 12));
      EXPECT_EQ(DevicePlan(*device, graph).kernels(), 1);
      expect_agreement_at(precision, executor, graph, -1, 1);
      EXPECT_TRUE(executor.fallbacks().empty());
    }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    SCOPED_TRACE(name_of(dtype));
    DeviceExecutor executor("device", open(device::Precision::kFloat32), true);
    const auto precision =
        dtype == DType::kFloat16 ? device::Precision::kFloat16 : device::Precision::kBFloat16;
    expect_agreement(executor, random_tree(7, dtype, 9), -1, 1, tolerance_of(precision));
    EXPECT_TRUE(executor.fallbacks().empty());
  }
}

}  // namespace reverie::testing
