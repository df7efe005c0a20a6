#include "core/exec/cpu/cpu_executor.h"

#include <fmt/format.h>

#include "core/exec/cpu/builder.h"
#include "core/exec/node_graph.h"

namespace reverie {
namespace {

std::string instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return fmt::format("isa {}", static_cast<int>(dnnl::get_effective_cpu_isa()));
  }
}

}  // namespace

bool CpuExecutor::has_kernel(const OpSchema& op) { return cpu::find_lowering(op) != nullptr; }

bool CpuExecutor::supports(const Graph& graph, NodeId node) const {
  const OpSchema& op = graph.op(node);
  if (&op == &input_op() || &op == &constant_op()) return true;
  if (&op == &opaque_op()) return false;
  std::vector<WeightPtr> constants;
  for (const ValueId input : graph.inputs(node))
    constants.push_back(input.valid() ? graph.weight(graph.producer(input)) : nullptr);
  const Graph single = node_graph(op, graph.shared_attributes(node), input_types(graph, node),
                                  output_types(graph, node), constants);
  cpu::Builder builder(single, nullptr, options_);
  builder.build();
  return builder.fallbacks.empty();
}

std::vector<Tensor> CpuExecutor::run(const Graph& graph, std::span<const Tensor> inputs,
                                     const WeightSource& weights) {
  CpuPlan plan(graph, weights, options_);
  for (const auto& [op, count] : plan.fallbacks()) fallbacks_[op] += count;
  return plan.run(inputs);
}

std::string cpu_library() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}, {}", version->major, version->minor, version->patch,
                     instruction_set());
}

}  // namespace reverie
