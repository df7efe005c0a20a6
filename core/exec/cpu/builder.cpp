#include "core/exec/cpu/builder.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"

namespace reverie::cpu {
namespace {

/// The reference kernel of one node. An absent input has a type with known() == false and no
/// memory.
struct ReferenceCall {
  const OpSchema* op;
  std::shared_ptr<const Attributes> attributes;
  std::vector<TensorType> inputs;

  void operator()(std::span<std::byte* const> memory) const {
    std::vector<Tensor> tensors;
    size_t at = 0;
    for (const TensorType& type : inputs) {
      tensors.push_back(type.known() ? Tensor(type) : Tensor());
      if (type.known()) std::copy_n(memory[at++], type.bytes(), tensors.back().bytes().data());
    }
    for (const Tensor& result : evaluate_node(*op, *attributes, tensors)) {
      const auto bytes = result.bytes();
      std::copy(bytes.begin(), bytes.end(), memory[at++]);
    }
  }
};

}  // namespace

Builder::Builder(const Graph& graph, const WeightSource* weights, const CpuOptions& options)
    : graph_(graph), weights_(weights), options_(options) {
  places_.resize(static_cast<size_t>(graph.value_capacity()));
  find_last_users();
}

void Builder::find_last_users() {
  positions_.assign(static_cast<size_t>(graph_.node_capacity()), -1);
  last_uses_.assign(places_.size(), -1);
  const std::vector<NodeId> order = graph_.topological_order();
  for (size_t i = 0; i < order.size(); ++i) {
    positions_[static_cast<size_t>(order[i].index)] = static_cast<int>(i);
    for (const ValueId input : graph_.inputs(order[i]))
      if (input.valid()) last_uses_[static_cast<size_t>(input.index)] = static_cast<int>(i);
  }
  for (const GraphOutput& output : graph_.outputs())
    last_uses_[static_cast<size_t>(output.value.index)] = static_cast<int>(order.size());
}

void Builder::build() {
  inputs.assign(graph_.inputs().size(), {});
  if (!options_.free_layouts)
    for (const NodeId input : graph_.inputs())
      bind_input(graph_.output(input), plain_desc(type(graph_.output(input))));
  for (const NodeId node : graph_.topological_order()) {
    if (&graph_.op(node) == &input_op()) continue;
    if (&graph_.op(node) == &opaque_op())
      throw InputError("operator {} is opaque and cannot be run",
                       graph_.attributes(node).text("op"));
    if (&graph_.op(node) == &constant_op()) {
      add_constant(node);
    } else if (!lower(node)) {
      fall_back(node);
    }
  }
  for (const GraphOutput& output : graph_.outputs())
    outputs.push_back(options_.free_layouts ? at(output.value) : plain(output.value));
}

bool Builder::lower(NodeId node) {
  const size_t steps_before = steps.size();
  const auto buffers_before = static_cast<int>(buffers.size());
  try {
    if (try_lower(node)) return true;
  } catch (const dnnl::error&) {
  }
  steps.resize(steps_before);
  buffers.resize(static_cast<size_t>(buffers_before));
  const auto is_new = [&](const Slot& slot) { return slot.buffer >= buffers_before; };
  for (std::vector<Slot>& places : places_) std::erase_if(places, is_new);
  values_in_.erase(values_in_.lower_bound(buffers_before), values_in_.end());
  return false;
}

bool Builder::try_lower(NodeId node) {
  const Lowering lowering = find_lowering(graph_.op(node));
  return lowering != nullptr && lowering(*this, node);
}

void Builder::add_constant(NodeId node) {
  const WeightPtr& weight = graph_.weight(node);
  Slot slot = fresh(plain_desc(weight->type()));
  Buffer& buffer = buffers[static_cast<size_t>(slot.buffer)];
  buffer.constant = true;
  if (options_.free_layouts && weight->is_fill())
    buffer.fill = weight;
  else if (weights_ != nullptr)
    buffer.tensor = (*weights_)(*weight);
  define(graph_.output(node), slot);
}

void Builder::fall_back(NodeId node) {
  std::vector<Slot> reads, writes;
  for (const ValueId input : graph_.inputs(node))
    if (input.valid()) reads.push_back(plain(input));
  for (const ValueId output : graph_.outputs(node)) {
    writes.push_back(fresh(plain_desc(type(output))));
    define(output, writes.back());
  }
  add(ReferenceCall{&graph_.op(node), graph_.shared_attributes(node), input_types(graph_, node)},
      reads, writes);
  if (!graph_.is_constant(node)) ++fallbacks[graph_.op(node).name];
}

Dims Builder::dims(ValueId value) const {
  const Shape& shape = type(value).shape;
  return shape.empty() ? Dims{1} : Dims(shape);
}

bool Builder::unbound(ValueId value) const {
  return places_[static_cast<size_t>(value.index)].empty() &&
         &graph_.op(graph_.producer(value)) == &input_op();
}

void Builder::bind_input(ValueId value, const Desc& desc) {
  const auto& all = graph_.inputs();
  const auto at = std::find(all.begin(), all.end(), graph_.producer(value));
  const Slot slot = fresh(desc);
  inputs.resize(all.size());
  inputs[static_cast<size_t>(at - all.begin())] = slot;
  define(value, slot);
}

Slot Builder::at(ValueId value) {
  if (unbound(value)) bind_input(value, natural_desc(type(value)));
  return places_[static_cast<size_t>(value.index)].front();
}

Slot Builder::in_layout(ValueId value, const Desc& desc) {
  if (unbound(value)) bind_input(value, desc);
  for (const Slot& slot : places_[static_cast<size_t>(value.index)])
    if (same_layout(slot.desc, desc)) return {slot.buffer, desc};
  const Slot slot = converted(at(value), desc);
  define(value, slot);
  return slot;
}

void Builder::define(ValueId value, const Slot& slot) {
  // Kernels look at the strides of extents of one and take a slow way where these are unusual.
  const Desc plain = plain_desc(type(value));
  places_[static_cast<size_t>(value.index)].push_back(
      {slot.buffer, same_layout(slot.desc, plain) ? plain : slot.desc});
  values_in_[slot.buffer].push_back(value);
}

bool Builder::is_input_buffer(int buffer) const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Slot& slot) { return slot.buffer == buffer; });
}

