#include "core/ir/pointwise.h"

#include <algorithm>

#include "core/exec/device/builder.h"

namespace reverie::device {
namespace {

/// The steps of a program; none where one of them has no function.
std::vector<Instruction> instructions_of(const Graph& program) {
  std::vector<int> registers(static_cast<size_t>(program.value_capacity()), 0);
  int next = 0;
  const auto define = [&](NodeId node) {
    registers[static_cast<size_t>(program.output(node).index)] = next++;
  };
  for (const NodeId input : program.inputs()) define(input);
  std::vector<Instruction> instructions;
  for (const NodeId node : program.topological_order()) {
    const OpSchema& op = program.op(node);
    if (&op == &input_op()) continue;
    const Function* function = find_function(op);
    if (function == nullptr) return {};
    const Parameters parameters = parameters_of(op, program.attributes(node));
    Instruction one{.function = *function, .alpha = parameters.alpha, .beta = parameters.beta};
    const auto inputs = program.inputs(node);
    for (size_t i = 0; i < inputs.size(); ++i)
      one.arguments[i] = registers[static_cast<size_t>(inputs[i].index)];
    instructions.push_back(one);
    define(node);
  }
  return instructions;
}

}  // namespace

bool lower_pointwise(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const Graph& graph = builder.graph();
  const TensorType type = builder.type(graph.output(node));
  const Graph program =
      pointwise_graph(graph.attributes(node).text("program"), input_types(graph, node));
  Pointwise call{.dtype = type.dtype,
                 .shape = type.shape,
                 .operands = {},
                 .instructions = instructions_of(program)};
  std::vector<BufferId> reads;
  for (const ValueId input : graph.inputs(node)) {
    call.operands.push_back(broadcast_strides(builder.type(input).shape, type.shape));
    reads.push_back(builder.at(input));
  }
  if (call.instructions.empty() || call.instructions.size() > size_t{kMaxInstructions} ||
      call.operands.size() > size_t{kMaxPointwiseOperands})
    return false;
  Strides dense = row_major(call.shape);
  std::vector<Strides*> strides = {&dense};
  for (Strides& operand : call.operands) strides.push_back(&operand);
  join_axes(call.shape, strides);
  if (call.shape.size() > size_t{kMaxAxes}) return false;
  return builder.add(call, std::move(reads), {builder.define(graph.output(node))});
}

}  // namespace reverie::device
