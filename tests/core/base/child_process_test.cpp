#include "core/base/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/base/sanitized.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

std::string serve(std::string_view request) {
  if (request == "crash") std::raise(SIGSEGV);
  if (request == "exit") std::exit(3);
  if (request == "print") return std::to_string(::write(STDERR_FILENO, "x", 1));
  if (request == "grow") {
    std::vector<char> much(size_t{200} << 20, 'x');
    return std::to_string(much[much.size() / 2]);
  }
  volatile uint64_t spins = 0;
  while (request == "spin") spins = spins + 1;
  if (request == "pid") return std::to_string(::getpid());
  return std::string(request) + "!";
}

TEST(ChildProcess, AnswersOfAnyLength) {
  ChildProcess child(serve);
  for (const size_t length : {size_t{0}, size_t{1}, size_t{5'000'000}}) {
    const std::string request(length, 'a');
    const ChildAnswer answer = child.ask(request);
    EXPECT_TRUE(answer.answered());
    EXPECT_EQ(answer.text, request + "!");
  }
}

TEST(ChildProcess, IsAnotherProcessThatStays) {
  ChildProcess child(serve);
  const std::string first = child.ask("pid").text;
  EXPECT_NE(first, std::to_string(::getpid()));
  EXPECT_EQ(child.ask("pid").text, first);
}

TEST(ChildProcess, ACrashIsAnAnswerAndTheNextRequestIsServed) {
  ChildProcess child(serve);
  const std::string first = child.ask("pid").text;
  const ChildAnswer crash = child.ask("crash");
  EXPECT_EQ(crash.end, ChildAnswer::End::kCrashed);
#if !REVERIE_SANITIZED  // which end it their own way
  EXPECT_THAT(crash.text, HasSubstr("signal 11"));
#endif
  EXPECT_EQ(child.ask("a").text, "a!");
  EXPECT_NE(child.ask("pid").text, first);
  EXPECT_THAT(child.ask("exit").text, HasSubstr("status 3"));
  EXPECT_EQ(child.ask("b").text, "b!");
}

TEST(ChildProcess, TimeAndMemoryHaveBounds) {
  ChildProcess child(serve, {.seconds = 1, .bytes = int64_t{100} << 20});
  const ChildAnswer spun = child.ask("spin");
  EXPECT_EQ(spun.end, ChildAnswer::End::kTookTooMuch);
  EXPECT_THAT(spun.text, HasSubstr("1 s"));
#if !REVERIE_SANITIZED  // without a bound of memory
  const ChildAnswer grown = child.ask("grow");
  EXPECT_EQ(grown.end, ChildAnswer::End::kTookTooMuch);
  EXPECT_THAT(grown.text, HasSubstr("100 MB"));
#endif
  ChildProcess wide(serve, {.seconds = 60, .bytes = int64_t{1} << 30});
  EXPECT_TRUE(wide.ask("grow").answered());
}

TEST(ChildProcess, SaysNothingOnTheTerminal) {
  ChildProcess child(serve);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(child.ask("print").text, "1");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ChildProcess, ServesThreadsInTurn) {
  ChildProcess child(serve);
  std::vector<std::thread> threads;
  std::vector<int> right(4, 0);
  for (size_t t = 0; t < right.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string request = std::to_string(t) + "-" + std::to_string(i);
        right[t] += child.ask(request).text == request + "!";
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 50));
}

}  // namespace
}  // namespace reverie
