#include <algorithm>
#include <array>

#include "core/exec/cuda/module/cudnn_graph.h"
#include "core/exec/cuda/module/epilogue.h"
#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/types.h"

namespace reverie::device::cuda {
namespace {

using Dims = std::vector<int64_t>;

/// Engines for tensor cores want channels innermost, and turn large images around in the workspace.
constexpr int64_t kWorkspaceLimit = int64_t{2} << 30;

/// Tensors by number in the library's graphs; those between operations come after.
enum Id : int64_t { kX = 1, kFilter, kBias, kResidual, kResult, kBetween };

/// What follows the convolution in one graph.
struct Step {
  cudnnPointwiseMode_t mode;
  int64_t addend = 0;  ///< number of the tensor that is added; 0: none
};

int spatial_axes(const Window& window) {
  const bool is_flat = window.in[0] == 1 && window.out[0] == 1 && window.kernel[0] == 1 &&
                       window.before[0] == 0 && window.after[0] == 0;
  return is_flat ? 2 : 3;
}

/// The last axes of three.
Dims spatial(const Extents& extents, int axes) { return Dims(extents.end() - axes, extents.end()); }

Dims image(int64_t outer, int64_t inner, const Extents& extents, int axes) {
  Dims dims = {outer, inner};
  const Dims rest = spatial(extents, axes);
  dims.insert(dims.end(), rest.begin(), rest.end());
  return dims;
}

/// Operations on tensors, each writing the next one's operand.
class GraphBuilder {
 public:
  GraphBuilder(const Convolution& call, Failure& failure)
      : call_(call),
        failure_(failure),
        axes_(spatial_axes(call.window)),
        result_dims_(image(call.batch, call.filters, call.window.out, axes_)) {}

  /// False where the library refuses the graph, or failed.
  bool build(const std::vector<Step>& steps, const Context& context) {
    try {
      build_graph(steps, context);
      return true;
    } catch (const Refusal&) {
      return false;
    }
  }

  /// All descriptors, the graph last: plans may refer to them.
  std::vector<Descriptor> take() { return std::move(kept_); }

 private:
  struct Refusal {};

  cudnnBackendDescriptor_t keep(Descriptor descriptor) {
    if (!descriptor.can_finalize(failure_)) throw Refusal();
    return kept_.emplace_back(std::move(descriptor)).get();
  }

  void build_graph(const std::vector<Step>& steps, const Context& context) {
    cudnnBackendDescriptor_t last = convolve(steps.empty());
    for (size_t i = 0; i < steps.size(); ++i) last = follow(steps[i], last, i + 1 == steps.size());
    Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    const cudnnHandle_t handle = context.cudnn.get();
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<int64_t>(operations_.size()), operations_.data());
    keep(std::move(graph));
  }

  cudnnBackendDescriptor_t tensor(int64_t id, const Dims& dims) {
    const bool is_virtual = id >= kBetween;
    Dims strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
               is_virtual ? CUDNN_DATA_FLOAT : cudnn_type(call_.dtype));
    tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16});
    if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    return keep(std::move(tensor));
  }

  cudnnBackendDescriptor_t written(bool is_last) {
    return tensor(is_last ? int64_t{kResult} : next_between_++, result_dims_);
  }

  cudnnBackendDescriptor_t window() {
    const Window& window = call_.window;
    Descriptor descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                   CUDNN_CROSS_CORRELATION);
    descriptor.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{axes_});
    descriptor.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial(window.before, axes_));
    descriptor.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial(window.after, axes_));
    descriptor.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(window.dilation, axes_));
    descriptor.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spatial(window.stride, axes_));
    return keep(std::move(descriptor));
  }

  cudnnBackendDescriptor_t convolve(bool is_last) {
    const auto x = tensor(kX, image(call_.batch, call_.channels, call_.window.in, axes_));
    const auto filter = tensor(
        kFilter, image(call_.filters, call_.channels / call_.groups, call_.window.kernel, axes_));
    const auto y = written(is_last);
    const auto convolution = window();
    Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filter);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f);
    operations_.push_back(keep(std::move(operation)));
    return y;
  }

  cudnnBackendDescriptor_t pointwise(cudnnPointwiseMode_t mode) {
    Descriptor descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    descriptor.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    descriptor.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    return keep(std::move(descriptor));
  }

  cudnnBackendDescriptor_t follow(const Step& step, cudnnBackendDescriptor_t x, bool is_last) {
    const auto mode = pointwise(step.mode);
    const auto y = written(is_last);
    Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, CUDNN_TYPE_FLOAT, 1.0f);
    if (step.addend != 0) {
      Dims dims = result_dims_;
      if (step.addend == kBias) {
        std::fill(dims.begin(), dims.end(), 1);
        dims[1] = call_.filters;
      }
      operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(step.addend, dims));
      operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, CUDNN_TYPE_FLOAT, 1.0f);
    }
    operations_.push_back(keep(std::move(operation)));
    return y;
  }

  const Convolution& call_;
  Failure& failure_;
  int axes_;
  Dims result_dims_;
  std::vector<Descriptor> kept_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t next_between_ = kBetween;
};

