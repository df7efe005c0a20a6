#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/tensor.h"
#include "worldmodel/torch.h"

/// Inside of eager mode; no other folder includes this.
namespace reverie::eager {

/// What a kernel is made from.
struct Node {
  const OpSchema& op;
  std::shared_ptr<const Attributes> shared_attributes;
  std::vector<TensorType> inputs;  ///< known() == false where absent
  std::vector<TensorType> outputs;
  std::vector<WeightPtr> weights;  ///< by input; null where it is no weight
  torch::Device device;

  Node(const Graph& graph, NodeId node, torch::Device device);
  const Attributes& attributes() const { return *shared_attributes; }
  bool has_input(size_t index) const { return index < inputs.size() && inputs[index].known(); }
};

/// Undefined where an optional input is absent.
using Arguments = std::span<const at::Tensor>;
/// One run of a node.
using Kernel = std::function<std::vector<at::Tensor>(Arguments)>;

/// A kernel whose node has one output: `f(Arguments)` gives a tensor.
template <typename F>
Kernel one(F f) {
  return [f = std::move(f)](Arguments x) { return std::vector<at::Tensor>{f(x)}; };
}

/// Tensors of a run are known by the number of their value.
using Number = int32_t;
inline constexpr Number kAbsent = -1;

struct Step {
  Kernel kernel;
  std::vector<Number> reads;  ///< kAbsent where an optional input is
  std::vector<Number> writes;
  std::vector<Number> frees;  ///< what no later step reads
};

/// LibTorch's operators that compute the node. Empty where there are none that mean the same.
Kernel find_kernel(const Node& node);
/// The reference kernel, on the host.
Kernel reference_kernel(const Node& node);

// Each is one family of operators; empty where it has no kernel for the node.
Kernel unary_kernel(const Node& node);
Kernel binary_kernel(const Node& node);
Kernel product_kernel(const Node& node);
Kernel window_kernel(const Node& node);
Kernel reduction_kernel(const Node& node);
Kernel movement_kernel(const Node& node);

// --- What kernels share -------------------------------------------------------------------------

/// Every present input and every output is of one floating type that LibTorch computes in on the device
/// (float32, float64; on GPUs 16 bits too), and none is empty.
bool computes(const Node& node);
/// LibTorch has the element types of all inputs and outputs.
bool can_hold(const Node& node);
/// `result` += residual, then the activation, in place: `result` is new and nobody else's.
at::Tensor finished(at::Tensor result, const at::Tensor& residual, const std::string& activation);
/// Of a kernel with inputs beside the given one, where a tensor is absent.
at::Tensor argument(Arguments arguments, size_t index);

// --- Tensors here and there ---------------------------------------------------------------------

/// InputError where LibTorch has none.
at::ScalarType scalar_type(DType dtype);
bool has_scalar_type(DType dtype);
/// On the device; on the host it shares the tensor's memory. Element types that LibTorch does not have are
/// carried as bytes.
at::Tensor carried(const Tensor& tensor, torch::Device device);
Tensor brought_back(const at::Tensor& tensor, const TensorType& type);

}  // namespace reverie::eager
