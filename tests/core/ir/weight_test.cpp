#include "core/ir/weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/hash.h"
#include "core/base/random.h"

namespace reverie {
namespace {

/// Of more than one piece, and no whole number of them.
constexpr int64_t kMany = (int64_t{9} << 18) + 5;

Tensor random_tensor(const TensorType& type) {
  Tensor tensor(type);
  Rng rng(1);
  for (std::byte& byte : tensor.bytes()) byte = static_cast<std::byte>(rng.below(256));
  return tensor;
}

WeightPtr stored(const Tensor& tensor) {
  const auto read = [tensor](int64_t offset, std::span<std::byte> out) {
    std::ranges::copy(tensor.bytes().subspan(static_cast<size_t>(offset), out.size()), out.begin());
  };
  return Weight::stored(tensor.type(), read, "w");
}

std::vector<std::byte> visited(const Weight& weight, size_t* largest = nullptr) {
  std::vector<std::byte> bytes;
  weight.visit_bytes([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    if (largest != nullptr) *largest = std::max(*largest, piece.size());
  });
  return bytes;
}

TEST(Weight, ThatIsStoredIsTheDenseOneOfItsContent) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kInt8})
    for (const int64_t elements : {int64_t{0}, int64_t{3}, int64_t{65}, kMany}) {
      const Tensor tensor = random_tensor({dtype, {elements}});
      const WeightPtr dense = Weight::dense(tensor, "w"), file = stored(tensor);
      EXPECT_EQ(file->identity(), dense->identity()) << name_of(dtype) << " x " << elements;
      EXPECT_EQ(file->is_small(), dense->is_small());
      EXPECT_TRUE(std::ranges::equal(file->materialize().bytes(), tensor.bytes()));
    }
}

TEST(Weight, ShowsItsBytesPieceByPiece) {
  const Tensor tensor = random_tensor({DType::kFloat32, {kMany}});
  const TensorType square = {DType::kFloat32, {1500, 1500}};
  const WeightPtr made = Weight::lazy(
      tensor.type(), 1, [tensor] { return tensor; }, "made");
  for (const WeightPtr& weight :
       {Weight::dense(tensor), stored(tensor), made, Weight::fill(tensor.type(), 0.3, "fill"),
        Weight::fill({DType::kFloat16, {kMany}}, -2, "half"), Weight::identity_kernel(square)})
    EXPECT_TRUE(std::ranges::equal(visited(*weight), weight->materialize().bytes()));
}

TEST(Weight, OfAFileIsInMemoryBySomeKibibytes) {
  size_t largest = 0;
  EXPECT_EQ(visited(*stored(random_tensor({DType::kFloat32, {kMany}})), &largest).size(),
            static_cast<size_t>(kMany) * sizeof(float));
  EXPECT_LE(largest, size_t{1} << 18);
}

TEST(Weight, BytesInPiecesHaveTheHashOfTheWhole) {
  const Tensor tensor = random_tensor({DType::kInt8, {1003}});
  const auto bytes = tensor.bytes();
  for (const size_t first : {size_t{0}, size_t{8}, size_t{512}, size_t{1000}}) {
    PieceHash hash(bytes.size(), 7);
    hash.add(bytes.data(), first);
    hash.add(bytes.data() + first, bytes.size() - first);
    EXPECT_EQ(hash.finish(), hash_bytes(bytes.data(), bytes.size(), 7));
  }
}

}  // namespace
}  // namespace reverie
