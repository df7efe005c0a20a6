#include "core/exec/reference/reference.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/exec/reference/kernels.h"
#include "core/ir/operator_column.h"

namespace reverie {
namespace reference {

DType carrier_of(DType dtype) {
  if (is_floating(dtype)) return DType::kFloat64;
  return dtype == DType::kBool ? DType::kBool : DType::kInt64;
}

Tensor KernelCall::new_output(size_t index) const {
  Tensor tensor(outputs[index]);
  if (!poison) return tensor;
  if (tensor.type().dtype == DType::kFloat64) {
    const auto data = tensor.data<double>();
    std::fill(data.begin(), data.end(), std::numeric_limits<double>::quiet_NaN());
  } else if (tensor.type().dtype != DType::kBool) {
    std::fill(tensor.bytes().begin(), tensor.bytes().end(), std::byte{0xff});
  }
  return tensor;
}

const KernelRow* find_kernel(const OpSchema& op) {
  static const OperatorColumn<KernelRow> kernels = [] {
    std::vector<std::pair<std::string_view, KernelRow>> rows;
    for (const auto family :
         {unary_kernels, binary_kernels, linear_kernels, spatial_kernels, reduction_kernels,
          movement_kernels, image_kernels, resize_kernels, sampling_kernels, normalization_kernels,
          quantization_kernels, recurrent_kernels, lane_kernels, scatter_kernels, attention_kernels,
          fused_kernels})
      for (const KernelRow& row : family()) rows.emplace_back(row.op, row);
    return OperatorColumn(rows);
  }();
  return kernels.find(op);
}

}  // namespace reference

namespace {

using reference::carrier_of;
using reference::KernelCall;
using reference::KernelRow;

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

/// As the kernel takes them.
std::vector<Tensor> taken_by(const KernelRow& kernel, std::span<const Tensor> tensors) {
  std::vector<Tensor> result(tensors.begin(), tensors.end());
  for (Tensor& tensor : result) {
    const DType dtype = tensor.type().dtype;
    const bool stays = !tensor.type().known() || kernel.takes == KernelRow::Takes::kAny ||
                       (kernel.takes == KernelRow::Takes::kFloats && is_floating(dtype));
    if (!stays) tensor = tensor.cast(carrier_of(dtype));
  }
  return result;
}

/// What the kernel computes on.
std::vector<TensorType> carried_types(const KernelRow& kernel, std::span<const Tensor> tensors) {
  std::vector<TensorType> types = types_of(tensors);
  for (TensorType& type : types)
    if (kernel.takes != KernelRow::Takes::kAny && type.known()) type.dtype = carrier_of(type.dtype);
  return types;
}

bool holds_doubles(const Tensor& tensor) { return tensor.type().dtype == DType::kFloat64; }

bool widens_by_itself(const OpSchema& op) {
  const KernelRow* kernel = reference::find_kernel(op);
  return kernel != nullptr && kernel->takes == KernelRow::Takes::kFloats;
}

/// The type that a value of a declared type is held as.
DType held_as(DType declared, const ReferenceOptions& options) {
  return options.precision == Precision::kDouble && is_floating(declared) ? DType::kFloat64
                                                                          : declared;
}

bool holds_every(DType to, DType from) {
  if (to == from || to == DType::kFloat64) return true;
  return to == DType::kFloat32 && from != DType::kFloat64;
}

/// Whether a Cast rounds numbers to a floating type that does not hold all of them.
bool rounds(const Graph& graph, NodeId node) {
  if (!graph.op(node).is("Cast")) return false;
  const DType from = graph.type(graph.inputs(node)[0]).dtype;
  const DType to = graph.type(graph.output(node)).dtype;
  return is_floating(to) && !(is_floating(from) && holds_every(to, from));
}

/// By value: whether it leads to a step or to what rounds, or comes out of one, and so has to be
/// what the model makes of it.
std::vector<bool> values_at_steps(const Graph& graph, std::span<const NodeId> order) {
  std::vector<bool> marked(static_cast<size_t>(graph.value_capacity()));
  const auto mark = [&](ValueId value) {
    if (value.valid()) marked[static_cast<size_t>(value.index)] = true;
  };
  for (size_t i = order.size(); i-- > 0;) {
    const auto outputs = graph.outputs(order[i]);
    const bool step = is_step(graph, order[i]) || rounds(graph, order[i]);
    const bool leads = step || std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
                         return marked[static_cast<size_t>(output.index)];
                       });
    if (step) std::for_each(outputs.begin(), outputs.end(), mark);
    if (leads) std::ranges::for_each(graph.inputs(order[i]), mark);
  }
  return marked;
}

