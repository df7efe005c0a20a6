#include "env/adapt/train/images.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <functional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/env/adapt_train/image_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::big_endian;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::write_idx;

constexpr BlockShape kSmall{1, 2, 3};

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(bytes.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// Image i has only pixels of i.
LabelledImages numbered(int count) {
  LabelledImages images;
  for (int i = 0; i < count; ++i) {
    images.pixels.insert(images.pixels.end(), 6, static_cast<uint8_t>(i));
    images.labels.push_back(static_cast<uint8_t>(i % 4));
  }
  return images;
}

class IdxFolder : public ::testing::Test {
 protected:
  IdxFolder() {
    write_idx(folder.path(), "train", numbered(20), kSmall);
    write_idx(folder.path(), "t10k", numbered(8), kSmall);
  }

  /// The error of loading, in one line.
  std::string error(const BlockShape& shape = kSmall, int classes = 4,
                    ImageSelection selection = {}) {
    try {
      load_images(folder.path(), shape, classes, selection);
    } catch (const InputError& refused) {
      EXPECT_EQ(std::string(refused.what()).find('\n'), std::string::npos);
      return refused.what();
    }
    return "accepted";
  }
  void change(const std::string& name, const std::function<void(std::string&)>& how) {
    std::string bytes = read_file(folder / name);
    how(bytes);
    write_file(folder / name, bytes);
  }

  TemporaryDirectory folder;
};

TEST_F(IdxFolder, IsReadWholeInItsOrder) {
  const ImageData data = load_images(folder.path(), kSmall, 4, {});
  EXPECT_EQ(data.train.pixels, numbered(20).pixels);
  EXPECT_EQ(data.train.labels, numbered(20).labels);
  EXPECT_EQ(data.test.pixels, numbered(8).pixels);
  EXPECT_EQ(data.test.labels, numbered(8).labels);
}

TEST_F(IdxFolder, GzippedIsTheSame) {
  const uint64_t plain = load_images(folder.path(), kSmall, 4, {}).fingerprint();
  for (const char* stem : {"train", "t10k"})
    for (const char* kind : {"images-idx3", "labels-idx1"}) {
      const std::string path = folder / fmt::format("{}-{}-ubyte", stem, kind);
      write_file(path + ".gz", gzipped(read_file(path)));
      std::filesystem::remove(path);
    }
  EXPECT_EQ(load_images(folder.path(), kSmall, 4, {}).fingerprint(), plain);
  change("t10k-labels-idx1-ubyte.gz", [](std::string& bytes) { bytes.resize(bytes.size() / 2); });
  EXPECT_THAT(error(), HasSubstr("t10k-labels-idx1-ubyte.gz: is damaged"));
}

TEST_F(IdxFolder, ASubsetDependsOnTheSeedAndKeepsLabels) {
  const auto subset = [&](uint64_t seed) {
    return load_images(folder.path(), kSmall, 4, {10, 5, seed});
  };
  const ImageData one = subset(1);
  EXPECT_EQ(one.train.count(), 10);
  EXPECT_EQ(one.test.count(), 5);
  std::set<int> seen;
  for (int i = 0; i < 10; ++i) {
    const int image = one.train.pixels[static_cast<size_t>(6 * i)];
    EXPECT_EQ(one.train.pixels[static_cast<size_t>(6 * i + 5)], image);
    EXPECT_EQ(one.train.labels[static_cast<size_t>(i)], image % 4);
    seen.insert(image);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(subset(1).fingerprint(), one.fingerprint());
  EXPECT_NE(subset(2).fingerprint(), one.fingerprint());
}

TEST_F(IdxFolder, BadFilesAreRefusedByName) {
  EXPECT_THAT(error({1, 2, 4}),
              HasSubstr("train-images-idx3-ubyte: its images are 1x2x3, the network takes 1x2x4"));
  EXPECT_THAT(
      error(kSmall, 3),
      HasSubstr("train-labels-idx1-ubyte: image 3 has label 3, the network tells classes 0 to 2"));
  EXPECT_THAT(error(kSmall, 4, {21, 0, 0}),
              HasSubstr("21 training images are wanted, there are 20"));
  EXPECT_THAT(error(kSmall, 4, {0, 9, 0}), HasSubstr("9 test images are wanted, there are 8"));
  const std::string whole = read_file(folder / "t10k-images-idx3-ubyte");
  change("t10k-images-idx3-ubyte", [](std::string& bytes) { bytes.pop_back(); });
  EXPECT_THAT(
      error(),
      HasSubstr("t10k-images-idx3-ubyte: says that it holds 48 bytes of values, but holds 47"));
  change("t10k-images-idx3-ubyte", [](std::string& bytes) { bytes.resize(9); });
  EXPECT_THAT(error(), HasSubstr("t10k-images-idx3-ubyte: is cut off in its header"));
  write_file(folder / "t10k-images-idx3-ubyte", whole);
  change("t10k-labels-idx1-ubyte", [](std::string& bytes) { bytes[3] = 3; });
  EXPECT_THAT(
      error(),
      HasSubstr(
          "t10k-labels-idx1-ubyte: begins with 0x00000803, such an IDX file with 0x00000801"));
  write_file(folder / "t10k-labels-idx1-ubyte", big_endian({0x801, 7}) + std::string(7, '\0'));
  EXPECT_THAT(error(), HasSubstr("t10k-labels-idx1-ubyte: holds 7 labels for 8 images"));
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte");
  EXPECT_THAT(error(), HasSubstr("t10k-labels-idx1-ubyte: is missing"));
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  EXPECT_THAT(error(), HasSubstr(folder.path() + ": holds neither train-images-idx3-ubyte"));
}

class CifarFolder : public IdxFolder {
 protected:
  static constexpr BlockShape kCifar{3, 32, 32};
  CifarFolder() {
    std::filesystem::remove(folder / "train-images-idx3-ubyte");
    for (int batch = 1; batch <= 5; ++batch)
      write_file(folder / fmt::format("data_batch_{}.bin", batch), record(batch));
    write_file(folder / "test_batch.bin", record(6) + record(7));
  }
  static std::string record(int label) {
    std::string bytes(1, static_cast<char>(label));
    for (int i = 0; i < 3072; ++i) bytes += static_cast<char>(label + i / 1024);
    return bytes;
  }
};

TEST_F(CifarFolder, IsReadPlaneByPlane) {
  const ImageData data = load_images(folder.path(), kCifar, 10, {});
  EXPECT_THAT(data.train.labels, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(data.test.labels, ElementsAre(6, 7));
  EXPECT_EQ(data.train.pixels.size(), 5u * 3072);
  EXPECT_EQ(data.train.pixels[3072], 2);
  EXPECT_EQ(data.train.pixels[3072 + 1024], 3);
  EXPECT_EQ(data.test.pixels.back(), 9);
}

TEST_F(CifarFolder, BadFilesAreRefusedByName) {
  EXPECT_THAT(error({1, 28, 28}, 10),
              HasSubstr("data_batch_1.bin: its images are 3x32x32, the network takes 1x28x28"));
  EXPECT_THAT(error(kCifar, 7), HasSubstr("test_batch.bin: image 1 has label 7"));
  change("data_batch_4.bin", [](std::string& bytes) { bytes += 'x'; });
  EXPECT_THAT(error(kCifar, 10),
              HasSubstr("data_batch_4.bin: holds 3074 bytes, which are no records of 3073"));
  std::filesystem::remove(folder / "data_batch_3.bin");
  EXPECT_THAT(error(kCifar, 10), HasSubstr("data_batch_3.bin: cannot be read"));
}

}  // namespace
}  // namespace reverie
