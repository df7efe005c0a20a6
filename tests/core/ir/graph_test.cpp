#include "core/ir/graph.h"

#include <gtest/gtest.h>

#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

TEST(Graph, InputNamesAreUnique) {
  Graph graph;
  graph.add_input("x", {DType::kFloat32, {2, 3}});
  EXPECT_THROW(graph.add_input("x", {DType::kFloat32, {2, 3}}), InputError);
}

TEST(Graph, SmallConstantsAreKnownByContent) {
  const auto two = Weight::dense(Tensor::of<float>({2}, {1, 2}), "a");
  const auto same = Weight::dense(Tensor::of<float>({2}, {1, 2}), "b");
  const auto other = Weight::dense(Tensor::of<float>({2}, {1, 3}), "a");
  EXPECT_EQ(two->identity(), same->identity());
  EXPECT_NE(two->identity(), other->identity());
}

TEST(Graph, LargeFillsAreKnownByName) {
  const TensorType type{DType::kFloat32, {1000}};
  EXPECT_NE(Weight::fill(type, 0.5, "a")->identity(), Weight::fill(type, 0.5, "b")->identity());
  EXPECT_EQ(Weight::fill(type, 0.5, "a")->identity(), Weight::fill(type, 0.25, "a")->identity());
}

}  // namespace
}  // namespace reverie
