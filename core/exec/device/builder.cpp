#include "core/exec/device/builder.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"

namespace reverie::device {

Builder::Builder(const Graph& graph, Device& device, const WeightSource& weights)
    : graph_(graph), device_(device), weights_(weights) {
  places_.assign(static_cast<size_t>(graph.value_capacity()), -1);
}

TensorType Builder::type(ValueId value) const {
  TensorType type = graph_.type(value);
  if (type.dtype == DType::kFloat32) type.dtype = storage_of(device_.precision());
  return type;
}

BufferId Builder::fresh(int64_t bytes) {
  buffers.push_back({.bytes = std::max<int64_t>(bytes, 1), .constant = {}});
  return static_cast<BufferId>(buffers.size()) - 1;
}

BufferId Builder::define(ValueId value) {
  const BufferId buffer = fresh(type(value).bytes());
  define(value, buffer);
  return buffer;
}

BufferId Builder::at(ValueId value) {
  const BufferId known = places_[static_cast<size_t>(value.index)];
  if (known >= 0) return known;
  REVERIE_CHECK(graph_.is_constant(value), "a value that nothing computed");
  const BufferId buffer = define(value);
  buffers[static_cast<size_t>(buffer)].constant =
      fold(graph_, value, weights_).cast(type(value).dtype);
  return buffer;
}

void Builder::build() {
  for (const NodeId input : graph_.inputs()) inputs.push_back(define(graph_.output(input)));
  for (const NodeId node : graph_.topological_order()) {
    if (&graph_.op(node) == &opaque_op())
      throw InputError("operator {} is opaque and cannot be run",
                       graph_.attributes(node).text("op"));
    if (graph_.is_work(node)) lower(node);
  }
  for (const GraphOutput& output : graph_.outputs()) outputs.push_back(at(output.value));
}

void Builder::lower(NodeId node) {
  const size_t steps_before = steps.size();
  const Lowering lowering = find_lowering(graph_.op(node));
  if (lowering == nullptr || !lowering(*this, node)) {
    steps.resize(steps_before);
    fall_back(node);
  }
  for (size_t i = steps_before; i < steps.size(); ++i) steps[i].node = node;
}

void Builder::fall_back(NodeId node) {
  Step step{.kernel = {},
            .host = {&graph_.op(node), graph_.shared_attributes(node), input_types(graph_, node),
                     output_types(graph_, node)},
            .memory = {}};
  for (const ValueId input : graph_.inputs(node))
    if (input.valid()) step.memory.push_back(at(input));
  for (const ValueId output : graph_.outputs(node)) step.memory.push_back(define(output));
  steps.push_back(std::move(step));
  ++fallbacks[graph_.op(node).name];
}

bool Builder::add(const Call& call, std::vector<BufferId> reads, std::vector<BufferId> writes) {
  Step step{.kernel = device_.prepare(call), .host = {}, .memory = std::move(reads)};
  if (step.kernel == nullptr) return false;
  step.memory.insert(step.memory.end(), writes.begin(), writes.end());
  if (const int64_t bytes = step.kernel->workspace_bytes(); bytes > 0)
    step.workspace = fresh(bytes);
  steps.push_back(std::move(step));
  return true;
}

// --- What lowerings share -----------------------------------------------------------------------

bool is_device_float(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

bool all_float(const Builder& builder, NodeId node) {
  const DType dtype = builder.type(builder.graph().output(node)).dtype;
  const auto fits = [&](ValueId value) {
    if (!value.valid()) return true;
    const TensorType type = builder.type(value);
    return type.dtype == dtype && type.elements() > 0;
  };
  const auto inputs = builder.graph().inputs(node);
  const auto outputs = builder.graph().outputs(node);
  return is_device_float(dtype) && std::all_of(inputs.begin(), inputs.end(), fits) &&
         std::all_of(outputs.begin(), outputs.end(), fits);
}

Strides row_major(const Shape& shape) {
  Strides strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = row_major(from);
  Strides strides(to.size(), 0);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 || to[lead + i] == 1) strides[lead + i] = own[i];
  return strides;
}

void join_axes(Shape& shape, std::vector<Strides*> operands) {
  const auto erase = [&](size_t axis) {
    shape.erase(shape.begin() + static_cast<ptrdiff_t>(axis));
    for (Strides* strides : operands)
      strides->erase(strides->begin() + static_cast<ptrdiff_t>(axis));
  };
  for (size_t axis = shape.size(); axis-- > 0;)
    if (shape[axis] == 1) erase(axis);
  for (size_t axis = shape.size(); axis-- > 1;) {
    const bool even = std::all_of(operands.begin(), operands.end(), [&](const Strides* strides) {
      return (*strides)[axis - 1] == (*strides)[axis] * shape[axis];
    });
    if (!even) continue;
    shape[axis - 1] *= shape[axis];
    for (Strides* strides : operands) (*strides)[axis - 1] = (*strides)[axis];
    erase(axis);
  }
}

Activation activation_of(const Attributes& attributes) {
  const std::string& name = attributes.text("activation");
  if (name == "relu") return Activation::kRelu;
  if (name == "sigmoid") return Activation::kSigmoid;
  return name == "tanh" ? Activation::kTanh : Activation::kNone;
}

}  // namespace reverie::device
