#pragma once

#include <atomic>
#include <memory>

#include "core/base/error.h"

namespace reverie {

/// A person asked work to end that can be resumed: what was done is kept.
class Interrupted : public InputError {
 public:
  using InputError::InputError;
};

/// Asks long work to end early with what it has. Copies share one flag. Safe to request from a
/// signal handler and from any thread.
class StopToken {
 public:
  StopToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}

  void request() const { flag_->store(true, std::memory_order_relaxed); }
  bool requested() const { return flag_->load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace reverie
