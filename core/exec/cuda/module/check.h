#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

#include <cstdint>
#include <memory>

/// Every status is checked, and every handle owned.
namespace reverie::device::cuda {

/// For anything but success InputError "CUDA: <what> failed: <name>: <text>", DeviceError where the
/// GPU will not serve this process any more.
void check(cudaError_t status, const char* what);
void check(cudnnStatus_t status, const char* what);
void check(cublasStatus_t status, const char* what);

/// Memory of the device that is current. InputError with the bytes asked for, free and in all.
void* allocate_memory(int64_t bytes);

template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* handle) const {
    kDestroy(handle);
  }
};

/// What `Raw`, a pointer to something opaque, names.
template <typename Raw, auto kDestroy>
using Handle = std::unique_ptr<std::remove_pointer_t<Raw>, Destroy<kDestroy>>;

/// create(&raw, arguments...)
template <typename Made, typename Create, typename... Args>
Made make_handle(const char* what, Create create, Args... args) {
  typename Made::pointer raw = nullptr;
  check(create(&raw, args...), what);
  return Made(raw);
}

using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using Event = Handle<cudaEvent_t, cudaEventDestroy>;
using Graph = Handle<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;
using Cudnn = Handle<cudnnHandle_t, cudnnDestroy>;
using CublasLt = Handle<cublasLtHandle_t, cublasLtDestroy>;

}  // namespace reverie::device::cuda
