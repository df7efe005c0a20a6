#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ir/weight.h"

namespace reverie {
namespace {

TEST(KnownWeights, AnIdentityKernelHasItsOneAtTheCentreOfSamePadding) {
  const WeightPtr weight = Weight::identity_kernel({DType::kFloat32, {2, 2, 2, 3}});
  const std::vector<double> elements = weight->materialize().to_doubles();
  for (size_t i = 0; i < elements.size(); ++i)
    EXPECT_EQ(elements[i], i == 1 || i == 3 * 6 + 1 ? 1.0 : 0.0) << i;
  EXPECT_TRUE(weight->is_identity_kernel());
}

TEST(KnownWeights, FormulasArePartOfTheMeaningWhateverTheSize) {
  const TensorType large{DType::kFloat32, {40, 40}};
  const WeightPtr identity = Weight::identity_kernel(large);
  EXPECT_TRUE(identity->is_small());
  EXPECT_TRUE(identity->is_identity_kernel());
  EXPECT_EQ(identity->identity(), Weight::identity_kernel(large)->identity());
  const WeightPtr ones = Weight::constant(large, 1);
  EXPECT_TRUE(ones->is_small());
  EXPECT_FALSE(ones->is_identity_kernel());
  EXPECT_EQ(ones->identity(), Weight::constant(large, 1)->identity());
  EXPECT_NE(ones->identity(), Weight::constant(large, 2)->identity());
  EXPECT_EQ(ones->materialize().to_doubles(), std::vector<double>(1600, 1.0));
}

TEST(KnownWeights, TheContentOfALargeWeightOfAModelIsNotLookedAt) {
  const TensorType large{DType::kFloat32, {40, 40}};
  const WeightPtr dense = Weight::dense(Weight::identity_kernel(large)->materialize());
  EXPECT_FALSE(dense->is_identity_kernel());
  EXPECT_FALSE(Weight::fill(large, 1, "w")->is_small());
}

TEST(KnownWeights, AnIdentityNeedsEqualExtents) {
  EXPECT_THROW(Weight::identity_kernel({DType::kFloat32, {2, 3}}), InputError);
  EXPECT_THROW(Weight::identity_kernel({DType::kFloat32, {2}}), InputError);
}

}  // namespace
}  // namespace reverie
