#include "env/rewrite/optimize/applied_rewrites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "env/rewrite/optimize/file_cost.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A convolution, a batch normalization and a relu, each with a name.
Graph chain() {
  Graph graph;
  const auto weight = [&](Shape shape, const std::string& name) {
    return graph.add_constant(Weight::fill({DType::kFloat32, std::move(shape)}, 0.5, name));
  };
  const auto named = [&](ValueId value, const std::string& name) {
    graph.set_names(graph.producer(value), std::make_shared<const NodeNames>(NodeNames{name, {}}));
    return value;
  };
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4, 8, 8}});
  const ValueId c = named(graph.add("Conv", {x, weight({8, 4, 3, 3}, "w")}), "first");
  const ValueId n = named(graph.add("BatchNormalization", {c, weight({8}, "s"), weight({8}, "b"),
                                                           weight({8}, "m"), weight({8}, "v")}),
                          "second");
  graph.add_output("y", named(graph.add("Relu", {n}), "third"));
  return graph;
}

TEST(AppliedRewrites, AreToldByNodesOfTheFile) {
  const auto cost = make_cost_model("roofline:t4");
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const RewriteState start(chain(), rules, cost);
  const std::vector<RewriteStep> path = {{rules->find("conv_batchnorm"), 0},
                                         {rules->find("conv_relu"), 0}};
  const auto applied = applied_rewrites(chain(), *rules, *cost, path);
  ASSERT_EQ(applied.size(), 2u);
  EXPECT_EQ(applied[0].rule, path[0].rule);
  EXPECT_THAT(applied[0].before, ElementsAre("Conv", "BatchNormalization"));
  EXPECT_THAT(applied[0].after, ElementsAre("Conv"));
  EXPECT_THAT(applied[0].nodes, ElementsAre("first", "second"));
  EXPECT_THAT(applied[1].nodes, ElementsAre("first", "third"))
      << "what a rewrite brought is called as what it came of";
  EXPECT_EQ(start.cost().runtime - applied[0].saved - applied[1].saved,
            replay(start, path).cost().runtime);
}

TEST(WrittenOperators, AreThoseOfTheFile) {
  Graph graph = chain();
  const ValueId y = graph.outputs()[0].value;
  const Attributes custom = {{"op", std::string("Fused")},
                             {"domain", std::string("com.example")},
                             {"proto", std::string()},
                             {"opsets", std::string()}};
  const ValueId inputs[] = {y};
  const TensorType types[] = {graph.type(y)};
  const NodeId fused =
      graph.add_node(opaque_op(), inputs, std::make_shared<const Attributes>(custom), types);
  graph.add_output("z", graph.output(fused));
  EXPECT_THAT(written_operators(graph),
              UnorderedElementsAre(Pair("Conv", 1), Pair("BatchNormalization", 1), Pair("Relu", 1),
                                   Pair("com.example::Fused", 1)));
  EXPECT_EQ(written_nodes(graph), 4);
}

TEST(AppliedRewrites, NoneLeaveNothing) {
  const auto cost = make_cost_model("roofline:t4");
  EXPECT_THAT(applied_rewrites(chain(), RuleSet::builtin(), *cost, {}), IsEmpty());
}

}  // namespace
}  // namespace reverie
