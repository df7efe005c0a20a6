#include "core/base/metrics.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

TEST(Crc32cTest, MatchesPublishedVectors) {  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  return value;
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// Of the content of a TFRecord file.
std::vector<std::string> read_tfrecords(std::string_view content) {
  std::vector<std::string> records;
  while (!content.empty()) {
    const uint64_t size = little_endian(content.substr(0, 8));
    EXPECT_EQ(little_endian(content.substr(8, 4)), masked_crc(content.substr(0, 8)));
    records.emplace_back(content.substr(12, size));
    EXPECT_EQ(little_endian(content.substr(12 + size, 4)), masked_crc(records.back()));
    content.remove_prefix(std::min<size_t>(content.size(), 16 + size));
  }
  return records;
}

TEST(TfRecordTest, ReadsBack) {
  const std::string content = tfrecord("one") + tfrecord("") + tfrecord(std::string(300, 'x'));
  EXPECT_THAT(read_tfrecords(content), ElementsAre("one", "", std::string(300, 'x')));
}

TEST(EventTest, ScalarEventHasTheDocumentedBytes) {
  const double wall_time = 2.0;  // bits 0x4000000000000000
  const std::string expected = std::string("\x09\0\0\0\0\0\0\0\x40", 9) +
                               std::string("\x10\xac\x02", 3) +  // step 300
                               std::string("\x2a\x0b\x0a\x09", 4) + std::string("\x0a\x02rl", 4) +
                               std::string("\x15\0\0\0\x3f", 5);  // 0.5f
  EXPECT_EQ(scalar_event(wall_time, 300, {{"rl", 0.5}}), expected);
}

TEST(EventTest, TextEventHasTheDocumentedBytes) {
  const std::string expected = std::string("\x09\0\0\0\0\0\0\0\x40", 9) + std::string("\x10\0", 2) +
                               std::string("\x2a\x1d\x0a\x1b", 4) + std::string("\x0a\x01t", 3) +
                               std::string("\x42\x0c\x08\x07\x12\x04\x12\x02\x08\x01", 10) +
                               std::string("\x42\x02hi", 4) +
                               std::string("\x4a\x08\x0a\x06\x0a\x04text", 10);
  EXPECT_EQ(text_event(2.0, "t", "hi"), expected);
}

std::vector<std::string> event_files(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().filename().string().find("tfevents") != std::string::npos)
      files.push_back(entry.path().string());
  return files;
}

TEST(MetricsWriterTest, WritesBothFiles) {
  TemporaryDirectory directory;
  MetricsWriter writer(directory.path());
  writer.write(1, {{"loss", 0.5}, {"bad", std::numeric_limits<double>::quiet_NaN()}});
  writer.write(2, {{"loss", 0.25}});
  const auto rows = read_metrics(directory / "metrics.jsonl");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[1].step, 2);
  EXPECT_THAT(rows[0].values, ElementsAre(Pair("loss", 0.5)));
  ASSERT_THAT(event_files(directory.path()), SizeIs(1));
  const auto records = read_tfrecords(read_file(event_files(directory.path())[0]));
  EXPECT_THAT(records, SizeIs(4));
  EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
}

TEST(MetricsWriterTest, TheConfigurationIsATextOfTheFirstEventFile) {
  TemporaryDirectory directory;
  write_file(directory / "config.yaml", "seed: 1\nvae:\n  width: 2\n");
  const auto texts = [&] {
    int count = 0;
    for (const std::string& file : event_files(directory.path()))
      for (const std::string& record : read_tfrecords(read_file(file)))
        count += record.find("    seed: 1\n    vae:\n      width: 2\n") != std::string::npos;
    return count;
  };
  MetricsWriter(directory.path()).write(1, {{"x", 1}});
  EXPECT_EQ(texts(), 1);
  MetricsWriter(directory.path(), 1).write(2, {{"x", 1}});
  EXPECT_EQ(texts(), 1);
}

TEST(MetricsWriterTest, ResumeDropsLaterSteps) {
  TemporaryDirectory directory;
  {
    MetricsWriter writer(directory.path());
    for (int step = 1; step <= 5; ++step) writer.write(step, {{"x", 1.0 * step}});
  }
  MetricsWriter writer(directory.path(), 3);
  writer.write(4, {{"x", 40}});
  const auto rows = read_metrics(directory / "metrics.jsonl");
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(rows[3].values.at("x"), 40);
  EXPECT_THAT(event_files(directory.path()), SizeIs(2));
}

TEST(MetricsWriterTest, FreshRunStartsEmpty) {
  TemporaryDirectory directory;
  MetricsWriter(directory.path()).write(1, {{"x", 1}});
  MetricsWriter writer(directory.path());
  EXPECT_TRUE(read_metrics(directory / "metrics.jsonl").empty());
  EXPECT_THAT(event_files(directory.path()), SizeIs(1));
}

TEST(ReadMetricsTest, SkipsTornLastLineOnly) {
  TemporaryDirectory directory;
  write_file(directory / "m", "{\"step\":1,\"x\":2}\n{\"step\":2,\"x");
  EXPECT_THAT(read_metrics(directory / "m"), SizeIs(1));
  write_file(directory / "m", "{\"step\":1,\"x\n{\"step\":2}\n");
  EXPECT_THROW(read_metrics(directory / "m"), InputError);
}

}  // namespace
}  // namespace reverie
