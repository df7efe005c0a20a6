#include "core/rules/matcher.h"

#include <gtest/gtest.h>

#include "core/rules/example.h"
#include "core/rules/library.h"

namespace reverie {
namespace {

/// Every match has its anchors at nodes that MatchProgram does not rule out. Returns their number.
int expect_neighbours_at_matches(const MatchProgram& program, const Graph& graph) {
  Matcher matcher(graph);
  int found = 0;
  for (const NodeId node : graph.nodes()) {
    const Neighbours around = Neighbours::of(graph, node);
    for (const MatchProgram::Anchor& anchor : program.anchors(graph.op(node)))
      matcher.find(
          program.rules()[static_cast<size_t>(anchor.rule)], anchor.op, node,
          [](int, NodeId) { return true; },
          [&](const Embedding&) {
            ++found;
            EXPECT_TRUE(around.include(anchor.needed)) << "rule " << anchor.rule;
          });
  }
  return found;
}

TEST(Neighbours, AreThereWhereverARuleMatches) {
  const RuleSet rules = RuleSet::builtin();
  const MatchProgram program(rules);
  for (int rule = 0; rule < rules.size(); ++rule)
    for (const RuleExample& example : rules[rule].pattern().examples)
      EXPECT_GT(
          expect_neighbours_at_matches(program, build_example(rules[rule].pattern(), example, 1)),
          0)
          << rules.name(rule);
}

TEST(Neighbours, OfASequenceNeedNotBeThere) {
  const RuleSet rules = RuleSet::parse(R"(
rule rest_of_a_split
match
  first, rest... = Split(x)
  r = Relu(first)
  y = Concat(r, rest...)
replace
  y = Relu(x)
)",
                                       "test");
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4}});
  const ValueId only = graph.add("Split", {x}, {{"split", std::vector<int64_t>{4}}});
  graph.add_output("y", graph.add("Concat", {graph.add("Relu", {only})}, {{"axis", int64_t{0}}}));
  EXPECT_EQ(expect_neighbours_at_matches(MatchProgram(rules), graph), 3);
}

TEST(Neighbours, TellWhatIsNextToANodeUnlessItHasVeryManyUsers) {
  for (const int users : {1, 60, 70}) {
    Graph graph;
    const ValueId x = graph.add("Exp", {graph.add_input("x", {DType::kFloat32, {4}})});
    for (int i = 0; i < users; ++i) graph.add_output(std::to_string(i), graph.add("Relu", {x}));
    const auto bit = [](const char* name) { return Neighbours::bit(op_named(name)); };
    const Neighbours around = Neighbours::of(graph, graph.producer(x));
    EXPECT_TRUE(around.include({Neighbours::bit(input_op()), bit("Relu")}));
    EXPECT_FALSE(around.include({bit("Relu"), 0}));
    EXPECT_EQ(around.include({0, bit("Tanh")}), users > 64);
  }
}

}  // namespace
}  // namespace reverie
