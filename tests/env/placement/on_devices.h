#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "env/placement/machine/model_on_devices.h"

namespace reverie::testing {

/// Largest difference as a share of the largest number; of zeros the largest difference.
inline double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.type(), b.type());
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double most = 0, largest = 0;
  EXPECT_TRUE(std::ranges::all_of(x, [](double value) { return std::isfinite(value); }));
  for (size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::abs(x[i] - y[i]));
    largest = std::max(largest, std::abs(y[i]));
  }
  return largest > 0 ? most / largest : most;
}

/// Every node, or colocation group, on a random device.
inline OrderByDevice random_order(const CostGraph& graph, int devices, Rng& rng) {
  OrderByDevice order(static_cast<size_t>(devices));
  std::vector<size_t> of_group(static_cast<size_t>(graph.size()));
  for (const int node : graph.order()) {
    const int group = graph.nodes()[static_cast<size_t>(node)].group;
    size_t device = rng.below(static_cast<uint64_t>(devices));
    if (group >= 0) {
      if (of_group[static_cast<size_t>(group)] == 0)
        of_group[static_cast<size_t>(group)] = device + 1;
      device = of_group[static_cast<size_t>(group)] - 1;
    }
    order[device].push_back(node);
  }
  return order;
}

/// Of all outputs of a model those that are not constant.
inline std::vector<Tensor> computed(const Graph& model, const std::vector<Tensor>& all) {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < all.size(); ++i)
    if (!model.is_constant(model.outputs()[i].value)) outputs.push_back(all[i]);
  return outputs;
}

/// Runs random placements. `expected`: the model's outputs, without constant ones.
inline void expect_outputs(ModelOnDevices& model, int devices, const std::vector<Tensor>& expected,
                           uint64_t seed = 7) {
  constexpr int kPlacements = 3;
  Rng rng(seed);
  for (int placement = 0; placement < kPlacements; ++placement) {
    model.run(random_order(model.graph(), devices, rng));
    const std::vector<Tensor> outputs = model.outputs();
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_LT(difference(outputs[i], expected[i]), 1e-4) << "output " << i;
  }
}

/// A node with two outputs, a constant that is computed and an output, views between nodes and as
/// an output, an input that is an output, and one that nobody reads.
inline Graph odd_model() {
  const auto floats = [](const Shape& shape) { return TensorType{DType::kFloat32, shape}; };
  Graph graph;
  const ValueId x = graph.add_input("x", floats({4, 6}));
  graph.add_input("unused", floats({2}));
  const ValueId y = graph.add_input("y", floats({3}));
  const NodeId split =
      graph.add_node(op_named("Split"), std::vector{x},
                     Attributes{{"axis", int64_t{0}}, {"split", std::vector<int64_t>{1, 3}}});
  const ValueId view = graph.add("Reshape", {graph.output(split, 1)}, {{"shape", Shape{6, 3}}});
  Tensor numbers(floats({3}));
  float next = 0.5;
  for (float& value : numbers.data<float>()) value = next = -0.9f * next;
  const ValueId folded = graph.add("Neg", {graph.add_constant(Weight::dense(numbers))});
  graph.add_output("known", folded);
  const ValueId sum = graph.add("Add", {graph.add("Mul", {view, y}), folded});
  graph.add_output("flat", graph.add("Reshape", {sum}, {{"shape", Shape{18}}}));
  graph.add_output("first", graph.output(split, 0));
  graph.add_output("square", graph.add("Mul", {view, view}));
  graph.add_output("same", y);
  return graph;
}

}  // namespace reverie::testing
