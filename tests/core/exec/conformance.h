#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>

#include "core/exec/reference/reference.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/support/relative_error.h"

namespace reverie::testing {

using ExecutorFactory = std::function<std::unique_ptr<Executor>()>;

/// Runs both on fresh inputs, twice, so that what the first run left behind shows in the second.
inline void expect_agreement(Executor& executor, const Graph& graph, double low, double high,
                             double tolerance = 1e-4) {
  ReferenceExecutor judge({.precision = Precision::kDouble});
  for (const uint64_t seed : {1, 2}) {
    const std::vector<Tensor> inputs = drawn_inputs(graph, seed, low, high);
    const std::vector<Tensor> expected = judge.run(graph, inputs);
    const std::vector<Tensor> results = executor.run(graph, inputs);
    ASSERT_EQ(results.size(), expected.size());
    ASSERT_FALSE(results.empty());
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].type(), expected[i].type());
      EXPECT_LE(relative_error(results[i], expected[i]), tolerance) << "output " << i;
    }
  }
}

inline Graph opaque_graph() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  const Attributes attributes{
      {"op", std::string("Magic")}, {"domain", std::string()}, {"proto", std::string()}};
  const NodeId opaque =
      graph.add_node(opaque_op(), std::vector{x}, std::make_shared<const Attributes>(attributes),
                     std::vector{f32({4})});
  graph.add_output("y", graph.output(opaque));
  return graph;
}

/// Inputs of another number or type than the graph's, and opaque nodes, are errors that a person
/// can read.
inline void expect_refusals(Executor& executor) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  graph.add_output("y", graph.add("Relu", {x}));
  const std::vector<Tensor> other_shape = {Tensor(f32({3, 2}))};
  const std::vector<Tensor> other_dtype = {Tensor(of(DType::kInt32, {2, 3}))};
  EXPECT_THROW(executor.run(graph, other_shape), InputError);
  EXPECT_THROW(executor.run(graph, other_dtype), InputError);
  EXPECT_THROW(executor.run(graph, {}), InputError);
  const Graph opaque = opaque_graph();
  EXPECT_THROW(executor.run(opaque, drawn_inputs(opaque, 1)), InputError);
}

/// An output that is an input, beside one that nothing reads.
inline void expect_inputs_pass_through(Executor& executor) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  graph.add_input("unused", f32({2}));
  graph.add_output("y", graph.add("Identity", {x}));
  const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
  EXPECT_EQ(executor.run(graph, inputs)[0].to_doubles(), inputs[0].to_doubles());
}

/// What every executor has to hold. An implementation instantiates it with
///   INSTANTIATE_TEST_SUITE_P(Mine, ExecutorConformance, conformance_parameters(factory),
///                            conformance_name);
using ConformanceParameter = std::tuple<ExecutorFactory, OperatorCase>;
class ExecutorConformance : public ::testing::TestWithParam<ConformanceParameter> {};

inline auto conformance_parameters(ExecutorFactory factory) {
  return ::testing::Combine(::testing::Values(std::move(factory)),
                            ::testing::ValuesIn(operator_cases()));
}

inline std::string conformance_name(const ::testing::TestParamInfo<ConformanceParameter>& info) {
  return std::get<1>(info.param).name;
}

TEST_P(ExecutorConformance, AgreesWithTheReferenceInDouble) {
  const auto& [factory, one] = GetParam();
  expect_agreement(*factory(), one.graph, one.low, one.high);
}

inline void PrintTo(const ConformanceParameter& parameter, std::ostream* out) {
  *out << std::get<1>(parameter).name;
}

}  // namespace reverie::testing