bool Builder::may_overwrite(const Slot& slot, ValueId value, NodeId node) const {
  const bool kept = buffers[static_cast<size_t>(slot.buffer)].constant ||
                    (is_input_buffer(slot.buffer) && !options_.free_layouts);
  const auto inputs = graph_.inputs(node);
  if (kept || std::count(inputs.begin(), inputs.end(), value) != 1) return false;
  const std::vector<ValueId>& standing = values_in_.at(slot.buffer);
  const int now = positions_[static_cast<size_t>(node.index)];
  return std::all_of(standing.begin(), standing.end(), [&](ValueId other) {
    const bool used_besides =
        other != value && std::find(inputs.begin(), inputs.end(), other) != inputs.end();
    return last_uses_[static_cast<size_t>(other.index)] <= now && !used_besides;
  });
}

Slot Builder::to_overwrite(ValueId value, const Desc& desc, NodeId node) {
  if (unbound(value)) bind_input(value, desc);
  const Slot slot = at(value);
  if (same_layout(slot.desc, desc) && may_overwrite(slot, value, node)) return {slot.buffer, desc};
  const Slot copy = copied(slot, desc);
  if (!graph_.is_constant(node)) {  // every run writes over it, and needs it anew
    steps.back().setup = false;
    buffers[static_cast<size_t>(copy.buffer)].constant = false;
  }
  return copy;
}

Slot Builder::converted(const Slot& slot, const Desc& desc) {
  if (same_layout(slot.desc, desc)) return {slot.buffer, desc};
  const WeightPtr fill = buffers[static_cast<size_t>(slot.buffer)].fill;
  if (fill == nullptr) return copied(slot, desc);
  const Slot result = fresh(desc);
  buffers.back().constant = true;
  buffers.back().fill = fill;
  return result;
}

Slot Builder::copied(const Slot& slot, const Desc& desc) {
  const dnnl::reorder::primitive_desc reorder(engine(), slot.desc, engine(), desc);
  const Slot result = fresh(desc);
  add(dnnl::reorder(reorder), {{DNNL_ARG_FROM, slot}}, {{DNNL_ARG_TO, result}});
  return result;
}

Slot Builder::fresh(const Desc& desc) {
  buffers.push_back({.bytes = desc.get_size(), .constant = false, .tensor = {}, .fill = {}});
  return {static_cast<int>(buffers.size()) - 1, desc};
}

void Builder::push(Step step) {
  const auto buffer = [&](const Argument& argument) -> Buffer& {
    return buffers[static_cast<size_t>(argument.slot.buffer)];
  };
  const auto first_write = step.arguments.begin() + static_cast<ptrdiff_t>(step.reads);
  step.setup = std::all_of(step.arguments.begin(), first_write,
                           [&](const Argument& read) { return buffer(read).constant; });
  std::for_each(first_write, step.arguments.end(),
                [&](const Argument& write) { buffer(write).constant = step.setup; });
  steps.push_back(std::move(step));
}

void Builder::add(const dnnl::primitive& primitive, std::vector<Argument> reads,
                  std::vector<Argument> writes) {
  Step step{.primitive = primitive, .native = {}, .arguments = std::move(reads)};
  step.reads = step.arguments.size();
  step.arguments.insert(step.arguments.end(), writes.begin(), writes.end());
  push(std::move(step));
}

void Builder::add(NativeKernel kernel, const std::vector<Slot>& reads,
                  const std::vector<Slot>& writes) {
  Step step{.primitive = {}, .native = std::move(kernel), .arguments = {}};
  for (const Slot& slot : reads) step.arguments.push_back({0, slot});
  step.reads = reads.size();
  for (const Slot& slot : writes) step.arguments.push_back({0, slot});
  push(std::move(step));
}

std::optional<double> Builder::scalar(ValueId value) const {
  const NodeId producer = graph_.producer(value);
  const WeightPtr& weight = graph_.weight(producer);
  if (weight == nullptr || type(value).elements() != 1) return std::nullopt;
  const Tensor tensor = weights_ != nullptr ? (*weights_)(*weight) : weight->materialize();
  return tensor.to_doubles()[0];
}

}  // namespace reverie::cpu
