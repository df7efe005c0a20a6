#include "env/rewrite/optimize/accepted_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Convolutions of one input, each followed by a batch normalization and a relu that can be fused.
RewriteState start() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4, 8, 8}});
  const auto weight = [&](Shape shape, const std::string& name) {
    return graph.add_constant(Weight::fill({DType::kFloat32, std::move(shape)}, 0.5, name));
  };
  for (const std::string name : {"a", "b", "c", "d"}) {
    const ValueId c = graph.add("Conv", {x, weight({8, 4, 3, 3}, name)});
    const ValueId n =
        graph.add("BatchNormalization", {c, weight({8}, name + "s"), weight({8}, name + "b"),
                                         weight({8}, name + "m"), weight({8}, name + "v")});
    graph.add_output(name, graph.add("Relu", {n}));
  }
  const auto rules = std::make_shared<RuleSet>(
      RuleSet::builtin().subset(std::vector<std::string>{"conv_batchnorm", "conv_relu"}));
  return {graph, rules, make_cost_model("roofline:t4")};
}

int count(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const NodeId node : graph.nodes()) found += graph.op(node).is(op) ? 1 : 0;
  return found;
}

/// Nodes of that kind that have to be left.
ObjectionTo objection_below(std::string_view op, int least) {
  return [=](const Graph& graph) { return count(graph, op) < least ? "too few are left" : ""; };
}

std::vector<RewriteStep> path_of(const RewriteState& at) {
  return search_rewrites(at, {}, search::Greedy()).rewrites;
}

TEST(AcceptedPath, IsTheWholePathWhereNothingSpeaksAgainstIt) {
  const RewriteState at = start();
  const std::vector<RewriteStep> path = path_of(at);
  ASSERT_THAT(path, SizeIs(8));
  const AcceptedPath accepted = accepted_path(at, path, [](const Graph&) { return ""; }, {});
  EXPECT_EQ(accepted.rewrites, path);
  EXPECT_THAT(accepted.left_out, IsEmpty());
}

TEST(AcceptedPath, GoesOnWithoutTheRuleThatIsToBlame) {
  const RewriteState at = start();
  for (int least = 1; least <= 4; ++least) {
    const AcceptedPath accepted =
        accepted_path(at, path_of(at), objection_below("BatchNormalization", least), {});
    EXPECT_EQ(count(accepted.graph, "BatchNormalization"), least);
    EXPECT_EQ(count(accepted.graph, "Relu"), least)
        << "those behind convolutions are gone all the same";
    EXPECT_THAT(accepted.left_out,
                ElementsAre(AllOf(HasSubstr("conv_batchnorm"), HasSubstr("too few are left"))));
    EXPECT_EQ(accepted.cost, replay(at, accepted.rewrites).cost());
  }
}

TEST(AcceptedPath, IsTheStartWhereNothingIsAccepted) {
  const RewriteState at = start();
  const ObjectionTo to_all = [&](const Graph& graph) {
    return count(graph, "Relu") + count(graph, "BatchNormalization") < 8 ? "no" : "";
  };
  EXPECT_THAT(accepted_path(at, path_of(at), to_all, {}).rewrites, IsEmpty());
}

TEST(AcceptedPath, AsksLittleOnceTheTimeIsOver) {
  const RewriteState at = start();
  RewriteSearchOptions options;
  options.stop.request();
  int asked = 0;
  const ObjectionTo objection_to = [&](const Graph&) { return ++asked, "no"; };
  EXPECT_THAT(accepted_path(at, path_of(at), objection_to, options).rewrites, IsEmpty());
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace reverie
