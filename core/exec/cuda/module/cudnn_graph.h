#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "core/exec/cuda/module/context.h"

/// The part of cuDNN's graph interface that is needed here.
namespace reverie::device::cuda {

/// Whether the library does not want what it was given, rather than being out of order itself, out
/// of memory or not all there.
constexpr bool is_refusal(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_BAD_PARAM && status < CUDNN_STATUS_INTERNAL_ERROR &&
         status != CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE;
}

/// What went wrong while one way after another was tried, refusals apart.
class Failure {
 public:
  /// Of a call. DeviceError as check.
  bool succeeded(cudnnStatus_t status, const char* what);
  /// InputError where there was any.
  void rethrow() const {
    if (last_) std::rethrow_exception(last_);
  }

 private:
  std::exception_ptr last_;
};

/// A descriptor of the library. Attributes are set, then it is finalized, then others may refer to
/// it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return raw_.get(); }

  template <typename T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t other) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other) { set(name, other.get()); }
  void set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }

  void finalize();
  /// False where the library refuses it, or failed.
  bool can_finalize(Failure& failure);

 private:
  std::unique_ptr<void, Destroy<cudnnBackendDestroyDescriptor>> raw_;
};

/// A way to compute a graph of operations.
struct ExecutionPlan {
  Descriptor plan;
  Descriptor configuration;
  int64_t workspace_bytes;
};

/// The first plan of the library's own order that needs `workspace_limit` bytes at most; where
/// there is none, that with the least workspace. `full_float32`: none that rounds float32 operands.
/// Partial sums are never of less than float32. Nothing is launched. `failure` takes what went
/// wrong on the way.
std::optional<ExecutionPlan> plan_for(const Context& context, const Descriptor& graph,
                                      bool full_float32, int64_t workspace_limit, Failure& failure);

/// Puts the plan in the queue: tensor ids[i] is at pointers[i].
void execute(const Context& context, const ExecutionPlan& plan, const std::vector<int64_t>& ids,
             const std::vector<void*>& pointers, std::byte* workspace);

}  // namespace reverie::device::cuda
