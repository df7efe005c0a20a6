#include "core/search/keep_symbols.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

/// Products of one input, each followed by a relu that can be fused.
RewriteState start() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4, 16}});
  for (const char* name : {"a", "b", "c", "d"}) {
    const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {16, 8}}, 0.5, name));
    graph.add_output(name, graph.add("Relu", {graph.add("MatMul", {x, w})}));
  }
  return {graph, std::make_shared<RuleSet>(RuleSet::builtin()), make_cost_model("roofline:t4")};
}

/// A symbol that is lost as soon as fewer than `relus` are left.
LostSymbols lost_below(int relus) {
  return [relus](const Graph& graph) {
    int left = 0;
    for (const NodeId node : graph.nodes()) left += graph.op(node).is("Relu") ? 1 : 0;
    return left < relus ? std::set<std::string>{"batch"} : std::set<std::string>();
  };
}

TEST(KeepSymbols, ThePathEndsBeforeTheRewriteThatLosesOne) {
  const RewriteState at = start();
  const std::vector<RewriteStep> path = greedy_search(at, {}).rewrites;
  ASSERT_GT(path.size(), 1u);
  int kept = 4;
  for (size_t steps = 0; steps <= path.size(); ++steps) {
    const Graph graph = replay(at, std::span(path).first(steps)).graph();
    int left = 0;
    for (const NodeId node : graph.nodes()) left += graph.op(node).is("Relu") ? 1 : 0;
    if (left < kept) {  // the step before has lost a relu
      kept = left;
      EXPECT_EQ(rewrites_that_keep_symbols(at, path, lost_below(left + 1)), steps - 1);
    }
  }
  EXPECT_LT(kept, 4);
  EXPECT_EQ(rewrites_that_keep_symbols(at, path, lost_below(0)), path.size());
}

TEST(KeepSymbols, WhereTheFirstRewriteLosesOneNoneIsTaken) {
  const RewriteState at = start();
  const std::vector<RewriteStep> path = greedy_search(at, {}).rewrites;
  EXPECT_EQ(rewrites_that_keep_symbols(at, path, lost_below(5)), 0u) << "as if the file of the start would, too";
  EXPECT_EQ(rewrites_that_keep_symbols(at, {}, lost_below(0)), 0u);
}

}  // namespace
}  // namespace reverie
