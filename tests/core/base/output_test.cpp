#include "core/base/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

namespace reverie {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

/// The status of a process that runs `body` with the streams as `prepare` leaves them.
int status_of(const std::function<void()>& prepare, const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    prepare();
    guard_output();
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void fill(int descriptor) {
  const int full = ::open("/dev/full", O_WRONLY);
  ::dup2(full, descriptor);
}

int print_much() {
  for (int i = 0; i < 10'000; ++i) fmt::print("{} and more\n", i);
  return finish_output();
}

TEST(Output, StandardErrorThatCannotBeWrittenChangesNothing) {
  const auto print = [] {
    fmt::print(stderr, "a\n");
    return 5;
  };
  EXPECT_EQ(status_of([] { fill(STDERR_FILENO); }, print), 5);
  EXPECT_EQ(status_of([] { ::close(STDERR_FILENO); }, print), 5);
}

TEST(Output, StandardOutputThatCannotBeWrittenIsToldAtTheEnd) {
  EXPECT_EQ(status_of([] { fill(STDOUT_FILENO); }, print_much), ENOSPC);
  EXPECT_EQ(status_of([] { ::close(STDOUT_FILENO); }, print_much), EBADF);
  const auto print_little = [] {
    fmt::print("a\n");
    return finish_output();
  };
  EXPECT_EQ(status_of([] { fill(STDOUT_FILENO); }, print_little), ENOSPC);
}

TEST(Output, APipeThatNobodyReadsDoesNotEndTheProgram) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EQ(status_of([&] { ::dup2(ends[1], STDOUT_FILENO); }, print_much), EPIPE);
  ::close(ends[1]);
}

TEST(Output, AFileDoesNotTakeThePlaceOfAClosedStream) {
  const auto close_all = [] {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(descriptor);
  };
  const auto open_one = [] { return ::open("/dev/null", O_RDONLY); };
  EXPECT_GT(status_of(close_all, open_one), STDERR_FILENO);
}

TEST(Output, WhatCanBeWrittenArrivesWhole) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto into_pipe = [&] { ::dup2(ends[1], STDOUT_FILENO); };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(status_of(into_pipe, print_much));
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(text, StartsWith("0 and more\n1 and more\n"));
  EXPECT_THAT(text, EndsWith("9999 and more\n"));
}

TEST(Output, MessagesAreOneReadableLine) {
  EXPECT_EQ(readable("node 'a' (Relu): is wrong"), "node 'a' (Relu): is wrong");
  EXPECT_EQ(readable("a\nb\x1b[31m\tc\n"), "a b [31m c");
  const std::string name(100'000, 'x');
  const std::string line = readable("node '" + name + "' (Relu): is wrong");
  EXPECT_LT(line.size(), 500U);
  EXPECT_THAT(line, StartsWith("node 'xxx"));
  EXPECT_THAT(line, EndsWith("x' (Relu): is wrong"));
  std::string words = "begin";
  for (int i = 0; i < 50'000; ++i) words += " word";
  EXPECT_LT(readable(words + " end").size(), 5000U);
  EXPECT_THAT(readable(words + " end"), EndsWith(" end"));
}

TEST(Output, ShorteningLeavesCharactersWhole) {
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "\xc3\xa4";
  for (const std::string& text : {umlauts, "x" + umlauts}) {
    const std::string line = readable(text);
    for (size_t i = 0; i + 1 < line.size(); ++i)
      if (line[i] == '\xc3') {
        EXPECT_EQ(line[i + 1], '\xa4');
      } else if (line[i + 1] == '\xa4') {
        EXPECT_EQ(line[i], '\xc3');
      }
  }
}

}  // namespace
}  // namespace reverie
