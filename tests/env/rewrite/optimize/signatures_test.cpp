#include "env/rewrite/optimize/signatures.h"

#include <gmock/gmock.h>

#include "env/rewrite/search/search.h"

namespace reverie {
namespace {

using ::testing::IsSupersetOf;

ImportedModel model_of(Graph graph) {
  ImportedModel model;
  model.graph = std::move(graph);
  return model;
}

/// Two products of one input, which rules make one product and a split, and a relu to be fused.
Graph branches() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4, 16}});
  for (const char* name : {"a", "b"}) {
    const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {16, 8}}, 0.5, name));
    graph.add_output(name, graph.add("Relu", {graph.add("MatMul", {x, w})}));
  }
  return graph;
}

std::vector<std::string> texts_of(const std::map<std::string, OpSignature>& operators) {
  std::vector<std::string> texts;
  for (const auto& [text, signature] : operators) texts.push_back(text);
  return texts;
}

class SignaturesTest : public ::testing::Test {
 protected:
  std::vector<std::string> reached(int64_t depth) const { return texts_of(reachable(depth)); }
  std::map<std::string, OpSignature> reachable(int64_t depth) const {
    ReachOptions options;
    options.depth = depth;
    return reachable_signatures(model_of(branches()), rules_, "t4", options);
  }
  std::shared_ptr<const RuleSet> rules_ = std::make_shared<RuleSet>(RuleSet::builtin());
};

TEST_F(SignaturesTest, DepthZeroIsTheGraphItself) {
  EXPECT_THAT(reached(0), ::testing::ElementsAre(
                              "MatMul(float32 4x16, const float32 16x8) {activation=\"none\"}",
                              "Relu(float32 4x8)"));
}

TEST_F(SignaturesTest, GrowsWithDepthAndIsDeterministic) {
  const auto one = reached(1), three = reached(3);
  EXPECT_GT(one.size(), reached(0).size());
  EXPECT_THAT(three, IsSupersetOf(one));
  EXPECT_EQ(three, reached(3));
  EXPECT_THAT(three, IsSupersetOf(std::vector<std::string>{
                         "MatMul(float32 4x16, const float32 16x8) {activation=\"relu\"}",
                         "MatMul(float32 4x16, const float32 16x16) {activation=\"relu\"}",
                         "Split(float32 4x16) {axis=1, split=[8, 8]}"}));
}

/// What a search under costs from these operators asks for is among them.
TEST_F(SignaturesTest, HoldsWhatGreedySearchEndsWith) {
  const auto all = reachable(2);
  const RewriteState start(branches(), rules_, make_cost_model("roofline:t4"));
  const SearchResult found = search_rewrites(start, {}, search::Greedy());
  ASSERT_FALSE(found.rewrites.empty());
  for (const NodeId node : found.best.nodes()) {
    const std::string text = signature_of(found.best, node).text();
    EXPECT_EQ(all.contains(text), found.best.is_work(node)) << text;
  }
}

/// For a machine that fuses, of the graph as it is and of the best ones.
TEST_F(SignaturesTest, HoldsFusedOperatorsWhereTheyAreAskedFor) {
  Graph graph = branches();
  const ValueId product =
      graph.add("MatMul", {graph.output(graph.inputs()[0]),
                           graph.add_constant(Weight::fill({DType::kFloat32, {16, 8}}, 0.5, "c"))});
  graph.add_output("c", graph.add("Tanh", {graph.add("Neg", {product})}));
  const std::string text = "Pointwise(float32 4x8) {program=\"t0 = Neg(x0); y = Tanh(t0)\"}";
  for (const int64_t depth : {0, 1})
    for (const bool fuses : {false, true}) {
      ReachOptions options;
      options.depth = depth;
      options.fuses = fuses;
      EXPECT_EQ(reachable_signatures(model_of(graph), rules_, "h200", options).contains(text),
                fuses);
    }
}

}  // namespace
}  // namespace reverie
