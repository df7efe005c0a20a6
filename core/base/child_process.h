#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace reverie {

struct ChildLimits {
  int seconds = 10;                  ///< of processor time for one request
  int64_t bytes = int64_t{1} << 30;  ///< of address space beyond what the process began with
};

struct ChildAnswer {
  enum class End { kAnswered, kCrashed, kTookTooMuch };
  End end = End::kAnswered;
  /// What the function returned; how the child ended otherwise, as in "signal 11 (Segmentation
  /// fault)".
  std::string text;

  bool answered() const { return end == End::kAnswered; }
};

/// Answers requests by a function in a child process, for code that input may crash: that costs the
/// child, and the next request starts another. The child begins with the first request, has the
/// memory of this process at that time, no files and no terminal, and ends with this process.
class ChildProcess {
 public:
  /// No exception may leave it.
  using Serve = std::string (*)(std::string_view request);

  explicit ChildProcess(Serve serve, ChildLimits limits = {}) : serve_(serve), limits_(limits) {}
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Requests of several threads wait for one another. InputError when no process can be started.
  ChildAnswer ask(std::string_view request);

 private:
  void start();
  /// Ends the child and says how it had ended.
  ChildAnswer end();

  Serve serve_;
  ChildLimits limits_;
  std::mutex mutex_;
  int socket_ = -1;
  pid_t child_ = -1;
  pid_t owner_ = -1;  ///< the process that started it; a fork of that starts its own
};

}  // namespace reverie
