#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/exec/device/device.h"

namespace reverie::device {

/// A piece of a device's memory, given back at the end. The device must outlive it.
class DeviceMemory {
 public:
  DeviceMemory(Device& device, int64_t bytes) : device_(&device), at_(device.allocate(bytes)) {}
  ~DeviceMemory() {
    if (at_ != nullptr) device_->release(at_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(other.device_), at_(std::exchange(other.at_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  std::byte* get() const { return at_; }

 private:
  Device* device_;
  std::byte* at_;
};

}  // namespace reverie::device
