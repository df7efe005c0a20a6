#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <functional>

#include "core/base/error.h"

namespace reverie {

/// Bytes that a process had in memory at most which does the work and ends. The test's own memory
/// at that time is among them.
inline int64_t peak_memory_of(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) try {
      work();
      _exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      _exit(1);
    }
  int status = 0;
  rusage usage = {};
  REVERIE_CHECK(wait4(child, &status, 0, &usage) == child);
  EXPECT_EQ(status, 0);
  constexpr int64_t kKibibyte = 1024;
  return usage.ru_maxrss * kKibibyte;
}

}  // namespace reverie
