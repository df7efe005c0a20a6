#include "core/onnx/sampled_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reverie::proto {
namespace {

using ::testing::IsEmpty;

std::string text_of(const std::vector<SampledTerm>& terms) {
  return terms.empty() ? "" : fmt::format("{}({}, {})", terms[0].op, terms[0].a[0], terms[0].b[0]);
}

TEST(SampledTerms, AreTheFirstThatHoldsAtEverySample) {
  const Sampled height = {16, 48, 9}, width = {16, 64, 10}, half = {8, 24, 4};
  const std::vector<Sampled> at_hand = {height, width, half};
  EXPECT_EQ(text_of(terms_of({256, 3072, 90}, at_hand)), "Mul(16, 16)");
  EXPECT_EQ(text_of(terms_of({8, 24, 5}, at_hand)), "Sub(16, 8)");
  EXPECT_EQ(text_of(terms_of({19, 51, 12}, at_hand)), "Add(16, 3)");
  EXPECT_EQ(text_of(terms_of({4, 12, 2}, at_hand)), "Div(16, 4)");
  EXPECT_THAT(terms_of({8, 24, 1000}, at_hand), IsEmpty());
}

}  // namespace
}  // namespace reverie::proto
