#pragma once

#include <memory>
#include <vector>

#include "core/exec/cuda/cuda_device.h"
#include "core/exec/cuda/module/check.h"

namespace reverie::device::cuda {

/// The first index out of range that a Gather met since `found` was 0.
struct IndexError {
  unsigned long long found;
  long long index, extent;
};

/// What a device and its kernels share; it lives as long as any of them.
struct Context {
  /// InputError where there is no such GPU.
  explicit Context(const CudaOptions& options);

  /// Makes the GPU that of the calling thread.
  void use() const;
  /// InputError when a Gather met an index out of range. The queues must be empty.
  void check_indices() const;
  /// That of the queue in use.
  cudaStream_t stream() const { return streams[queue].get(); }
  /// As Device.
  void need_queues(size_t count) const;
  void use_queue(size_t number) const;

  int ordinal;
  Precision precision;
  int multiprocessors = 0;
  int shared_bytes = 0;                 ///< that a block can have
  mutable std::vector<Stream> streams;  ///< by queue
  mutable size_t queue = 0;             ///< that is in use
  Cudnn cudnn;
  CublasLt cublas;
  Handle<IndexError*, cudaFree> index_error;           ///< on the GPU
  Handle<IndexError*, cudaFreeHost> index_error_copy;  ///< pinned
  mutable bool gathers = false;                        ///< whether there was any Gather
};

using ContextPtr = std::shared_ptr<const Context>;

}  // namespace reverie::device::cuda
