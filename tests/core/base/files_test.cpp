#include "core/base/files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

size_t entries(const std::string& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

TEST(FilesTest, WritesAndReplacesWhole) {
  TemporaryDirectory directory;
  write_file(directory / "a", "first, long");
  write_file(directory / "a", std::string("x\0y", 3));
  EXPECT_EQ(read_file(directory / "a"), std::string("x\0y", 3));
  EXPECT_EQ(entries(directory.path()), 1u);
}

TEST(FilesTest, UncommittedLeavesNothing) {
  TemporaryDirectory directory;
  {
    AsideFile aside(directory / "a");
    EXPECT_TRUE(file_exists(aside.temporary()));
  }
  EXPECT_EQ(entries(directory.path()), 0u);
}

TEST(FilesTest, BadPathsAreInputErrors) {
  TemporaryDirectory directory;
  write_file(directory / "file", "");
  EXPECT_THROW(read_file(directory / "none"), InputError);
  EXPECT_THROW(read_file(directory.path()), InputError);
  EXPECT_THROW(write_file(directory / "none/a", ""), InputError);
  EXPECT_THROW(write_file(directory / "file/a", ""), InputError);
  EXPECT_THROW(create_directory(directory / "file"), InputError);
  EXPECT_THROW(create_directory(directory / "file/a"), InputError);
}

TEST(FilesTest, APipeOrDeviceIsNotReplaced) {
  TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(write_file(pipe, "text"), InputError);
  EXPECT_THROW(check_writable(pipe), InputError);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(entries(directory.path()), 1u);
}

TEST(FilesTest, ALinkStaysAndWhatItLeadsToIsWritten) {
  TemporaryDirectory directory;
  create_directory(directory / "there");
  std::filesystem::create_symlink("there/file", directory / "link");
  std::filesystem::create_symlink(directory / "link", directory / "second");
  for (const std::string text : {"new", "again"}) {
    write_file(directory / "second", text);
    EXPECT_EQ(read_file(directory / "there/file"), text);
  }
  EXPECT_EQ(entries(directory / "there"), 1u);
  for (const char* link : {"link", "second"})
    EXPECT_TRUE(std::filesystem::is_symlink(directory / link));
  std::filesystem::create_symlink("circle", directory / "circle");
  EXPECT_THROW(write_file(directory / "circle", "text"), InputError);
}

TEST(ProgressTest, LineShowsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line("collect", "steps", 10, 30, 110, 2.0, "loss 1", 0),
            "collect 30/110 steps  10/s  0:08 left  loss 1");
  EXPECT_EQ(progress_line("c", "s", 0, 5, 10, 0, "", 4), "c [##..] 5/10 s  0:00");
  EXPECT_EQ(progress_line("c", "s", 0, 10, 10, 5, "", 4), "c [####] 10/10 s  2/s  0:05");
  EXPECT_EQ(progress_line("c", "s", 0, 10, 0, 5, "", 4), "c 10 s  2/s  0:05");
}

TEST(ProgressTest, DurationText) {
  EXPECT_EQ(duration_text(7.4), "0:07");
  EXPECT_EQ(duration_text(750), "12:30");
  EXPECT_EQ(duration_text(3 * 3600 + 2 * 60 + 11), "3:02:11");
}

}  // namespace
}  // namespace reverie
