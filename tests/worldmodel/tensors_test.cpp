#include "worldmodel/network/tensors.h"

#include <gmock/gmock.h>

#include "worldmodel/batch/latents.h"

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

LatentActions counted_actions(int& freed) {
  return {counted_number(freed), counted_number(freed), counted_number(freed)};
}

TEST(Tensors, PartsThatAreMovedInAreFreedTensorByTensor) {
  int freed = 0;
  std::vector<LatentActions> parts = {counted_actions(freed), counted_actions(freed)};
  std::vector<int> before;
  join_tensors(std::move(parts), [&](const auto& list) {
    before.push_back(freed);
    return torch::cat(list);
  });
  EXPECT_THAT(before, ::testing::ElementsAre(0, 2, 4));
}

TEST(Tensors, OfWhatIsMovedInTheRowsStayAlone) {
  int freed = 0;
  LatentActions all = counted_actions(freed);
  const LatentActions rows = select_rows(std::move(all), torch::zeros({3}, torch::kInt64));
  EXPECT_EQ(freed, 3);
  EXPECT_EQ(rows.primary.size(0), 3);
}

TEST(Tensors, StatesOfDifferentNumbersOfEntitiesArePaddedWithZeros) {
  const auto of = [](int64_t entities) {
    return Latents{torch::ones({1, 2}), torch::ones({1, entities, 2}),
                   torch::ones({1, entities, entities}, torch::kInt32)};
  };
  const Latents both = concatenate(std::vector<Latents>{of(1), of(3)});
  EXPECT_EQ(both.entities.sizes(), (std::vector<int64_t>{2, 3, 2}));
  EXPECT_EQ(both.entities[0].sum().item<float>(), 2);
  EXPECT_EQ(both.neighbours[0].sum().item<int64_t>(), 1);
  EXPECT_EQ(both.neighbours[1].sum().item<int64_t>(), 9);
  const auto first = torch::zeros({1}, torch::kInt64);
  EXPECT_EQ(with_rows(both, first, of(2)).entities[0].sum().item<float>(), 4);
  EXPECT_EQ(with_rows(of(2), first, of(3)).entities.size(1), 3);
}

}  // namespace
}  // namespace reverie
