#include "core/cost/cost_model.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/exec/device/fuse.h"
#include "core/ir/constant_inputs.h"
#include "core/ir/text.h"

namespace reverie {

Cost& Cost::operator+=(const Cost& other) {
  runtime += other.runtime;
  flops += other.flops;
  bytes += other.bytes;
  launches += other.launches;
  estimated += other.estimated;
  return *this;
}

Cost& Cost::operator-=(const Cost& other) {
  runtime -= other.runtime;
  flops -= other.flops;
  bytes -= other.bytes;
  launches -= other.launches;
  estimated -= other.estimated;
  return *this;
}

double estimated_share(const Cost& cost) {
  return cost.runtime.count == 0 ? 0 : cost.estimated.seconds() / cost.runtime.seconds();
}

uint64_t OpSignature::hash() const {
  uint64_t hash = hash_combine(hash_string(op->name), attributes->hash());
  hash = hash_combine(hash, constant_inputs);
  for (const TensorType& type : inputs) hash = hash_combine(hash, hash_of(type));
  for (const TensorType& type : outputs) hash = hash_combine(hash, hash_of(type));
  return hash;
}

bool OpSignature::operator==(const OpSignature& other) const {
  return op == other.op && constant_inputs == other.constant_inputs && inputs == other.inputs &&
         outputs == other.outputs && *attributes == *other.attributes;
}

std::string OpSignature::text() const {
  std::string text = op->name + "(";
  for (size_t i = 0; i < inputs.size(); ++i)
    text +=
        fmt::format("{}{}{}", i == 0 ? "" : ", ",
                    is_constant_input(constant_inputs, i) ? "const " : "", to_string(inputs[i]));
  text += ")";
  for (const Attributes::Entry& entry : attributes->entries())
    text += fmt::format("{}{}={}", text.back() == ')' ? " {" : ", ", entry.first,
                        to_string(entry.second));
  if (!attributes->empty()) text += "}";
  return text;
}

void OpSignature::take_first_sample() {
  if (attributes->varies()) attributes = std::make_shared<const Attributes>(attributes->at(0));
  for (std::vector<TensorType>* types : {&inputs, &outputs})
    for (TensorType& type : *types) type.other_samples = nullptr;
}

OpSignature signature_of(const Graph& graph, NodeId node) {
  OpSignature signature;
  signature.op = &graph.op(node);
  signature.attributes = graph.shared_attributes(node);
  signature.inputs = input_types(graph, node);
  signature.outputs = output_types(graph, node);
  signature.take_first_sample();
  const auto inputs = graph.inputs(node);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].valid() && graph.is_constant(inputs[i]))
      signature.constant_inputs |= constant_input(i);
  return signature;
}

OpSignature parse_signature(std::string_view text) {
  return with_context(std::string(text), [&] {
    const OperatorText parsed = parse_operator(text);
    auto attributes =
        std::make_shared<const Attributes>(parsed.op->resolve(parsed.attributes, parsed.inputs));
    const std::vector<TensorType> outputs =
        parsed.op->infer({.inputs = parsed.inputs, .outputs = {}, .attributes = *attributes});
    return OpSignature{parsed.op, std::move(attributes), parsed.inputs, outputs,
                       parsed.constant_inputs};
  });
}

Cost node_cost(CostModel& model, const Graph& graph, NodeId node) {
  return graph.is_work(node) ? model.cost(signature_of(graph, node)) : Cost{};
}

Cost graph_cost(CostModel& model, const Graph& graph) {
  Cost total;
  for (const NodeId node : graph.nodes()) total += node_cost(model, graph, node);
  return total;
}

Cost running_cost(CostModel& model, const Graph& graph) {
  return graph_cost(model, model.fuses() ? fused(graph) : graph);
}

}  // namespace reverie
