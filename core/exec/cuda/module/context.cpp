#include "core/exec/cuda/module/context.h"

#include "core/base/error.h"

namespace reverie::device::cuda {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void require_gpu(int ordinal) {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) throw InputError("CUDA: no NVIDIA driver is installed");
  if (status == cudaErrorInsufficientDriver)
    throw InputError("CUDA: the driver is for CUDA {}, which is too old for CUDA {}",
                     version_text(driver), version_text(runtime));
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    throw InputError("CUDA: there is no GPU");
  check(status, "cudaGetDeviceCount");
  if (ordinal < 0 || ordinal >= count)
    throw InputError("CUDA: no GPU number {}: there are {}, counted from 0", ordinal, count);
}

}  // namespace

Context::Context(const CudaOptions& options)
    : ordinal(options.ordinal), precision(options.precision) {
  require_gpu(ordinal);
  use();
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, ordinal),
        "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal),
        "cudaDeviceGetAttribute");
  need_queues(1);
  cudnn = make_handle<Cudnn>("cudnnCreate", cudnnCreate);
  use_queue(0);
  cublas = make_handle<CublasLt>("cublasLtCreate", cublasLtCreate);
  index_error.reset(static_cast<IndexError*>(allocate_memory(sizeof(IndexError))));
  void* copy = nullptr;
  check(cudaMallocHost(&copy, sizeof(IndexError)), "cudaMallocHost");
  index_error_copy.reset(static_cast<IndexError*>(copy));
  check(cudaMemsetAsync(index_error.get(), 0, sizeof(IndexError), stream()), "cudaMemsetAsync");
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

void Context::need_queues(size_t count) const {
  while (streams.size() < count)
    streams.push_back(make_handle<Stream>("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags,
                                          cudaStreamNonBlocking));
}

void Context::use_queue(size_t number) const {
  REVERIE_CHECK(number < streams.size(), "a queue that is not there");
  queue = number;
  check(cudnnSetStream(cudnn.get(), stream()), "cudnnSetStream");
}

void Context::use() const { check(cudaSetDevice(ordinal), "cudaSetDevice"); }

void Context::check_indices() const {
  if (!gathers) return;
  check(cudaMemcpyAsync(index_error_copy.get(), index_error.get(), sizeof(IndexError),
                        cudaMemcpyDeviceToHost, stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  const IndexError error = *index_error_copy;
  if (error.found == 0) return;
  check(cudaMemsetAsync(index_error.get(), 0, sizeof(IndexError), stream()), "cudaMemsetAsync");
  throw InputError("Gather: an index is out of range: {} where there are {}", error.index,
                   error.extent);
}

}  // namespace reverie::device::cuda
