#include "worldmodel/network/checkpoint.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

Checkpoint sample() {
  Checkpoint checkpoint;
  checkpoint.kind = "encoder";
  checkpoint.spec.name = "toy";
  checkpoint.spec.actions = {"a", "NO-OP"};
  checkpoint.spec.metrics = {{"cost", "ms"}};
  checkpoint.spec.starts = {{"start", 0xfedcba9876543210}};
  checkpoint.data = ~uint64_t{0};
  checkpoint.config = "a: 1\n";
  checkpoint.configs["encoder"] = "latent: 3\n";
  checkpoint.counters["epoch"] = -4;
  checkpoint.scores["best"] = 0.1;
  checkpoint.tensors["x"] = torch::tensor({1.5f, -2.0f, 3.0f}).view({3, 1});
  checkpoint.tensors["scalar"] = torch::tensor(7L);
  checkpoint.tensors["empty"] = torch::empty({0, 4});
  checkpoint.tensors["short"] = torch::tensor({1, 2}, torch::kInt32);
  return checkpoint;
}

TEST(Checkpoint, ComesBackAsItWas) {
  TemporaryDirectory directory;
  save_checkpoint(directory / "x.pt", sample());
  const Checkpoint back = load_checkpoint(directory / "x.pt", "encoder");
  EXPECT_EQ(back.spec, sample().spec);
  EXPECT_EQ(back.data, sample().data);
  EXPECT_EQ(back.configs, sample().configs);
  EXPECT_EQ(back.counters, sample().counters);
  EXPECT_EQ(back.scores, sample().scores);
  ASSERT_EQ(back.tensors.size(), sample().tensors.size());
  for (const auto& [name, tensor] : sample().tensors)
    EXPECT_TRUE(torch::equal(back.tensors.at(name), tensor)) << name;
  save_checkpoint(directory / "y.pt", back);
  EXPECT_EQ(read_file(directory / "x.pt"), read_file(directory / "y.pt"));
}

TEST(Checkpoint, OfAnotherVersionIsRefusedByItsNumber) {
  TemporaryDirectory directory;
  save_checkpoint(directory / "x.pt", sample());
  std::string content = read_file(directory / "x.pt");
  content[kCheckpointMagic.size()] = '1';
  write_file(directory / "x.pt", content);
  try {
    load_checkpoint(directory / "x.pt", "encoder");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("version 1, this program reads version 2"));
  }
}

TEST(Checkpoint, EveryTruncationAndFlippedByteIsOneClearError) {
  TemporaryDirectory directory;
  save_checkpoint(directory / "x.pt", sample());
  const std::string good = read_file(directory / "x.pt");
  const auto expect_refused = [&](const std::string& content) {
    write_file(directory / "bad.pt", content);
    try {
      load_checkpoint(directory / "bad.pt", "encoder");
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("bad.pt"));
      EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("\n")));
    }
  };
  for (size_t size = 0; size < good.size(); size += 7) expect_refused(good.substr(0, size));
  for (size_t at = 0; at < good.size(); at += 5) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    expect_refused(bad);
  }
}

TEST(Checkpoint, OtherKindsAreRefused) {
  TemporaryDirectory directory;
  save_checkpoint(directory / "x.pt", sample());
  EXPECT_THROW(load_checkpoint(directory / "x.pt", "world"), InputError);
  EXPECT_THROW(load_checkpoint(directory / "none.pt", ""), InputError);
}

TEST(Checkpoint, ModuleOfAnotherShapeIsRefused) {
  torch::nn::Linear small(2, 3), same(2, 3), large(2, 4);
  Checkpoint checkpoint;
  store_module(checkpoint, "m", *small);
  restore_module(checkpoint, "m", *same);
  EXPECT_TRUE(torch::equal(small->weight, same->weight));
  EXPECT_THROW(restore_module(checkpoint, "m", *large), InputError);
  EXPECT_THROW(restore_module(checkpoint, "other", *same), InputError);
}

}  // namespace
}  // namespace reverie
