#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/exec/device/device.h"
#include "core/exec/device/device_memory.h"

namespace reverie::testing {

/// Elementwise work on `elements` float32 each, in queues of a device.
class QueueWork {
 public:
  explicit QueueWork(device::Device& device, int64_t elements = 1000)
      : device_(device),
        elements_(elements),
        add_(device.prepare(call(device::Function::kAdd, 2))) {
    const std::vector<float> ones(static_cast<size_t>(elements), 1);
    for (int i = 0; i < 4; ++i) {
      memory_.emplace_back(device, elements * int64_t{sizeof(float)});
      device.upload(memory_.back().get(), std::as_bytes(std::span(ones)));
    }
  }

  /// Number `to` = number `a` + number `b`, all of 0 to 3; they begin as 1.
  void add(int queue, size_t a, size_t b, size_t to) {
    device_.use_queue(queue);
    add_->launch(std::vector{memory_[a].get(), memory_[b].get(), memory_[to].get()}, space_.get());
    device_.use_queue(0);
  }
  /// What comes next in a queue waits for what is in another.
  void wait(int queue, int other) {
    device_.use_queue(other);
    const std::unique_ptr<device::Mark> mark = device_.mark();
    device_.use_queue(queue);
    device_.wait_for(*mark);
    device_.use_queue(0);
  }
  std::vector<float> values(size_t number) const {
    std::vector<float> values(static_cast<size_t>(elements_));
    device_.download(std::as_writable_bytes(std::span(values)), memory_[number].get());
    return values;
  }

 private:
  device::Call call(device::Function function, size_t operands) const {
    return device::Elementwise{
        .function = function,
        .shape = {elements_},
        .operands = std::vector<device::Operand>(operands, {DType::kFloat32, {1}})};
  }

  device::Device& device_;
  int64_t elements_;
  std::unique_ptr<device::Kernel> add_;
  std::vector<device::DeviceMemory> memory_;
  device::DeviceMemory space_{device_, add_->workspace_bytes() + 1};
};

/// Doubles number 1 in queue 0 as often as `doublings` says, then has queues 1 and 2 read it while
/// queue 0 goes on elsewhere, and adds what they made: 2 (2^doublings + 1) in number 0.
inline void add_in_queues(QueueWork& work, int doublings) {
  for (int i = 0; i < doublings; ++i) work.add(0, 1, 1, 1);
  work.wait(1, 0);
  work.wait(2, 0);
  work.add(1, 1, 0, 2);
  work.add(2, 1, 0, 3);
  work.wait(0, 1);
  work.wait(0, 2);
  work.add(0, 2, 3, 0);
}

/// Marks order queues, at once and in a recording. `elements` and the doublings are to take so long
/// that what does not wait would be seen.
inline void expect_marks_order_queues(device::Device& device, int64_t elements) {
  constexpr int kDoublings = 20;
  constexpr float kTimes = 1 << kDoublings;
  device.need_queues(3);
  for (const bool is_recorded : {false, true}) {
    QueueWork work(device, elements);
    std::unique_ptr<device::Recording> recording;
    if (is_recorded) recording = device.record([&] { add_in_queues(work, kDoublings); });
    if (is_recorded) {
      recording->launch();
    } else {
      add_in_queues(work, kDoublings);
    }
    for (const float value : work.values(0)) ASSERT_EQ(value, 2 * (kTimes + 1));
  }
}

}  // namespace reverie::testing
