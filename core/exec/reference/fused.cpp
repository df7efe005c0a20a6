#include "core/exec/reference/kernels.h"
#include "core/exec/reference/reference.h"
#include "core/ir/pointwise.h"

namespace reverie::reference {
namespace {

/// By the kernels of the operators that the program names.
std::vector<Tensor> pointwise(const KernelCall& call) {
  std::vector<TensorType> types;
  for (const Tensor& input : call.inputs) types.push_back(input.type());
  ReferenceExecutor executor({.poison = call.poison});
  return executor.run(pointwise_graph(call.attributes.text("program"), types), call.inputs);
}

}  // namespace

std::vector<KernelRow> fused_kernels() { return {{"Pointwise", pointwise}}; }

}  // namespace reverie::reference
