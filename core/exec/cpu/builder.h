#pragma once

#include <dnnl.hpp>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/exec/cpu/cpu_executor.h"

/// Inside of the executor on oneDNN; no other folder includes this.
namespace reverie::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

/// A buffer read or written as `desc`.
struct Slot {
  int buffer = -1;
  Desc desc;
};

/// A Slot as argument `index` (DNNL_ARG_*) of a primitive.
struct Argument {
  int index;
  Slot slot;
};

/// Works on the memory of its reads, then of its writes, in order.
using NativeKernel = std::function<void(std::span<std::byte* const>)>;

struct Step {
  dnnl::primitive primitive;  ///< empty when `native` is set
  NativeKernel native;
  std::vector<Argument> arguments;
  size_t reads = 0;    ///< the first arguments; the others are written
  bool setup = false;  ///< its result is the same in every run, so it runs once, before the first
};

struct Buffer {
  size_t bytes = 0;
  bool constant = false;
  Tensor tensor;   ///< of a weight; empty otherwise
  WeightPtr fill;  ///< every element is that of this one, in whatever layout; for timing alone
};

dnnl::engine& engine();
bool has_data_type(DType dtype);
dnnl::memory::data_type data_type(DType dtype);
/// Row-major. A type that oneDNN does not know is a row of bytes.
Desc plain_desc(const TensorType& type);
/// Images as convolutions of this processor like to leave them; all else row-major.
Desc natural_desc(const TensorType& type);
/// Row-major float32 (or `type`) of these extents.
Desc dense(const Dims& dims, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
Desc strided(const Dims& dims, const Dims& strides,
             dnnl::memory::data_type type = dnnl::memory::data_type::f32);
Desc any_layout(const Dims& dims);
Dims row_major_strides(const Dims& dims);
/// Whether data in one can be read as the other (strides along extents of one do not matter).
bool same_layout(const Desc& a, const Desc& b);

/// Collects the steps that compute a graph, value by value: where each value stands, and in which
/// layouts.
class Builder {
 public:
  /// Without `weights` nothing can be run afterwards: only what kernels there are is found out.
  Builder(const Graph& graph, const WeightSource* weights, const CpuOptions& options);

  const Graph& graph() const { return graph_; }
  /// Lowers every node that an output depends on.
  void build();
  /// Whether there is a kernel for the node besides the reference.
  bool lower(NodeId node);

  // --- For lowerings ----------------------------------------------------------------------------
  const TensorType& type(ValueId value) const { return graph_.type(value); }
  Dims dims(ValueId value) const;
  /// The value as it stands.
  Slot at(ValueId value);
  Slot plain(ValueId value) { return in_layout(value, plain_desc(type(value))); }
  /// The value in this layout, converted where it stands in none such.
  Slot in_layout(ValueId value, const Desc& desc);
  /// A conversion of a slot, of the same extents.
  Slot converted(const Slot& slot, const Desc& desc);
  /// The value in this layout, in memory that `node` may write over: where the value stands, if
  /// `node` is the last to use it, otherwise a copy, which every run makes anew.
  Slot to_overwrite(ValueId value, const Desc& desc, NodeId node);
  /// New memory.
  Slot fresh(const Desc& desc);
  void define(ValueId value, const Slot& slot);
  void add(const dnnl::primitive& primitive, std::vector<Argument> reads,
           std::vector<Argument> writes);
  void add(NativeKernel kernel, const std::vector<Slot>& reads, const std::vector<Slot>& writes);
  /// The value of a constant of one element.
  std::optional<double> scalar(ValueId value) const;

  // --- The result -------------------------------------------------------------------------------
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
  std::vector<Slot> inputs;  ///< buffer -1 where unused
  std::vector<Slot> outputs;
  std::map<std::string, int> fallbacks;

 private:
  void add_constant(NodeId node);
  void fall_back(NodeId node);
  bool try_lower(NodeId node);
  Slot copied(const Slot& slot, const Desc& desc);
  bool unbound(ValueId value) const;
  void bind_input(ValueId value, const Desc& desc);
  bool may_overwrite(const Slot& slot, ValueId value, NodeId node) const;
  bool is_input_buffer(int buffer) const;
  void find_last_users();
  void push(Step step);

  const Graph& graph_;
  const WeightSource* weights_;
  CpuOptions options_;
  std::vector<std::vector<Slot>> places_;  ///< by value; the first is where its producer put it
  std::vector<int> positions_;             ///< by node, in topological order
  std::vector<int> last_uses_;             ///< by value: position of its last user
  std::map<int, std::vector<ValueId>> values_in_;  ///< by buffer: the values that stand there
};

/// Adds the steps of a node and defines its outputs. False: not supported, nothing was added.
/// A dnnl::error that leaves it means the same, and what it added is taken back.
using Lowering = bool (*)(Builder&, NodeId);
/// nullptr when there is none for this operator.
Lowering find_lowering(const OpSchema& op);
/// Of operators that oneDNN computes element by element.
Lowering find_elementwise(const OpSchema& op);

bool lower_convolution(Builder& builder, NodeId node);
bool lower_transposed_convolution(Builder& builder, NodeId node);
bool lower_matmul(Builder& builder, NodeId node);
bool lower_gemm(Builder& builder, NodeId node);
bool lower_pool(Builder& builder, NodeId node);
bool lower_global_pool(Builder& builder, NodeId node);
bool lower_resize(Builder& builder, NodeId node);
bool lower_batch_normalization(Builder& builder, NodeId node);
bool lower_layer_normalization(Builder& builder, NodeId node);
bool lower_softmax(Builder& builder, NodeId node);
bool lower_reduction(Builder& builder, NodeId node);
bool lower_erf(Builder& builder, NodeId node);
bool lower_power(Builder& builder, NodeId node);
bool lower_view(Builder& builder, NodeId node);
bool lower_concat(Builder& builder, NodeId node);
bool lower_transpose(Builder& builder, NodeId node);
bool lower_split(Builder& builder, NodeId node);
bool lower_slice(Builder& builder, NodeId node);
bool lower_gather(Builder& builder, NodeId node);
bool lower_pad(Builder& builder, NodeId node);

/// Every present input and every output is float32 and not empty.
bool all_float(const Builder& builder, NodeId node);
/// Appends "relu", "sigmoid" or "tanh"; nothing for "none".
void append_activation(dnnl::post_ops& ops, const std::string& activation);

}  // namespace reverie::cpu
