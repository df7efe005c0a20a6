#include "tools/eager/eager_executor.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/exec/graph_interface.h"
#include "core/exec/reference/reference.h"
#include "tools/eager/node.h"

namespace reverie {
namespace {

using eager::Number;
using eager::kAbsent;

bool failed_for_good(const torch::Device& where) {
  if (!where.is_cuda()) return false;
  try {
    torch::cuda::synchronize(where.index());
    return false;
  } catch (const c10::Error&) {
    return true;
  }
}

/// What LibTorch refuses, as a line: all it was asked for is what the graph says.
template <typename Body>
void refusing(const torch::Device& where, Body&& body) {
  try {
    body();
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const std::string line = fmt::format("LibTorch: {}", text.substr(0, text.find('\n')));
    if (failed_for_good(where)) throw DeviceError(line);
    throw InputError(line);
  }
}

std::vector<Number> numbers(std::span<const ValueId> values) {
  std::vector<Number> result;
  for (const ValueId value : values) result.push_back(value.index);
  return result;
}

}  // namespace

struct EagerPlan::Impl {
  Impl(const Graph& graph, const WeightSource& weights, torch::Device device);
  void add(const Graph& graph, NodeId node);
  void keep_constants(const Graph& graph, const WeightSource& weights,
                      std::span<const ValueId> values);
  void free_early(const Graph& graph);
  void set_inputs(std::span<const Tensor> given);
  void execute();

  torch::Device device;
  GraphInterface interface;
  std::vector<eager::Number> inputs, outputs;
  std::vector<eager::Step> steps;
  std::vector<at::Tensor> values;  ///< by number
  std::vector<at::Tensor> arguments;
  std::map<std::string, int> fallbacks;
};

EagerPlan::Impl::Impl(const Graph& graph, const WeightSource& weights, torch::Device d)
    : device(d), interface(graph), values(static_cast<size_t>(graph.value_capacity())) {
  const c10::InferenceMode no_gradients;
  std::vector<ValueId> results;
  for (const NodeId input : graph.inputs()) inputs.push_back(graph.output(input).index);
  for (const GraphOutput& output : graph.outputs()) results.push_back(output.value);
  outputs = numbers(results);
  for (const NodeId node : graph.topological_order(results)) {
    if (&graph.op(node) == &opaque_op())
      throw InputError("operator {} is opaque and cannot be run", graph.attributes(node).text("op"));
    if (!graph.is_work(node)) continue;
    keep_constants(graph, weights, graph.inputs(node));
    add(graph, node);
  }
  keep_constants(graph, weights, results);
  free_early(graph);
  for (const auto& [op, count] : fallbacks) say_fallback("eager", op);
}

void EagerPlan::Impl::keep_constants(const Graph& graph, const WeightSource& weights,
                                     std::span<const ValueId> used) {
  for (const ValueId value : used) {
    if (!value.valid() || !graph.is_constant(value)) continue;
    at::Tensor& held = values[static_cast<size_t>(value.index)];
    if (!held.defined()) held = eager::carried(fold(graph, value, weights), device);
  }
}

void EagerPlan::Impl::add(const Graph& graph, NodeId id) {
  const eager::Node node(graph, id, device);
  eager::Step step{.kernel = eager::find_kernel(node),
                 .reads = numbers(graph.inputs(id)),
                 .writes = numbers(graph.outputs(id)),
                 .frees = {}};
  if (!step.kernel) {
    step.kernel = eager::reference_kernel(node);
    ++fallbacks[node.op.name];
  }
  steps.push_back(std::move(step));
}

/// Finds the last step that has to do with each value.
void EagerPlan::Impl::free_early(const Graph& graph) {
  std::vector<bool> later(values.size(), false);
  for (const NodeId node : graph.nodes())
    if (!graph.is_work(node))
      for (const ValueId kept : graph.outputs(node)) later[static_cast<size_t>(kept.index)] = true;
  for (const Number kept : outputs) later[static_cast<size_t>(kept)] = true;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    for (const auto* used : {&step->reads, &step->writes})
      for (const Number value : *used) {
        if (value == kAbsent || later[static_cast<size_t>(value)]) continue;
        later[static_cast<size_t>(value)] = true;
        step->frees.push_back(value);
      }
}

void EagerPlan::Impl::set_inputs(std::span<const Tensor> given) {
  for (size_t i = 0; i < given.size(); ++i)
    values[static_cast<size_t>(inputs[i])] = eager::carried(given[i], device);
}

void EagerPlan::Impl::execute() {
  const c10::InferenceMode no_gradients;
  for (const eager::Step& step : steps) {
    arguments.clear();
    for (const Number read : step.reads)
      arguments.push_back(read == kAbsent ? at::Tensor() : values[static_cast<size_t>(read)]);
    std::vector<at::Tensor> results = step.kernel(arguments);
    arguments.clear();
    for (size_t i = 0; i < results.size(); ++i)
      values[static_cast<size_t>(step.writes[i])] = std::move(results[i]);
    for (const Number free : step.frees) values[static_cast<size_t>(free)].reset();
  }
}

EagerPlan::EagerPlan(const Graph& graph, const WeightSource& weights, torch::Device device) {
  refusing(device, [&] { impl_ = std::make_unique<Impl>(graph, weights, device); });
}
EagerPlan::~EagerPlan() = default;
EagerPlan::EagerPlan(EagerPlan&&) noexcept = default;
EagerPlan& EagerPlan::operator=(EagerPlan&&) noexcept = default;

std::vector<Tensor> EagerPlan::run(std::span<const Tensor> tensors) {
  Impl& plan = *impl_;
  plan.interface.check(tensors);
  std::vector<Tensor> results;
  refusing(plan.device, [&] {
    plan.set_inputs(tensors);
    plan.execute();
    for (size_t i = 0; i < plan.outputs.size(); ++i)
      results.push_back(eager::brought_back(plan.values[static_cast<size_t>(plan.outputs[i])],
                                            plan.interface.output_types[i]));
  });
  return results;
}

void EagerPlan::draw_inputs(Rng& rng) {
  std::vector<Tensor> drawn;
  for (const TensorType& type : impl_->interface.input_types) {
    Tensor tensor(type);
    std::fill(tensor.bytes().begin(), tensor.bytes().end(), std::byte{0});
    if (type.dtype == DType::kFloat32)
      for (float& value : tensor.data<float>()) value = static_cast<float>(rng.uniform(-1, 1));
    drawn.push_back(std::move(tensor));
  }
  refusing(impl_->device, [&] { impl_->set_inputs(drawn); });
}

void EagerPlan::execute() {
  refusing(impl_->device, [&] { impl_->execute(); });
}

void EagerPlan::wait() {
  if (!impl_->device.is_cuda()) return;
  refusing(impl_->device, [&] { torch::cuda::synchronize(impl_->device.index()); });
}

const std::map<std::string, int>& EagerPlan::fallbacks() const { return impl_->fallbacks; }

bool EagerExecutor::supports(const Graph& graph, NodeId node) const {
  const OpSchema& op = graph.op(node);
  if (&op == &input_op() || &op == &constant_op()) return true;
  return &op != &opaque_op() && eager::find_kernel(eager::Node(graph, node, device_));
}

std::vector<Tensor> EagerExecutor::run(const Graph& graph, std::span<const Tensor> inputs,
                                       const WeightSource& weights) {
  EagerPlan plan(graph, weights, device_);
  for (const auto& [op, count] : plan.fallbacks()) fallbacks_[op] += count;
  return plan.run(inputs);
}

}  // namespace reverie