/// A plan with all that it refers to, and the tensors that it reads and writes.
struct Plan {
  std::vector<Descriptor> graph;
  ExecutionPlan execution;
  std::vector<int64_t> ids;
};

std::optional<Plan> plan_of(const Context& context, const Convolution& call,
                            const std::vector<Step>& steps, Failure& failure) {
  GraphBuilder builder(call, failure);
  if (!builder.build(steps, context)) return std::nullopt;
  std::vector<Descriptor> graph = builder.take();
  size_t available = 0, total = 0;
  check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  const int64_t limit = std::min(kWorkspaceLimit, static_cast<int64_t>(available / 4));
  const bool full_float32 = call.dtype == DType::kFloat32 && context.precision != Precision::kTf32;
  auto execution = plan_for(context, graph.back(), full_float32, limit, failure);
  if (!execution) return std::nullopt;
  std::vector<int64_t> ids = {kX, kFilter, kResult};
  for (const Step& step : steps)
    if (step.addend != 0) ids.push_back(step.addend);
  return Plan{std::move(graph), std::move(*execution), std::move(ids)};
}

class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(ContextPtr context, Plan plan)
      : context_(std::move(context)), plan_(std::move(plan)) {}

  int64_t workspace_bytes() const override { return plan_.execution.workspace_bytes; }

  void launch(Memory memory, std::byte* workspace) override {
    std::vector<void*> pointers;
    for (const int64_t id : plan_.ids) pointers.push_back(place_of(id, memory));
    execute(*context_, plan_.execution, plan_.ids, pointers, workspace);
  }

 private:
  std::byte* place_of(int64_t id, Memory memory) const {
    if (id == kX) return memory[0];
    if (id == kFilter) return memory[1];
    if (id == kBias) return memory[2];
    return id == kResidual ? memory[3] : memory.back();
  }

  ContextPtr context_;
  Plan plan_;
};

/// What follows the convolution in one graph. The library has many engines for filter * x, plus a
/// residual, plus a bias, under ReLU; without a bias it has none, and under other activations one.
std::vector<Step> fused_steps(const Convolution& call) {
  const bool is_relu = call.activation == Activation::kRelu;
  if (!call.has_bias || (!is_relu && call.activation != Activation::kNone)) return {};
  std::vector<Step> steps;
  if (call.has_residual) steps.push_back({CUDNN_POINTWISE_ADD, kResidual});
  steps.push_back({CUDNN_POINTWISE_ADD, kBias});
  if (is_relu) steps.push_back({CUDNN_POINTWISE_RELU_FWD});
  return steps;
}

Epilogue epilogue_of(const Convolution& call) {
  const Extents& out = call.window.out;
  return {.dtype = call.dtype,
          .shape = {call.batch, call.filters, out[0] * out[1] * out[2]},
          .bias_axis = 1,
          .has_bias = call.has_bias,
          .has_residual = call.has_residual,
          .activation = call.activation};
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Convolution& call) {
  const Window& window = call.window;
  const auto volume = [](const Extents& extents) { return extents[0] * extents[1] * extents[2]; };
  if (call.batch * call.filters * volume(window.out) == 0) return nothing_to_do();
  if (!is_16_or_32_bit_float(call.dtype) || call.channels * volume(window.in) == 0) return nullptr;
  Failure failure;
  if (const auto steps = fused_steps(call); !steps.empty())
    if (auto plan = plan_of(*context, call, steps, failure))
      return std::make_unique<ConvolutionKernel>(context, std::move(*plan));
  auto plan = plan_of(*context, call, {}, failure);
  if (!plan) {
    failure.rethrow();
    return nullptr;
  }
  return in_sequence(std::make_unique<ConvolutionKernel>(context, std::move(*plan)),
                     prepare_epilogue(context, epilogue_of(call)));
}

}  // namespace reverie::device::cuda
