#include "core/ir/ops/common.h"
#include "core/ir/pointwise.h"

/// What stands for several operators that run as one kernel (core/exec/device/fuse.h).
namespace reverie::ops {
namespace {

Graph program_of(const OpContext& node) {
  return pointwise_graph(node.attributes.text("program"), node.inputs);
}

OpSchema pointwise() {
  OpSchema row;
  row.name = "Pointwise";
  row.min_inputs = 1;
  row.max_inputs = OpSchema::kVariadic;
  row.attributes = {required("program")};
  row.elementwise = true;
  row.fused = true;
  row.infer = [](const OpContext& node) {
    for (const TensorType& type : node.inputs) require_floating(type);
    const Graph program = program_of(node);
    return Types{program.type(program.outputs()[0].value)};
  };
  row.flops = [](const OpContext& node) {
    const Graph program = program_of(node);
    int64_t total = 0;
    for (const NodeId step : program.nodes()) total += flops(program, step);
    return total;
  };
  return row;
}

}  // namespace

std::vector<OpSchema> fused() { return {pointwise()}; }

}  // namespace reverie::ops
