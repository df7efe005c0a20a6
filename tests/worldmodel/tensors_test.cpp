#include "worldmodel/tensors.h"

#include <gmock/gmock.h>

#include "worldmodel/latent.h"

namespace reverie {
namespace {

/// A number that counts when it is freed.
torch::Tensor counted_number(int& freed) {
  return torch::from_blob(
      new int64_t(0), {1},
      [&freed](void* number) {
        delete static_cast<int64_t*>(number);
        ++freed;
      },
      torch::kInt64);
}

LatentActions counted_actions(int& freed) { return {counted_number(freed), counted_number(freed)}; }

TEST(Tensors, PartsThatAreMovedInAreFreedTensorByTensor) {
  int freed = 0;
  std::vector<LatentActions> parts = {counted_actions(freed), counted_actions(freed)};
  std::vector<int> before;
  join_tensors(std::move(parts), [&](const auto& list) {
    before.push_back(freed);
    return torch::cat(list);
  });
  EXPECT_THAT(before, ::testing::ElementsAre(0, 2));
}

TEST(Tensors, OfWhatIsMovedInTheRowsStayAlone) {
  int freed = 0;
  LatentActions all = counted_actions(freed);
  const LatentActions rows = select_rows(std::move(all), torch::zeros({3}, torch::kInt64));
  EXPECT_EQ(freed, 2);
  EXPECT_EQ(rows.primary.size(0), 3);
}

}  // namespace
}  // namespace reverie
