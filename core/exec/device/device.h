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
  kFloat32,   ///< products in full float32
  kTf32,      ///< float32, whose products round their operands to 10 bits of fraction
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
  /// Puts it in the queue. `memory`: what is read, then what is written.
  virtual void launch(std::span<std::byte* const> memory, std::byte* workspace) = 0;
};

/// A sequence of launches that is put in the queue as one.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void launch() = 0;
};

/// Something with memory of its own that runs what it is asked for in order. Not for use by several
/// threads at once. What it refuses is an InputError with one line, with the sizes where memory runs out; a
/// DeviceError where it failed for good.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() = 0;
  virtual Precision precision() const = 0;

  /// At least 256-byte aligned. InputError where there is no room.
  virtual std::byte* allocate(int64_t bytes) = 0;
  /// After all that is in the queue.
  virtual void release(std::byte* memory) = 0;
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  /// After all that is in the queue.
  virtual void download(std::span<std::byte> to, const std::byte* from) = 0;
  /// Every byte, in the queue.
  virtual void set(std::byte* memory, std::byte value, int64_t bytes) = 0;

  /// nullptr where the device has no kernel for the call.
  virtual std::unique_ptr<Kernel> prepare(const Call& call) = 0;
  /// What `launches` puts in the queue is recorded instead of run.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& launches) = 0;
  /// Waits until the queue is empty. InputError when something in it failed.
  virtual void synchronize() = 0;
  /// Time that the device takes for what `launches` puts in the queue.
  virtual double seconds(const std::function<void()>& launches) = 0;
};

}  // namespace reverie::device
