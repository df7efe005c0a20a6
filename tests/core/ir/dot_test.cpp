#include "core/ir/dot.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(Dot, DrawsWorkAndCountsConstants) {
  Graph graph;
  const ValueId x = graph.add_input("a \"b\"", {DType::kFloat32, {2, 3}});
  const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {3, 4}}, 1, "w"));
  const ValueId y =
      graph.add("MatMul", {x, graph.add("Neg", {w})}, {{"activation", std::string("relu")}});
  graph.add_output("y", y);
  EXPECT_EQ(to_dot(graph),
            "digraph model {\n"
            "  node [shape=box, fontname=\"sans-serif\"];\n"
            "  n0 [label=\"a \\\"b\\\"\\nfloat32 2x3\", style=rounded];\n"
            "  n1 [label=\"MatMul + relu (1 const)\\nfloat32 2x4\"];\n"
            "  n0 -> n1;\n"
            "  o0 [label=\"y\", shape=ellipse];\n"
            "  n1 -> o0;\n"
            "}\n");
}

}  // namespace
}  // namespace reverie
