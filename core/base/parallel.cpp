#include "core/base/parallel.h"

#include <system_error>

#include "core/base/error.h"

namespace reverie {

WorkerPool::WorkerPool(int workers) {
  REVERIE_CHECK(workers >= 1, "a pool of {} workers", workers);
  try {
    for (int worker = 1; worker < workers; ++worker)
      threads_.emplace_back([this, worker] { serve(worker); });
  } catch (const std::system_error& error) {
    stop();
    throw InputError("{} threads cannot be started: {}", workers, error.code().message());
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    begin_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::serve(int worker) {
  std::unique_lock lock(mutex_);
  for (;;) {
    begin_.wait(lock, [this] { return stop_ || next_ < count_; });
    if (stop_) return;
    work(lock, worker);
  }
}

void WorkerPool::work(std::unique_lock<std::mutex>& lock, int worker) {
  ++busy_;
  while (next_ < count_) {
    const size_t index = next_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*body_)(index, worker);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && (!failure_ || index < failed_)) {
      failure_ = failure;
      failed_ = index;
    }
    if (failure) next_ = count_;
  }
  if (--busy_ == 0) done_.notify_all();
}

void WorkerPool::run(size_t count, const std::function<void(size_t, int)>& body) {
  std::unique_lock lock(mutex_);
  body_ = &body;
  next_ = 0;
  count_ = count;
  failure_ = nullptr;
  begin_.notify_all();
  work(lock, 0);
  done_.wait(lock, [this] { return busy_ == 0; });
  count_ = next_ = 0;
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace reverie
