#pragma once

#include <fmt/format.h>

#include "core/exec/device/device_executor.h"
#include "tests/core/exec/conformance.h"

namespace reverie::testing {

/// Tolerances of a single operator, as core/cost/README.md states them.
inline double tolerance_of(device::Precision precision) {
  switch (precision) {
    case device::Precision::kTf32:
      return 2e-3;
    case device::Precision::kFloat16:
      return 4e-3;
    case device::Precision::kBFloat16:
      return 3e-2;
    default:
      return 1e-4;
  }
}

inline Tensor rounded(const Tensor& tensor, device::Precision precision) {
  if (tensor.type().dtype != DType::kFloat32) return tensor;
  return tensor.cast(storage_of(precision)).cast(DType::kFloat32);
}

/// With the reference in double, on inputs and weights that the precision stores as they are.
inline void expect_agreement_at(device::Precision precision, Executor& executor, const Graph& graph,
                                double low, double high) {
  ReferenceExecutor judge({.precision = reverie::Precision::kDouble});
  const WeightSource weights = [&](const Weight& weight) {
    return rounded(materialized(weight), precision);
  };
  for (const uint64_t seed : {1, 2}) {
    std::vector<Tensor> inputs = drawn_inputs(graph, seed, low, high);
    for (Tensor& input : inputs) input = rounded(input, precision);
    const std::vector<Tensor> expected = judge.run(graph, inputs, weights);
    const std::vector<Tensor> results = executor.run(graph, inputs, weights);
    ASSERT_EQ(results.size(), expected.size());
    ASSERT_FALSE(results.empty());
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_LE(relative_error(results[i], expected[i]), tolerance_of(precision)) << "output " << i;
  }
}

inline bool is_all_float(const Graph& graph) {
  for (const NodeId node : graph.nodes())
    for (const ValueId value : graph.outputs(node))
      if (graph.type(value).dtype != DType::kFloat32) return false;
  return true;
}

using OpenDevice = std::function<std::shared_ptr<device::Device>(device::Precision)>;

inline void expect_operators_agree_at_lower_precision(const OpenDevice& open) {
  for (const auto precision :
       {device::Precision::kTf32, device::Precision::kFloat16, device::Precision::kBFloat16}) {
    DeviceExecutor executor("device", open(precision), true);
    int checked = 0;
    for (const OperatorCase& one : operator_cases()) {
      if (!is_all_float(one.graph)) continue;
      SCOPED_TRACE(fmt::format("{} {}", name_of(precision), one.name));
      expect_agreement_at(precision, executor, one.graph, one.low, one.high);
      ++checked;
    }
    EXPECT_GT(checked, 50);
  }
}

}  // namespace reverie::testing