/// Runs the kernel; results have the types that inference gives for the tensors at hand, in the
/// kernel's own carriers.
std::vector<Tensor> run_kernel(const OpSchema& op, const Attributes& attributes,
                               std::span<const Tensor> inputs, bool poison) {
  const KernelRow* kernel = reference::find_kernel(op);
  if (kernel == nullptr) throw InputError("{} cannot be evaluated", op.name);
  const std::vector<Tensor> taken = taken_by(*kernel, inputs);
  std::vector<TensorType> outputs;
  if (!op.value_shaped) outputs = op.infer({carried_types(*kernel, taken), {}, attributes});
  return kernel->run({taken, outputs, attributes, poison});
}

/// One run over what the wanted values depend on.
class Run {
 public:
  Run(const Graph& graph, std::span<const ValueId> wanted, const WeightSource& weights,
      const ReferenceOptions& options, const ReferenceExecutor::Observer& observer)
      : graph_(graph),
        weights_(weights),
        options_(options),
        observer_(observer),
        order_(graph.topological_order(wanted)),
        wanted_(wanted.begin(), wanted.end()),
        values_(static_cast<size_t>(graph.value_capacity())),
        pending_(static_cast<size_t>(graph.value_capacity()), 0) {
    for (const NodeId node : order_)
      for (const ValueId input : graph.inputs(node))
        if (input.valid()) ++pending_[static_cast<size_t>(input.index)];
    for (const ValueId value : wanted) ++pending_[static_cast<size_t>(value.index)];
  }

  void set(ValueId value, const Tensor& tensor) { keep(value, tensor); }

  /// From now on values at steps have their declared types, whatever the others have.
  void declare_values_at_steps() { declared_ = values_at_steps(graph_, order_); }

  std::vector<Tensor> finish() {
    for (const NodeId node : order_) step(node);
    std::vector<Tensor> results;
    for (const ValueId value : wanted_) {
      const Tensor held = value_of(value);
      results.push_back(
          held.cast(options_.cast_back ? graph_.type(value).dtype : held_type(value)));
    }
    return results;
  }

 private:
  void step(NodeId node) {
    const OpSchema& op = graph_.op(node);
    if (&op == &input_op() || &op == &constant_op()) return;
    if (&op == &opaque_op())
      throw InputError("operator {} cannot be run: it is carried through untouched",
                       graph_.attributes(node).text("op"));
    std::vector<Tensor> inputs;
    for (const ValueId input : graph_.inputs(node))
      inputs.push_back(input.valid() ? value_of(input) : Tensor());
    const bool stays_narrow = op.moves && std::ranges::none_of(inputs, holds_doubles);
    if (!stays_narrow && !widens_by_itself(op)) widen(graph_.inputs(node), inputs);
    std::vector<Tensor> results =
        run_kernel(op, graph_.attributes(node).at(0), inputs, options_.poison);
    if (observer_) observer_(node, results);
    for (const ValueId input : graph_.inputs(node)) release(input);
    inputs.clear();
    for (size_t i = 0; i < results.size(); ++i)
      keep(graph_.outputs(node)[i], results[i], stays_narrow);
  }

  /// Weights come when they are needed first: a product that names its weights before what it
  /// multiplies would hold those of all layers. They are held in the type in which they come, and
  /// so is what they are moved to: an embedding would take twice its size, and its transpose again.
  Tensor value_of(ValueId value) {
    const Tensor& held = values_[static_cast<size_t>(value.index)];
    const WeightPtr& weight = graph_.weight(graph_.producer(value));
    if (weight != nullptr && !held.type().known()) keep(value, weights_(*weight), true);
    return held;
  }

