#include "env/placement/graph/gradient_step.h"

#include <fmt/format.h>

#include "core/cost/cost_model.h"

namespace reverie::placement {

OpSignature elementwise_work(std::vector<TensorType> inputs, TensorType output) {
  return {.op = &op_named("Mul"),
          .attributes = std::make_shared<const Attributes>(),
          .inputs = std::move(inputs),
          .outputs = {std::move(output)}};
}

Operand GradientStep::x(size_t input) const {
  const ValueId value = graph_.inputs(id_)[input];
  const bool is_constant = graph_.is_constant(nodes_.source(value));
  return {graph_.type(value), is_constant ? -1 : nodes_.tensor(value)};
}

Operand GradientStep::y() const {
  const ValueId value = graph_.output(id_);
  return {graph_.type(value), nodes_.tensor(value)};
}

OpSignature GradientStep::work(std::string_view op, std::vector<TensorType> inputs,
                               TensorType output) const {
  OpSignature work = elementwise_work(std::move(inputs), std::move(output));
  work.op = &op_named(op);
  if (work.op->is("MatMul"))
    work.attributes =
        std::make_shared<const Attributes>(Attributes{{"activation", std::string("none")}});
  return work;
}

OpSignature GradientStep::forward_work() const {
  OpSignature work = signature_of(graph_, id_);
  if (work.inputs.size() > 2) work.inputs.resize(2);
  return work;
}

Operand GradientStep::add(const std::string& suffix, const std::string& op,
                          const std::vector<Operand>& reads, TensorType type,
                          const OpSignature& work) {
  const int forward = nodes_.node(id_);
  const int node = builder_.add_node(builder_.node_name(forward) + suffix, op, &work);
  builder_.keep_together(forward, node);
  for (const Operand& read : reads)
    if (read.tensor >= 0) builder_.read(node, read.tensor);
  const int tensor = builder_.add_tensor(node, type.bytes());
  return {std::move(type), tensor};
}

Operand GradientStep::run(size_t input, const std::vector<Operand>& reads, TensorType type,
                          const OpSignature& work) {
  return add(fmt::format("/grad{}", input), fmt::format("{}Grad{}", graph_.op(id_).name, input),
             reads, std::move(type), work);
}

Operand GradientStep::pointwise(size_t input, const std::vector<Operand>& reads,
                                const TensorType& type) {
  std::vector<TensorType> types;
  for (const Operand& read : reads) types.push_back(read.type);
  return run(input, reads, type, elementwise_work(std::move(types), type));
}

Operand GradientStep::reduced(size_t input, const Operand& gradient) {
  const TensorType& type = graph_.type(graph_.inputs(id_)[input]);
  if (type.elements() == gradient.type.elements()) return gradient;
  return add(fmt::format("/sum{}", input), "ReduceSum", {gradient}, type,
             work("ReduceSum", {gradient.type}, type));
}

}  // namespace reverie::placement
