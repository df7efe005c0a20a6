#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/exec/device/device.h"
#include "core/exec/executor.h"

/// Inside of the executor on devices; no other folder includes this.
namespace reverie::device {

/// Memory on the device, by number.
using BufferId = int;

struct Buffer {
  int64_t bytes = 0;
  Tensor constant;  ///< what it holds from the start; empty otherwise
  bool is_constant() const { return constant.type().known(); }
};

/// The reference kernel of a node, on the host, for what the device has no kernel for.
struct HostNode {
  const OpSchema* op = nullptr;
  std::shared_ptr<const Attributes> attributes;
  std::vector<TensorType> inputs;  ///< known() == false where absent
  std::vector<TensorType> outputs;
};

struct Step {
  std::unique_ptr<Kernel> kernel;  ///< null: `host` runs
  HostNode host;
  std::vector<BufferId> memory;  ///< reads, then writes
  BufferId workspace = -1;
  NodeId node = {};  ///< that it belongs to
};

/// Collects the steps that compute a graph: a value is dense and row-major in its buffer, float32
/// in the type that the device's precision stores it in. Constants are folded on the host.
class Builder {
 public:
  Builder(const Graph& graph, Device& device, const WeightSource& weights);

  /// Lowers every node that an output depends on. InputError where one is opaque.
  void build();

  // --- For lowerings ----------------------------------------------------------------------------
  const Graph& graph() const { return graph_; }
  /// As it is stored.
  TensorType type(ValueId value) const;
  BufferId at(ValueId value);
  BufferId fresh(int64_t bytes);
  /// New memory for a value.
  BufferId define(ValueId value);
  void define(ValueId value, BufferId buffer) {
    places_[static_cast<size_t>(value.index)] = buffer;
  }
  /// False where the device has no kernel for it; then nothing was added.
  bool add(const Call& call, std::vector<BufferId> reads, std::vector<BufferId> writes);

  // --- The result -------------------------------------------------------------------------------
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  std::map<std::string, int> fallbacks;

 private:
  void lower(NodeId node);
  void fall_back(NodeId node);

  const Graph& graph_;
  Device& device_;
  const WeightSource& weights_;
  std::vector<BufferId> places_;  ///< by value; -1: nowhere yet
};

/// Adds the steps of a node and defines its outputs. False: there are no such kernels, and what was
/// added is to be taken back.
using Lowering = bool (*)(Builder&, NodeId);
/// nullptr when there is none for this operator.
Lowering find_lowering(const OpSchema& op);

bool lower_convolution(Builder& builder, NodeId node);
bool lower_matmul(Builder& builder, NodeId node);
bool lower_gemm(Builder& builder, NodeId node);
bool lower_pool(Builder& builder, NodeId node);
bool lower_global_pool(Builder& builder, NodeId node);
bool lower_batch_normalization(Builder& builder, NodeId node);
bool lower_layer_normalization(Builder& builder, NodeId node);
bool lower_skip_layer_normalization(Builder& builder, NodeId node);
bool lower_softmax(Builder& builder, NodeId node);
bool lower_attention(Builder& builder, NodeId node);
bool lower_reduction(Builder& builder, NodeId node);
/// Of operators that compute every element by itself.
Lowering find_elementwise(const OpSchema& op);
/// What they compute; nullptr where it is another operator.
const Function* find_function(const OpSchema& op);
struct Parameters {
  double alpha = 0, beta = 0;
};
Parameters parameters_of(const OpSchema& op, const Attributes& attributes);
bool lower_pointwise(Builder& builder, NodeId node);
bool lower_view(Builder& builder, NodeId node);
bool lower_concat(Builder& builder, NodeId node);
bool lower_transpose(Builder& builder, NodeId node);
bool lower_split(Builder& builder, NodeId node);
bool lower_slice(Builder& builder, NodeId node);
bool lower_expand(Builder& builder, NodeId node);
bool lower_tile(Builder& builder, NodeId node);
bool lower_gather(Builder& builder, NodeId node);
bool lower_pad(Builder& builder, NodeId node);

// --- What lowerings share -----------------------------------------------------------------------

/// Of the element types that floating calls take.
bool is_device_float(DType dtype);
/// Every present input and every output is such, all of one type, and none is empty.
bool all_float(const Builder& builder, NodeId node);
Strides row_major(const Shape& shape);
/// Distances that read a tensor of shape `from` as if it were broadcast to `to`.
Strides broadcast_strides(const Shape& from, const Shape& to);
/// Leaves out axes of extent 1 and joins neighbours along which all operands advance evenly.
void join_axes(Shape& shape, std::vector<Strides*> operands);
Activation activation_of(const Attributes& attributes);

/// result = function(values), broadcast; false where the device cannot.
bool add_elementwise(Builder& builder, Elementwise call, std::span<const ValueId> values,
                     ValueId result);
/// A piece of memory of `shape` to another; joins axes.
bool add_movement(Builder& builder, Movement call, std::vector<BufferId> reads,
                  std::vector<BufferId> writes);
/// A tensor of type `type` set into `after` more and `before` less elements along every axis, the
/// rest being `value`. Nothing where the device cannot.
std::optional<BufferId> add_padded(Builder& builder, BufferId source, const TensorType& type,
                                   std::span<const int64_t> before, std::span<const int64_t> after,
                                   double value);

}  // namespace reverie::device
