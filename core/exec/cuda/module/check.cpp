#include "core/exec/cuda/module/check.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace reverie::device::cuda {
namespace {

/// After a fault in a kernel, say, every call returns the error of the first.
bool failed_for_good() {
  size_t available = 0, total = 0;
  return cudaMemGetInfo(&available, &total) != cudaSuccess;
}

[[noreturn]] void fail(const char* what, const char* name, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::string line =
      fmt::format("CUDA: {} failed: {}{}{}", what, name, text.empty() ? "" : ": ", text);
  if (failed_for_good()) throw DeviceError(line);
  throw InputError(line);
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // it is not to be met again
  fail(what, cudaGetErrorName(status), cudaGetErrorString(status));
}

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char text[512] = "";
  cudnnGetLastErrorString(text, sizeof(text));
  fail(what, cudnnGetErrorString(status), text);
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(what, cublasLtGetStatusName(status), cublasLtGetStatusString(status));
}

void* allocate_memory(int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
  if (status != cudaErrorMemoryAllocation) {
    check(status, "cudaMalloc");
    return memory;
  }
  cudaGetLastError();
  size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  throw InputError("CUDA: no room for {} bytes: {} of {} bytes of the GPU's memory are free", bytes,
                   available, total);
}

}  // namespace reverie::device::cuda
