#include "env/placement/machine/core_threads.h"

#include <pthread.h>
#include <sched.h>

#include "core/base/error.h"

namespace reverie {
namespace {

/// A body ends by this where another core's has failed.
struct OtherCoreFailed {};

std::vector<int> usable_numbers() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> numbers;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return numbers;
  for (int number = 0; number < CPU_SETSIZE; ++number)
    if (CPU_ISSET(number, &set)) numbers.push_back(number);
  return numbers;
}

void tie_to(int number) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(number, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // refused: the system chooses
}

}  // namespace

int usable_cores() { return static_cast<int>(usable_numbers().size()); }

CoreThreads::CoreThreads(int cores) {
  const std::vector<int> numbers = usable_numbers();
  if (cores < 1 || cores > static_cast<int>(numbers.size()))
    throw InputError("{} cores are not there; this process may use 1 to {}", cores, numbers.size());
  try {
    for (int core = 0; core < cores; ++core)
      threads_.emplace_back([this, core, number = numbers[static_cast<size_t>(core)]] {
        tie_to(number);
        serve(core);
      });
  } catch (const std::system_error& error) {
    stop();
    throw InputError("{} threads cannot be started: {}", cores, error.code().message());
  }
}

CoreThreads::~CoreThreads() { stop(); }

void CoreThreads::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CoreThreads::run(const std::function<void(int core)>& body) {
  const std::lock_guard turn(turn_);
  std::unique_lock lock(mutex_);
  failed_ = false;
  failure_ = nullptr;
  met_ = 0;
  body_ = &body;
  busy_ = size();
  ++round_;
  begin_.notify_all();
  done_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void CoreThreads::serve(int core) {
  std::unique_lock lock(mutex_);
  for (uint64_t served = 0;; served = round_) {
    begin_.wait(lock, [&] { return stop_ || round_ != served; });
    if (stop_) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*body_)(core);
    } catch (const OtherCoreFailed&) {
    } catch (...) {
      failure = std::current_exception();
      failed_ = true;
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--busy_ == 0) done_.notify_one();
  }
}

void CoreThreads::leave_if_failed() const {
  if (failed_.load(std::memory_order_relaxed)) throw OtherCoreFailed();
}

void CoreThreads::meet(const std::function<void()>& last) {
  const uint64_t now = meetings_.load();
  if (met_.fetch_add(1) + 1 < size())
    return wait_until([&] { return meetings_.load(std::memory_order_acquire) != now; });
  if (last) last();
  met_ = 0;
  meetings_ = now + 1;
}

}  // namespace reverie
