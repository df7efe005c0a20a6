#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/error.h"

namespace reverie {

/// More are asked for by mistake.
constexpr int kMostThreads = 1024;

/// Threads that wait for work. The calling thread is worker 0 and works too, so a pool of one has
/// no thread of its own.
class WorkerPool {
 public:
  /// InputError when the system has no more threads.
  explicit WorkerPool(int workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return static_cast<int>(threads_.size()) + 1; }
  /// Calls body(index, worker) once for each index below `count` and returns when all are done.
  /// What the lowest failing index threw is thrown again; indices not begun by then are left out.
  /// Not for concurrent use.
  void run(size_t count, const std::function<void(size_t index, int worker)>& body);

 private:
  void stop();
  void serve(int worker);
  void work(std::unique_lock<std::mutex>& lock, int worker);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable begin_, done_;
  const std::function<void(size_t, int)>* body_ = nullptr;
  size_t next_ = 0, count_ = 0, busy_ = 0;
  size_t failed_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
};

/// Calls produce(index, worker) for begin .. end - 1 on `workers` threads, and consume(index,
/// result) in order on this one; at most `window` results are begun and not consumed. What either
/// throws is thrown again, after all results before it were consumed.
template <class Result>
void ordered_parallel(size_t begin, size_t end, int workers, size_t window,
                      const std::function<Result(size_t index, int worker)>& produce,
                      const std::function<void(size_t index, Result result)>& consume) {
  struct Outcome {
    std::optional<Result> result;
    std::exception_ptr failure;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<size_t, Outcome> outcomes;
  size_t next = begin, consumed = begin;
  bool stop = false;
  const auto serve = [&](int worker) {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || next == end || next < consumed + window; });
      if (stop || next == end) return;
      const size_t index = next++;
      lock.unlock();
      Outcome outcome;
      try {
        outcome.result.emplace(produce(index, worker));
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      lock.lock();
      outcomes.emplace(index, std::move(outcome));
      changed.notify_all();
    }
  };
  std::vector<std::jthread> threads;
  struct StopAtExit {  // also when `consume` throws; goes before the threads are joined
    std::mutex& mutex;
    std::condition_variable& changed;
    bool& stop;
    ~StopAtExit() {
      const std::lock_guard lock(mutex);
      stop = true;
      changed.notify_all();
    }
  } stop_at_exit{mutex, changed, stop};
  try {
    for (int worker = 0; worker < workers; ++worker) threads.emplace_back(serve, worker);
  } catch (const std::system_error& error) {
    throw InputError("{} threads cannot be started: {}", workers, error.code().message());
  }
  while (consumed < end) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return outcomes.contains(consumed); });
    Outcome outcome = std::move(outcomes.extract(consumed).mapped());
    lock.unlock();
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    consume(consumed, std::move(*outcome.result));
    lock.lock();
    ++consumed;
    changed.notify_all();
  }
}

}  // namespace reverie
