#include <cctype>
#include <fstream>
#include <string>

#include "core/base/error.h"
#include "core/exec/cuda/module/clock.h"
#include "core/exec/cuda/module/kernels.h"

namespace reverie::device::cuda {
namespace {

class GraphRecording final : public Recording {
 public:
  GraphRecording(ContextPtr context, GraphExec graph)
      : context_(std::move(context)), graph_(std::move(graph)) {}
  void launch() override {
    check(cudaGraphLaunch(graph_.get(), context_->stream()), "cudaGraphLaunch");
  }

 private:
  ContextPtr context_;
  GraphExec graph_;
};

class EventMark final : public Mark {
 public:
  /// Behind all that is in the stream.
  explicit EventMark(cudaStream_t stream)
      : event_(make_handle<Event>("cudaEventCreate", cudaEventCreateWithFlags,
                                  cudaEventDisableTiming)) {
    check(cudaEventRecord(event_.get(), stream), "cudaEventRecord");
  }
  cudaEvent_t event() const { return event_.get(); }

 private:
  Event event_;
};

/// Of the kernel's module: "580.65.06"; empty where that cannot be read.
std::string module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word && word != "GCC";)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos)
      return word;
  return "";
}

std::string libraries() {
  int cuda = 0;
  check(cudaRuntimeGetVersion(&cuda), "cudaRuntimeGetVersion");
  const size_t cudnn = cudnnGetVersion(), cublas = cublasLtGetVersion();
  return fmt::format("CUDA {}.{}, cuDNN {}.{}.{}, cuBLASLt {}.{}.{}", cuda / 1000, cuda % 1000 / 10,
                     cudnn / 10000, cudnn / 100 % 100, cudnn % 100, cublas / 10000,
                     cublas / 100 % 100, cublas % 100);
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const CudaOptions& options)
      : context_(std::make_shared<const Context>(options)),
        begin_(make_handle<Event>("cudaEventCreate", cudaEventCreateWithFlags, cudaEventDefault)),
        end_(make_handle<Event>("cudaEventCreate", cudaEventCreateWithFlags, cudaEventDefault)) {}

  DeviceInfo info() override {
    const int ordinal = context_->ordinal;
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    const std::string module = module_version();
    return {.name = properties.name,
            .driver = fmt::format("{}{}CUDA {}.{}", module, module.empty() ? "" : ", ",
                                  driver / 1000, driver % 1000 / 10),
            .library = libraries(),
            .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem),
            .cache_bytes = properties.l2CacheSize,
            .clock_mhz = clock_mhz_now(ordinal)};
  }

  Precision precision() const override { return context_->precision; }

  std::byte* allocate(int64_t bytes) override {
    context_->use();
    return static_cast<std::byte*>(allocate_memory(bytes));
  }

  /// What failed before is not told here, but by what comes next.
  void release(std::byte* memory) override {
    for (const Stream& stream : context_->streams) cudaStreamSynchronize(stream.get());
    cudaFree(memory);
  }

  void upload(std::byte* to, std::span<const std::byte> from) override {
    copy(to, from.data(), from.size(), cudaMemcpyHostToDevice);
  }

  void download(std::span<std::byte> to, const std::byte* from) override {
    copy(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
  }

  void set(std::byte* memory, std::byte value, int64_t bytes) override {
    check(cudaMemsetAsync(memory, static_cast<int>(value), static_cast<size_t>(bytes), stream()),
          "cudaMemsetAsync");
  }

  std::unique_ptr<Kernel> prepare(const Call& call) override {
    context_->use();
    return std::visit([&](const auto& one) { return cuda::prepare(context_, one); }, call);
  }

  std::unique_ptr<Recording> record(const std::function<void()>& launches) override {
    context_->use();
    const Graph graph = capture(launches);
    auto ready = make_handle<GraphExec>(
        "cudaGraphInstantiate",
        [](cudaGraphExec_t* made, cudaGraph_t from) { return cudaGraphInstantiate(made, from, 0); },
        graph.get());
    check(cudaGraphUpload(ready.get(), stream()), "cudaGraphUpload");
    return std::make_unique<GraphRecording>(context_, std::move(ready));
  }

  void synchronize() override {
    wait_for_queues();
    context_->check_indices();
  }

  double seconds(const std::function<void()>& launches) override {
    check(cudaEventRecord(begin_.get(), stream()), "cudaEventRecord");
    launches();
    check(cudaEventRecord(end_.get(), stream()), "cudaEventRecord");
    check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000;
  }

  void need_queues(int count) override {
    context_->use();
    context_->need_queues(static_cast<size_t>(count));
  }
  void use_queue(int queue) override { context_->use_queue(static_cast<size_t>(queue)); }
  std::unique_ptr<Mark> mark() override { return std::make_unique<EventMark>(stream()); }
  void wait_for(const Mark& mark) override {
    check(cudaStreamWaitEvent(stream(), dynamic_cast<const EventMark&>(mark).event(), 0),
          "cudaStreamWaitEvent");
  }

 private:
  cudaStream_t stream() const { return context_->stream(); }

  void wait_for_queues() const {
    for (const Stream& stream : context_->streams)
      check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize");
  }

  void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    wait_for_queues();
    check(cudaMemcpyAsync(to, from, bytes, kind, stream()), "cudaMemcpyAsync");
    synchronize();
  }

  Graph capture(const std::function<void()>& launches) {
    const size_t first = context_->queue;
    check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      launches();
      REVERIE_CHECK_EQ(context_->queue, first);
    } catch (...) {  // the streams are to be of use again
      context_->use_queue(first);
      cudaStreamEndCapture(stream(), &graph);
      cudaGetLastError();
      Graph dropped(graph);
      throw;
    }
    check(cudaStreamEndCapture(stream(), &graph), "cudaStreamEndCapture");
    return Graph(graph);
  }

  ContextPtr context_;
  Event begin_, end_;
};

}  // namespace
}  // namespace reverie::device::cuda

/// The one door of the module. InputError as open_cuda.
extern "C" __attribute__((visibility("default"))) reverie::device::Device* reverie_open_cuda(
    const reverie::device::CudaOptions& options) {
  return new reverie::device::cuda::CudaDevice(options);
}
