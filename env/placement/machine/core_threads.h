#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reverie {

/// Processor cores that this process may use.
int usable_cores();

/// A thread for each of several cores, tied to it where the system allows that. Each serves one
/// core from the beginning to the end, so that what it makes stays with this core. Threads that
/// call `run` take turns.
class CoreThreads {
 public:
  /// InputError where `cores` is not in 1 to usable_cores(): threads that share a core would show
  /// when they take turns, not what a placement takes.
  explicit CoreThreads(int cores);
  ~CoreThreads();
  CoreThreads(const CoreThreads&) = delete;
  CoreThreads& operator=(const CoreThreads&) = delete;

  int size() const { return static_cast<int>(threads_.size()); }
  /// Calls body(core) on all cores at once and returns when all have ended. The calling thread
  /// sleeps. What a body threw first is thrown again.
  void run(const std::function<void(int core)>& body);

  // Within a body. Both spin, and throw where the body of another core has thrown.

  /// Returns when `is_done()`.
  template <typename Condition>
  void wait_until(const Condition& is_done) const {
    constexpr int kPatience = 10000;
    for (int tries = 0; !is_done(); ++tries) {
      leave_if_failed();
      if (tries > kPatience) std::this_thread::yield();
    }
  }
  /// Returns when all cores have come here. The last of them calls `last` before any returns.
  void meet(const std::function<void()>& last = {});

 private:
  void serve(int core);
  void stop();
  void leave_if_failed() const;

  std::mutex turn_, mutex_;
  std::condition_variable begin_, done_;
  const std::function<void(int)>* body_ = nullptr;
  uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
  std::atomic<int> met_ = 0;
  std::atomic<uint64_t> meetings_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace reverie
