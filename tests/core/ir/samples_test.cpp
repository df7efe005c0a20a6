#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ir/graph.h"
#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

TensorType sampled(std::vector<Shape> shapes) {
  std::vector<TensorType> types;
  for (Shape& shape : shapes) types.push_back({DType::kFloat32, std::move(shape)});
  return type_of_samples(types);
}

TEST(Samples, OfATypeTellItApart) {
  const TensorType varying = sampled({{2, 4}, {5, 4}, {3, 4}});
  EXPECT_TRUE(varying.varies());
  EXPECT_EQ(varying.samples(), 3u);
  EXPECT_EQ(varying.shape, (Shape{2, 4}));
  EXPECT_EQ(varying.at(1), (TensorType{DType::kFloat32, {5, 4}}));
  EXPECT_NE(varying, varying.at(0));
  EXPECT_NE(varying, sampled({{2, 4}, {5, 4}, {7, 4}}));
  EXPECT_EQ(varying, sampled({{2, 4}, {5, 4}, {3, 4}}));
  EXPECT_NE(hash_of(varying), hash_of(varying.at(0)));
  EXPECT_NE(hash_of(varying), hash_of(sampled({{2, 4}, {5, 4}, {7, 4}})));
  EXPECT_FALSE(sampled({{2, 4}, {2, 4}}).varies());
  EXPECT_THROW(sampled({{2, 4}, {2}}), InputError);
}

TEST(Samples, OfAttributesAreSetTogether) {
  const std::vector<Attributes> each = {{{"shape", Shape{2, 4}}}, {{"shape", Shape{5, 4}}}};
  Attributes attributes = Attributes::of_samples(each);
  EXPECT_TRUE(attributes.varies());
  attributes.set("axis", int64_t{1});
  EXPECT_EQ(attributes.at(1).integer("axis"), 1);
  EXPECT_EQ(attributes.at(1).integers("shape"), (Shape{5, 4}));
  EXPECT_NE(attributes, attributes.at(0));
  EXPECT_NE(attributes.hash(), attributes.at(0).hash());
  attributes.set("shape", Shape{8});
  EXPECT_FALSE(attributes.varies());
}

/// Reshape of x [n, 6] to [2n, 3].
Graph halves(int64_t n) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {n, 6}});
  graph.add_output("y", graph.add("Reshape", {x}, {{"shape", Shape{2 * n, 3}}}));
  return graph.compacted();
}

TEST(Samples, OfAGraphAreTheGraphsThatItCameFrom) {
  const std::vector<Graph> each = {halves(1), halves(4), halves(7)};
  const auto together = Graph::of_samples(each);
  ASSERT_TRUE(together);
  together->validate();
  EXPECT_EQ(together->samples(), 3u);
  for (size_t i = 0; i < each.size(); ++i) {
    together->sample(i).validate();
    EXPECT_TRUE(isomorphic(together->sample(i), each[i]));
    EXPECT_EQ(together->sample(i).samples(), 1u);
  }
  EXPECT_FALSE(isomorphic(*together, each[0]));
}

TEST(Samples, OfGraphsOfAnotherStructureDoNotFit) {
  Graph other = halves(4);
  const ValueId y = other.outputs()[0].value;
  other.replace_all_uses(y, other.add("Relu", {y}));
  const std::vector<Graph> each = {halves(1), other.compacted()};
  EXPECT_FALSE(Graph::of_samples(each));
}

TEST(Samples, AreAllInferred) {
  const std::vector<Graph> each = {halves(1), halves(4)};
  Graph graph = *Graph::of_samples(each);
  const ValueId x = graph.output(graph.inputs()[0]);
  EXPECT_EQ(graph.type(graph.add("Transpose", {x})), sampled({{6, 1}, {6, 4}}));
  EXPECT_THROW(graph.add("Reshape", {x}, {{"shape", Shape{6}}}), InputError)
      << "six elements are there at the first sample alone";
}

TEST(Samples, OfAConstantHideItsValue) {
  const auto weight = [](float value) { return Weight::dense(Tensor::of<float>({1}, {value})); };
  const WeightPtr varying = Weight::of_samples({weight(1), weight(2)});
  EXPECT_FALSE(varying->is_small());
  EXPECT_NE(varying->identity(), weight(1)->identity());
  EXPECT_EQ(varying->materialize().to_doubles(), std::vector<double>{1});
  EXPECT_EQ(varying->at(1)->materialize().to_doubles(), std::vector<double>{2});
}

}  // namespace
}  // namespace reverie
