#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"

namespace reverie {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using List = std::vector<int64_t>;

Tensor floats(Shape shape, std::initializer_list<float> values) {
  return Tensor::of<float>(std::move(shape), values);
}
Tensor integers(Shape shape, std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(std::move(shape), values);
}
Tensor bools(Shape shape, std::initializer_list<bool> values) {
  return Tensor::of<bool>(std::move(shape), values);
}

std::vector<Tensor> all(std::string_view op, std::vector<Tensor> inputs,
                        Attributes attributes = {}) {
  return evaluate_node(op_named(op), attributes, inputs, {.poison = true});
}
std::vector<double> numbers(std::string_view op, std::vector<Tensor> inputs,
                            Attributes attributes = {}) {
  return all(op, std::move(inputs), std::move(attributes)).at(0).to_doubles();
}
std::string refusal(std::string_view op, std::vector<Tensor> inputs, Attributes attributes = {}) {
  try {
    all(op, std::move(inputs), std::move(attributes));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReferenceIndexing, ModHasTheSignOfTheDivisorOrTheDividend) {
  const Tensor a = integers({4}, {7, -7, 7, -7}), b = integers({4}, {3, 3, -3, -3});
  EXPECT_THAT(numbers("Mod", {a, b}), ElementsAre(1, 2, -2, -1));
  EXPECT_THAT(numbers("Mod", {a, b}, {{"fmod", int64_t{1}}}), ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(numbers("Mod", {floats({2}, {5.5, -5.5}), floats({}, {3})}, {{"fmod", int64_t{1}}}),
              ElementsAre(2.5, -2.5));
  EXPECT_THAT(numbers("Mod", {Tensor::of<uint8_t>({1}, {200}), Tensor::of<uint8_t>({1}, {7})}),
              ElementsAre(4));
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(numbers("Mod", {integers({1}, {least}), integers({1}, {-1})}), ElementsAre(0));
  EXPECT_THAT(refusal("Mod", {a, integers({}, {0})}), HasSubstr("division by zero"));
  EXPECT_THAT(refusal("Mod", {floats({1}, {1}), floats({1}, {1})}), HasSubstr("fmod=1"));
  EXPECT_THAT(numbers("Mod", {integers({0}, {}), integers({1}, {0})}), IsEmpty());
}

TEST(ReferenceIndexing, FurtherElementwise) {
  EXPECT_THAT(numbers("Xor", {bools({2}, {true, false}), bools({}, {true})}), ElementsAre(0, 1));
  EXPECT_THAT(
      numbers("BitShift", {Tensor::of<uint8_t>({2}, {200, 3}), Tensor::of<uint8_t>({}, {1})},
              {{"direction", std::string("LEFT")}}),
      ElementsAre(144, 6));
  EXPECT_THAT(numbers("Round", {floats({4}, {0.5, 1.5, -2.5, 2.4F})}), ElementsAre(0, 2, -2, 2));
  EXPECT_THAT(numbers("Sign", {integers({3}, {-5, 0, 9})}), ElementsAre(-1, 0, 1));
  EXPECT_THAT(
      numbers("IsInf", {floats({3}, {-INFINITY, 1, INFINITY})}, {{"detect_negative", int64_t{0}}}),
      ElementsAre(0, 0, 1));
  EXPECT_THAT(numbers("IsNaN", {floats({2}, {NAN, INFINITY})}), ElementsAre(1, 0));
  EXPECT_THAT(numbers("PRelu", {floats({2, 2}, {-1, 2, -3, 4}), floats({2}, {0.5, 0.25})}),
              ElementsAre(-0.5, 2, -1.5, 4));
  EXPECT_THAT(refusal("PRelu", {floats({2}, {1, 2}), floats({2, 1}, {1, 1})}), HasSubstr("slope"));
}

TEST(ReferenceIndexing, GatherElementsReadsOneElementPerIndex) {
  const Tensor x = floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(numbers("GatherElements", {x, integers({2, 3}, {1, 2, 0, -1, 0, 0})}),
              ElementsAre(4, 8, 3, 7, 2, 3));
  EXPECT_THAT(
      numbers("GatherElements", {x, Tensor::of<int32_t>({2, 1}, {-1, 0})}, {{"axis", int64_t{-1}}}),
      ElementsAre(3, 4));
  EXPECT_THAT(numbers("GatherElements", {bools({2}, {false, true}), integers({3}, {1, 1, 0})}),
              ElementsAre(1, 1, 0));
  EXPECT_THAT(numbers("GatherElements", {x, integers({0, 3}, {})}), IsEmpty());
  EXPECT_THAT(refusal("GatherElements", {x, integers({1, 1}, {-4})}),
              HasSubstr("index -4 is out of range for an extent of 3"));
  EXPECT_THAT(refusal("GatherElements", {x, Tensor({DType::kInt64, {3, 4}})}),
              HasSubstr("do not fit"));
}

TEST(ReferenceIndexing, GatherNdReadsASlicePerTuple) {
  const Tensor x = integers({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(numbers("GatherND", {x, integers({2, 2}, {0, 1, -1, 0})}), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(numbers("GatherND", {x, integers({2, 1}, {1, 0})}, {{"batch_dims", int64_t{1}}}),
              ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(all("GatherND", {x, integers({2, 0}, {})}).at(0).shape(), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(numbers("GatherND", {x, integers({0, 2}, {})}), IsEmpty());
  EXPECT_THAT(refusal("GatherND", {x, integers({1, 2}, {0, 2})}), HasSubstr("index 2"));
  EXPECT_THAT(refusal("GatherND", {x, integers({1, 4}, {0, 0, 0, 0})}), HasSubstr("tuples of 4"));
}

TEST(ReferenceIndexing, ScattersWriteInOrder) {
  const Tensor x = floats({4}, {1, 2, 3, 4});
  EXPECT_THAT(numbers("ScatterND", {x, integers({3, 1}, {1, -1, 1}), floats({3}, {7, 8, 9})}),
              ElementsAre(1, 9, 3, 8));
  EXPECT_THAT(numbers("ScatterND", {x, integers({3, 1}, {1, -1, 1}), floats({3}, {7, 8, 9})},
                      {{"reduction", std::string("add")}}),
              ElementsAre(1, 18, 3, 12));
  EXPECT_THAT(numbers("ScatterND", {integers({2, 2}, {1, 2, 3, 4}), integers({1, 1}, {-1}),
                                    integers({1, 2}, {8, 9})}),
              ElementsAre(1, 2, 8, 9));
  EXPECT_THAT(
      numbers("ScatterElements",
              {floats({2, 2}, {1, 2, 3, 4}), integers({2, 1}, {1, -2}), floats({2, 1}, {10, 20})},
              {{"axis", int64_t{1}}, {"reduction", std::string("mul")}}),
      ElementsAre(1, 20, 60, 4));
  EXPECT_THAT(numbers("ScatterND", {bools({2}, {false, false}), Tensor::of<int64_t>({1, 1}, {0}),
                                    bools({1}, {true})}),
              ElementsAre(1, 0));
  EXPECT_THAT(numbers("ScatterND", {x, integers({0, 1}, {}), floats({0}, {})}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(x.to_doubles()[1], 2) << "the data were changed in place";
  EXPECT_THAT(refusal("ScatterND", {x, integers({1, 1}, {4}), floats({1}, {7})}),
              HasSubstr("index 4"));
  EXPECT_THAT(refusal("ScatterND", {x, integers({1, 1}, {0}), floats({2}, {7, 8})}),
              HasSubstr("updates"));
}

TEST(ReferenceIndexing, NonZeroAndOneHot) {
  const Tensor places = all("NonZero", {floats({2, 2}, {0, 3, NAN, 0})}).at(0);
  EXPECT_THAT(places.shape(), ElementsAre(2, 2));
  EXPECT_THAT(places.to_integers(), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(all("NonZero", {bools({3}, {false, false, false})}).at(0).shape(), ElementsAre(1, 0));
  const Attributes three = {{"depth", int64_t{3}}};
  EXPECT_THAT(numbers("OneHot", {integers({3}, {1, -1, 3}), floats({2}, {0, 5})}, three),
              ElementsAre(0, 5, 0, 0, 0, 5, 0, 0, 0));
  EXPECT_THAT(numbers("OneHot", {integers({2}, {1, 0}), integers({2}, {7, 9})},
                      {{"depth", int64_t{3}}, {"axis", int64_t{0}}}),
              ElementsAre(7, 9, 9, 7, 7, 7));
}

TEST(ReferenceIndexing, PlacesOfExtremes) {
  const Tensor x = floats({2, 3}, {5, 9, 9, 1, 0, 0});
  EXPECT_THAT(numbers("ArgMax", {x}, {{"axis", int64_t{-1}}}), ElementsAre(1, 0));
  EXPECT_THAT(numbers("ArgMax", {x}, {{"axis", int64_t{1}}, {"select_last_index", int64_t{1}}}),
              ElementsAre(2, 0));
  EXPECT_THAT(numbers("ArgMin", {x}, {{"axis", int64_t{0}}, {"keepdims", int64_t{0}}}),
              ElementsAre(1, 1, 1));
  EXPECT_THAT(numbers("ArgMin", {integers({3}, {4, -2, -2})}), ElementsAre(1));
  EXPECT_THAT(refusal("ArgMax", {floats({2, 0}, {})}, {{"axis", int64_t{1}}}),
              HasSubstr("no elements"));
  EXPECT_THAT(numbers("ArgMax", {floats({0, 2}, {})}, {{"axis", int64_t{1}}}), IsEmpty());
}

TEST(ReferenceIndexing, TopKIsSortedWithTheFirstOfEqualsFirst) {
  const auto best = all("TopK", {floats({2, 4}, {1, 7, 7, 3, 4, -4, 2, 0})}, {{"k", int64_t{2}}});
  EXPECT_THAT(best.at(0).to_doubles(), ElementsAre(7, 7, 4, 2));
  EXPECT_THAT(best.at(1).to_integers(), ElementsAre(1, 2, 0, 2));
  const auto least = all("TopK", {Tensor::of<int32_t>({3, 2}, {5, 1, 4, 2, 6, 0})},
                         {{"k", int64_t{2}}, {"axis", int64_t{0}}, {"largest", int64_t{0}}});
  EXPECT_THAT(least.at(0).to_integers(), ElementsAre(4, 0, 5, 1));
  EXPECT_THAT(least.at(1).to_integers(), ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(refusal("TopK", {floats({2}, {1, 2})}, {{"k", int64_t{3}}}), HasSubstr("k is 3"));
  EXPECT_THAT(all("TopK", {floats({2, 0}, {})}, {{"k", int64_t{0}}}).at(1).shape(),
              ElementsAre(2, 0));
}

TEST(ReferenceIndexing, CumulativeSums) {
  const Tensor x = integers({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto along = [&](int64_t axis, int64_t exclusive, int64_t reverse) {
    return numbers("CumSum", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
  };
  EXPECT_THAT(along(-1, 0, 0), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(along(1, 1, 0), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(along(1, 0, 1), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(along(0, 1, 1), ElementsAre(4, 5, 6, 0, 0, 0));
  EXPECT_THAT(numbers("CumSum", {floats({0}, {})}, {{"axis", int64_t{0}}}), IsEmpty());
}

TEST(ReferenceIndexing, TrianglesOfMatrices) {
  const Tensor x = integers({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto part = [&](int64_t upper, int64_t k) {
    return numbers("Trilu", {x}, {{"upper", upper}, {"k", k}});
  };
  EXPECT_THAT(part(1, 0), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(part(0, 0), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(part(1, 1), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(part(0, -5), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(
      numbers("Trilu", {bools({1, 2, 2}, {true, true, true, true})}, {{"upper", int64_t{0}}}),
      ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(refusal("Trilu", {integers({3}, {1, 2, 3})}), HasSubstr("matrices"));
}

TEST(ReferenceIndexing, BlocksMoveBetweenDepthAndSpace) {
  const Tensor x = integers({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Attributes two = {{"blocksize", int64_t{2}}};
  EXPECT_THAT(numbers("DepthToSpace", {x}, two), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(
      numbers("DepthToSpace", {x}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}}),
      ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  const Tensor wide = all("DepthToSpace", {x}, two).at(0);
  EXPECT_THAT(numbers("SpaceToDepth", {wide}, two), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(refusal("DepthToSpace", {x}, {{"blocksize", int64_t{1} << 39}}),
              HasSubstr("blocksize"));
  EXPECT_THAT(refusal("SpaceToDepth", {x}, two), HasSubstr("does not"));
}

TEST(ReferenceIndexing, SequencesAreReversedUpToTheirLengths) {
  const Tensor x = integers({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(numbers("ReverseSequence", {x, integers({2}, {3, 2})}),
              ElementsAre(5, 4, 3, 2, 1, 6));
  EXPECT_THAT(numbers("ReverseSequence", {x, integers({3}, {0, 1, 2})},
                      {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}),
              ElementsAre(1, 2, 3, 4, 6, 5));
  EXPECT_THAT(refusal("ReverseSequence", {x, integers({2}, {4, 0})}), HasSubstr("length 4"));
}

TEST(ReferenceIndexing, EinsteinSums) {
  const Tensor a = integers({2, 3}, {1, 2, 3, 4, 5, 6}), b = integers({3}, {1, 10, 100});
  const auto sum = [](const std::string& equation, std::vector<Tensor> inputs) {
    return numbers("Einsum", std::move(inputs), {{"equation", equation}});
  };
  EXPECT_THAT(sum("ij, j -> i", {a, b}), ElementsAre(321, 654));
  EXPECT_THAT(sum("ij,j", {a, b}), ElementsAre(321, 654));
  EXPECT_THAT(sum("ij->j", {a}), ElementsAre(5, 7, 9));
  EXPECT_THAT(sum("ij->", {a}), ElementsAre(21));
  EXPECT_THAT(sum("ba", {a}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(sum("ii->i", {integers({2, 2}, {1, 2, 3, 4})}), ElementsAre(1, 4));
  EXPECT_THAT(sum("...j,...j->...", {a, b}), ElementsAre(321, 654));
  EXPECT_THAT(sum("i,j,i->ij", {integers({2}, {1, 2}), b, integers({1}, {3})}),
              ElementsAre(3, 30, 300, 6, 60, 600));
  EXPECT_THAT(sum("ij,j->i", {integers({2, 0}, {}), integers({0}, {})}), ElementsAre(0, 0));
  EXPECT_THAT(refusal("Einsum", {a, b}, {{"equation", std::string("ij,i->j")}}),
              HasSubstr("extents"));
  EXPECT_THAT(refusal("Einsum", {a}, {{"equation", std::string("ijk->i")}}), HasSubstr("rank 2"));
  EXPECT_THAT(refusal("Einsum", {a}, {{"equation", std::string("ij->k")}}), HasSubstr("'k'"));
  EXPECT_THAT(refusal("Einsum", {a}, {{"equation", std::string("i1->i")}}), HasSubstr("'i1'"));
}

TEST(ReferenceIndexing, FurtherReductions) {
  const Tensor x = floats({2, 2}, {1, -2, 3, 4});
  const Attributes rows = {{"axes", List{1}}, {"keepdims", int64_t{0}}};
  EXPECT_THAT(numbers("ReduceProd", {x}, rows), ElementsAre(-2, 12));
  EXPECT_THAT(numbers("ReduceProd", {integers({2, 0}, {})}, rows), ElementsAre(1, 1));
  EXPECT_THAT(numbers("ReduceL1", {x}, rows), ElementsAre(3, 7));
  EXPECT_THAT(numbers("ReduceL2", {x}, rows), ElementsAre(DoubleNear(std::sqrt(5), 1e-6), 5));
  EXPECT_THAT(numbers("ReduceSumSquare", {x}, rows), ElementsAre(5, 25));
  EXPECT_THAT(numbers("ReduceLogSum", {floats({2}, {1, 3})}),
              ElementsAre(DoubleNear(std::log(4), 1e-6)));
  EXPECT_THAT(numbers("ReduceLogSumExp", {floats({2}, {1000, 1000})}),
              ElementsAre(DoubleNear(1000 + std::log(2), 1e-3)));
  EXPECT_THAT(numbers("ReduceLogSumExp", {floats({1}, {-INFINITY})}), ElementsAre(-INFINITY));
  EXPECT_THAT(numbers("LogSoftmax", {floats({1, 2}, {1000, 1000})}),
              ElementsAre(DoubleNear(-std::log(2), 1e-6), DoubleNear(-std::log(2), 1e-6)));
}

}  // namespace
}  // namespace reverie