  void widen(std::span<const ValueId> values, std::vector<Tensor>& tensors) const {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].valid()) tensors[i] = tensors[i].cast(held_type(values[i]));
  }

  DType held_type(ValueId value) const {
    const DType type = graph_.type(value).dtype;
    const bool declared = !declared_.empty() && declared_[static_cast<size_t>(value.index)];
    return declared ? type : held_as(type, options_);
  }

  void keep(ValueId value, const Tensor& tensor, bool may_be_narrow = false) {
    const TensorType& type = graph_.type(value);
    REVERIE_CHECK(tensor.shape() == type.shape, "{} should be {}", to_string(tensor.type()),
                  to_string(type));
    const auto at = static_cast<size_t>(value.index);
    if (pending_[at] == 0) return;
    const bool is_narrow = may_be_narrow && tensor.type().dtype == type.dtype;
    values_[at] = is_narrow ? tensor : tensor.cast(held_type(value));
  }

  void release(ValueId value) {
    if (value.valid() && --pending_[static_cast<size_t>(value.index)] == 0)
      values_[static_cast<size_t>(value.index)] = Tensor();
  }

  const Graph& graph_;
  const WeightSource& weights_;
  const ReferenceOptions& options_;
  const ReferenceExecutor::Observer& observer_;
  std::vector<NodeId> order_;
  std::vector<ValueId> wanted_;
  std::vector<Tensor> values_;
  std::vector<int> pending_;    // uses still to come, per value
  std::vector<bool> declared_;  // values that are held as their declared type; empty: none
};

}  // namespace

bool ReferenceExecutor::has_kernel(const OpSchema& op) {
  return reference::find_kernel(op) != nullptr;
}

bool ReferenceExecutor::supports(const Graph& graph, NodeId node) const {
  const OpSchema& op = graph.op(node);
  return &op == &input_op() || &op == &constant_op() || has_kernel(op);
}

std::vector<Tensor> ReferenceExecutor::run(const Graph& graph, std::span<const Tensor> inputs,
                                           const WeightSource& weights) {
  if (inputs.size() != graph.inputs().size())
    throw InputError("the graph has {} inputs, {} tensors were given", graph.inputs().size(),
                     inputs.size());
  std::vector<ValueId> wanted;
  for (const GraphOutput& output : graph.outputs()) wanted.push_back(output.value);
  Run run(graph, wanted, weights, options_, observer_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId value = graph.output(graph.inputs()[i]);
    const TensorType type = graph.type(value).at(0);
    const TensorType held{held_as(type.dtype, options_), type.shape};
    if (inputs[i].type() != type && inputs[i].type() != held)
      throw InputError("input '{}' should be {}, not {}", graph.input_name(graph.inputs()[i]),
                       to_string(type), to_string(inputs[i].type()));
    run.set(value, inputs[i]);
  }
  return run.finish();
}

std::vector<Tensor> evaluate_node(const OpSchema& op, const Attributes& attributes,
                                  std::span<const Tensor> inputs, ReferenceOptions options) {
  const std::vector<TensorType> types = types_of(inputs);
  return with_context(op.name, [&] {
    const Attributes resolved = op.resolve(attributes.at(0), types);
    std::vector<Tensor> results = run_kernel(op, resolved, inputs, options.poison);
    if (op.value_shaped) return results;
    const std::vector<TensorType> declared = op.infer({types, {}, resolved});
    for (size_t i = 0; i < results.size(); ++i)
      results[i] = results[i].cast(held_as(declared[i].dtype, options));
    return results;
  });
}

namespace {

Tensor fold_in(Precision precision, const Graph& graph, ValueId value,
               const WeightSource& weights) {
  REVERIE_CHECK(graph.is_constant(value));
  const ReferenceOptions options{.precision = precision, .cast_back = false};
  const ReferenceExecutor::Observer none;
  Run run(graph, {&value, 1}, weights, options, none);
  run.declare_values_at_steps();
  return run.finish().at(0);
}

}  // namespace

bool is_only_moved(const Graph& graph, ValueId value) {
  return std::ranges::all_of(graph.topological_order({&value, 1}), [&](NodeId node) {
    return &graph.op(node) == &constant_op() || graph.op(node).moves;
  });
}

Tensor fold(const Graph& graph, ValueId value, const WeightSource& weights) {
  const auto precision = is_only_moved(graph, value) ? Precision::kDeclared : Precision::kDouble;
  return fold_in(precision, graph, value, weights).cast(graph.type(value).dtype);
}

Tensor fold_exactly(const Graph& graph, ValueId value, const WeightSource& weights) {
  return fold_in(Precision::kDouble, graph, value, weights);
}

}  // namespace reverie
