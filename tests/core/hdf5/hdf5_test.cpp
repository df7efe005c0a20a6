#include "core/hdf5/hdf5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <thread>

#include "core/base/error.h"

namespace reverie::hdf5 {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> kTexts = {"one", "", "three\nlines\n"};

std::string small_file() {
  Writer writer;
  writer.attribute("schema", 3);
  writer.text("text", "words");
  writer.texts("texts", "text_bytes", kTexts);
  writer.group("group");
  writer.array("group/doubles", std::vector<double>{1, 2, 3, 4, 5, 6}, 3);
  writer.array("group/longs", std::vector<int64_t>{-1, std::numeric_limits<int64_t>::min()});
  writer.array("nothing", std::vector<float>{});
  CompactInts ints;
  for (const uint32_t value : {7u, 300u}) ints.push_back(value);
  writer.array("ints", ints);
  return writer.finish();
}

std::string reason_of(const std::function<void(const Reader&)>& use) {
  const std::string file = small_file();
  const Reader reader(file, "FILE");
  try {
    use(reader);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Hdf5, GivesBackWhatWasWritten) {
  const std::string file = small_file();
  const Reader reader(file, "FILE");
  EXPECT_EQ(reader.attribute("schema"), 3u);
  EXPECT_EQ(reader.text("text"), "words");
  EXPECT_EQ(reader.texts("texts", "text_bytes"), kTexts);
  EXPECT_EQ(reader.array<double>("group/doubles", 6), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(reader.array<int64_t>("group/longs", 2),
            (std::vector<int64_t>{-1, std::numeric_limits<int64_t>::min()}));
  EXPECT_EQ(reader.count("nothing"), 0u);
  EXPECT_EQ(reader.integers("ints", 2)[1], 300u);
  EXPECT_EQ(small_file(), file);
}

TEST(Hdf5, RefusesByFileDataSetAndReason) {
  EXPECT_THAT(reason_of([](const Reader& r) { r.count("absent"); }),
              AllOf(HasSubstr("FILE"), HasSubstr("absent: is missing")));
  EXPECT_THAT(reason_of([](const Reader& r) { r.array<double>("group/doubles", 5); }),
              HasSubstr("group/doubles: has 6 elements where 5 are expected"));
  EXPECT_THAT(reason_of([](const Reader& r) { r.array<uint64_t>("group/longs", 2); }),
              HasSubstr("group/longs: has elements of another type"));
  EXPECT_THAT(reason_of([](const Reader& r) { r.texts("text", "text_bytes"); }),
              HasSubstr("text_bytes: does not sum to the 5 bytes of text"));
  EXPECT_THROW(Reader("no file", "FILE"), InputError);
}

/// Not every build of HDF5 is made for that, so that this can fail only where it is not.
TEST(Hdf5, ManyThreadsWriteAndRead) {
  const std::string expected = small_file();
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::string file = small_file();
        equal += file == expected && Reader(file, "FILE").text("text") == "words";
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal.load(), 80);
}

}  // namespace
}  // namespace reverie::hdf5
