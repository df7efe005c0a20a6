#include "tools/run/run_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/machine.h"
#include "core/onnx/import.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/search/search.h"

using reverie::Graph;
using reverie::Machine;
using reverie::ReadyGraph;
using reverie::Tensor;
using reverie::TensorType;

struct reverie_model {
  reverie_model(const Graph& graph, std::shared_ptr<Machine> on);

  reverie_tensor described(const std::string& name, const TensorType& type);

  std::shared_ptr<Machine> machine;
  std::unique_ptr<ReadyGraph> ready;
  std::vector<TensorType> input_types;
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> shapes;
  std::vector<reverie_tensor> inputs, outputs;
  std::string machine_text;
  int32_t nodes = 0;
};

reverie_model::reverie_model(const Graph& graph, std::shared_ptr<Machine> on)
    : machine(std::move(on)), ready(machine->ready(graph)) {
  for (const reverie::NodeId input : graph.inputs()) {
    input_types.push_back(graph.type(graph.output(input)));
    inputs.push_back(described(graph.input_name(input), input_types.back()));
  }
  for (const reverie::GraphOutput& output : graph.outputs())
    outputs.push_back(described(output.name, graph.type(output.value)));
  for (const reverie::NodeId node : graph.nodes()) nodes += graph.is_work(node) ? 1 : 0;
  const reverie::MachineInfo info = machine->info();
  machine_text = fmt::format("{}; {}{}{}", info.device, info.library,
                             info.driver.empty() ? "" : "; driver ", info.driver);
}

reverie_tensor reverie_model::described(const std::string& name, const TensorType& type) {
  const char* const kept = texts.emplace_back(name).c_str();
  const char* const dtype = texts.emplace_back(reverie::name_of(type.dtype)).c_str();
  return {kept, dtype, type.rank(), shapes.emplace_back(type.shape).data()};
}

namespace {

thread_local std::string last_error;

/// What `body` returns, or `failed` where it throws.
template <typename Result, typename Body>
Result unless_thrown(Result failed, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return failed;
  }
}

std::shared_ptr<Machine> shared_machine(const std::string& name) {
  static std::map<std::string, std::weak_ptr<Machine>> machines;
  std::shared_ptr<Machine> machine = machines[name].lock();
  if (machine == nullptr) machines[name] = machine = reverie::make_machine(name);
  return machine;
}

/// With what no file can hold, where that gains.
Graph fused(const Graph& graph, const char* costs) {
  if (costs == nullptr) return graph;
  constexpr double kSeconds = 10;
  auto fusions =
      std::make_shared<const reverie::RuleSet>(reverie::fusions_among(reverie::RuleSet::builtin()));
  const std::shared_ptr<reverie::CostModel> by = reverie::make_cost_model(costs, kSeconds);
  return reverie::search_rewrites({graph, fusions, by}, {}, reverie::search::Greedy()).best;
}

const reverie_tensor* at(const std::vector<reverie_tensor>& tensors, int32_t index) {
  const bool is_there = index >= 0 && index < static_cast<int32_t>(tensors.size());
  return is_there ? &tensors[static_cast<size_t>(index)] : nullptr;
}

std::vector<Tensor> read(const std::vector<TensorType>& types, const void* const* from) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < types.size(); ++i) {
    Tensor& tensor = tensors.emplace_back(types[i]);
    const auto* const bytes = static_cast<const std::byte*>(from[i]);
    std::copy_n(bytes, tensor.bytes().size(), tensor.bytes().begin());
  }
  return tensors;
}

void write(const std::vector<Tensor>& tensors, void* const* to) {
  for (size_t i = 0; i < tensors.size(); ++i)
    std::ranges::copy(tensors[i].bytes(), static_cast<std::byte*>(to[i]));
}

}  // namespace

const char* reverie_error(void) { return last_error.c_str(); }

reverie_model* reverie_open(const char* file, const char* machine, const char* costs) {
  return unless_thrown<reverie_model*>(nullptr, [&] {
    const reverie::ImportedModel model = reverie::import_onnx(file);
    return new reverie_model(fused(model.graph, costs), shared_machine(machine));
  });
}

void reverie_close(reverie_model* model) { delete model; }

const reverie_tensor* reverie_input(const reverie_model* model, int32_t index) {
  return at(model->inputs, index);
}

const reverie_tensor* reverie_output(const reverie_model* model, int32_t index) {
  return at(model->outputs, index);
}

const char* reverie_machine(const reverie_model* model) { return model->machine_text.c_str(); }

int32_t reverie_nodes(const reverie_model* model) { return model->nodes; }

int32_t reverie_fallbacks(const reverie_model* model) { return model->ready->fallbacks(); }

int32_t reverie_run(reverie_model* model, const void* const* inputs, void* const* outputs) {
  return unless_thrown<int32_t>(-1, [&] {
    write(model->ready->run(read(model->input_types, inputs)), outputs);
    return 0;
  });
}

double reverie_seconds(reverie_model* model) {
  return unless_thrown(-1.0, [&] { return model->ready->seconds_of_run(); });
}
