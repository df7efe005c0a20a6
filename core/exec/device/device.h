#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/exec/device/calls.h"

namespace reverie::device {

/// What floating tensors are on a device, and how products of them are computed.
enum class Precision : uint8_t {
  kFloat32,  ///< products in full float32
  kTf32,     ///< float32, whose products round their operands to 10 bits of fraction
  kFloat16,
  kBFloat16,
};

/// "fp32", "tf32", "fp16", "bf16".
std::string_view name_of(Precision precision);
/// InputError for another name.
Precision precision_named(std::string_view name);
/// How float32 is stored at this precision.
DType storage_of(Precision precision);

struct DeviceInfo {
  std::string name;     ///< "NVIDIA H200"
  std::string driver;   ///< "580.159", empty where there is none
  std::string library;  ///< "CUDA 13.0, cuDNN 9.19.0, cuBLASLt 13.1.0"
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;  ///< of the last level
  int clock_mhz = 0;        ///< now; 0 where unknown
};

/// A call made ready.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Memory that it needs while it runs.
  virtual int64_t workspace_bytes() const { return 0; }
  /// Puts it in the queue in use. `memory`: what is read, then what is written. What runs at once
  /// has workspaces of its own each.
  virtual void launch(std::span<std::byte* const> memory, std::byte* workspace) = 0;
};

/// A sequence of launches that is put in the queue in use as one, whatever queues it was recorded
/// in.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void launch() = 0;
};

/// The end of what was in a queue when the mark was made.
class Mark {
 public:
  virtual ~Mark() = default;
};

/// Something with memory of its own that runs what it is asked for, in queues. What one queue holds
/// runs in order. What two hold may run at once, or in any order, but for what waits for a mark.
/// Whoever uses no other queue than the first need not know of them. Not for use by several threads
/// at once. What it refuses is an InputError with one line, with the sizes where memory runs out; a
/// DeviceError where it failed for good.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() = 0;
  virtual Precision precision() const = 0;

  /// At least 256-byte aligned. InputError where there is no room.
  virtual std::byte* allocate(int64_t bytes) = 0;
  /// After all that is in the queues.
  virtual void release(std::byte* memory) = 0;
  /// After all that is in the queues, and before all that comes.
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  /// After all that is in the queues.
  virtual void download(std::span<std::byte> to, const std::byte* from) = 0;
  /// Every byte, in the queue in use.
  virtual void set(std::byte* memory, std::byte value, int64_t bytes) = 0;

  /// nullptr where the device has no kernel for the call.
  virtual std::unique_ptr<Kernel> prepare(const Call& call) = 0;
  /// What `launches` puts in the queue in use is recorded instead of run. So is what it puts in
  /// others, which must first wait for a mark that was made in the recording; in the end the queue
  /// that was in use at first, and is so again, must have waited for them all. Waits are for marks
  /// of the recording alone, and these for nothing else.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& launches) = 0;
  /// Waits until the queues are empty. InputError when something in them failed.
  virtual void synchronize() = 0;
  /// Time that the device takes from when the queue in use begins with what `launches` puts there
  /// until it has done it.
  virtual double seconds(const std::function<void()>& launches) = 0;

  /// From now on there are so many queues or more; at first there is one. Not in a recording.
  virtual void need_queues(int count) = 0;
  /// What is launched, set, recorded or timed next is so in this queue; at first that is number 0.
  virtual void use_queue(int queue) = 0;
  /// Of the queue in use.
  virtual std::unique_ptr<Mark> mark() = 0;
  /// What comes next in the queue in use begins after the mark. It may be one of the same queue.
  virtual void wait_for(const Mark& mark) = 0;
};

}  // namespace reverie::device
