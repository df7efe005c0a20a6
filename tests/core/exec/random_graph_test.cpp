#include "tests/support/random_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "core/exec/compare.h"
#include "core/exec/reference/reference.h"

namespace reverie {
namespace {

TEST(RandomGraph, IsValidRepeatableAndAgreesWithItself) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Graph graph = random_graph(seed, 5 + static_cast<int>(seed % 50));
    graph.validate();
    EXPECT_EQ(graph.node_count(), random_graph(seed, 5 + static_cast<int>(seed % 50)).node_count());
    const Agreement result = compare(graph, graph.compacted(), {.inputs = 1});
    EXPECT_TRUE(result.agree) << "seed " << seed << ": " << result.reason;
    EXPECT_EQ(result.max_abs_error, 0);
  }
}

TEST(RandomGraph, HoldsManyOperators) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const Graph graph = random_graph(seed);
    for (const NodeId node : graph.nodes()) seen.insert(graph.op(node).name);
  }
  EXPECT_GE(seen.size(), 50u);
}

/// Poison shows where a kernel leaves an element unwritten: it spreads to the outputs as NaN.
TEST(RandomGraph, KernelsWriteAllOfTheirOutputs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_graph(seed);
    std::vector<Tensor> inputs;
    for (const NodeId input : graph.inputs()) {
      Tensor tensor(graph.type(graph.output(input)));
      Rng rng(seed);
      for (float& x : tensor.data<float>()) x = static_cast<float>(rng.normal());
      inputs.push_back(tensor);
    }
    for (const Precision precision : {Precision::kDeclared, Precision::kDouble}) {
      ReferenceExecutor executor({.precision = precision, .poison = true});
      for (const Tensor& output : executor.run(graph, inputs))
        for (const double x : output.to_doubles()) ASSERT_TRUE(std::isfinite(x)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace reverie
