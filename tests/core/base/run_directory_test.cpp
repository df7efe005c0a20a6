#include "core/base/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::string& directory, const std::string& config, bool resume) {
  try {
    const RunDirectory run(directory, config, resume);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(RunDirectory, RefusesOtherContentUnlessResumed) {
  const TemporaryDirectory directory;
  const std::string run = directory / "deep/run";
  EXPECT_EQ(refusal(run, "seed: 1\na: 2\n", false), "none");
  EXPECT_EQ(read_file(run + "/config.yaml"), "seed: 1\na: 2\n");
  EXPECT_THAT(refusal(run, "seed: 1\na: 2\n", false), HasSubstr("is not empty"));
  EXPECT_EQ(refusal(run, "seed: 1\na: 2\n", true), "none");
  EXPECT_THAT(refusal(run, "seed: 1\na: 3\n", true),
              AllOf(HasSubstr("config.yaml:2"), HasSubstr("'a: 2', now it is 'a: 3'")));
  EXPECT_THAT(refusal(run, "seed: 1\n", true),
              HasSubstr("'a: 2', now it is 'nothing'; set what it says there, or begin anew with "
                        "another --out"));
  EXPECT_EQ(refusal(directory / "new", "seed: 1\n", true), "none");
}

TEST(RunDirectory, WhatAKilledProcessWasWritingGoes) {
  const TemporaryDirectory directory;
  write_file(directory / "film.part", "of somebody else");
  write_file(directory / "seconds.12-7.part", "3");
  EXPECT_EQ(refusal(directory.path(), "seed: 1\n", true), "none");
  EXPECT_TRUE(file_exists(directory / "seconds.12-7.part")) << "it was no run's folder";
  EXPECT_NE(refusal(directory.path(), "seed: 2\n", true), "none");
  EXPECT_TRUE(file_exists(directory / "seconds.12-7.part")) << "it is another run's";
  EXPECT_EQ(refusal(directory.path(), "seed: 1\n", true), "none");
  EXPECT_FALSE(file_exists(directory / "seconds.12-7.part"));
  EXPECT_TRUE(file_exists(directory / "film.part"));
}

TEST(RunDirectory, OneProcessAtATimeWritesIt) {
  const TemporaryDirectory directory;
  const std::string run = directory / "run";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const RunDirectory own(run, "a: 1\n", false);
    const bool told = ::write(ready[1], "x", 1) == 1;
    while (told) ::pause();
    ::_exit(1);
  }
  char letter = 0;
  ASSERT_EQ(::read(ready[0], &letter, 1), 1);
  EXPECT_THAT(refusal(run, "a: 1\n", true),
              AllOf(HasSubstr(run), HasSubstr("process"), HasSubstr("writes it")));
  ::kill(other, SIGKILL);  // which leaves no time to tidy up
  ::waitpid(other, nullptr, 0);
  EXPECT_EQ(refusal(run, "a: 1\n", true), "none");
}

TEST(RunDirectory, ALockEndsWithItsObject) {
  const TemporaryDirectory directory;
  std::optional<RunDirectory> own(std::in_place, directory.path(), "a: 1\n", false);
  EXPECT_THAT(refusal(directory.path(), "a: 1\n", true), HasSubstr("process"));
  own.reset();
  EXPECT_EQ(refusal(directory.path(), "a: 1\n", true), "none");
  EXPECT_THAT(refusal(directory.path(), "a: 2\n", true), HasSubstr("config.yaml:1"));
  EXPECT_EQ(refusal(directory.path(), "a: 1\n", true), "none");
}

}  // namespace
}  // namespace reverie
