#include "core/ort/ort_machine.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/processor.h"
#include "core/base/random.h"
#include "core/base/scratch_folder.h"
#include "core/base/words.h"
#include "core/cost/single_operator.h"
#include "core/exec/draw.h"
#include "core/onnx/export.h"

namespace reverie::ort {
namespace {

constexpr char kOff[] = "off";

class OrtGraph : public ReadyGraph {
 public:
  OrtGraph(std::shared_ptr<Worker> worker, const std::filesystem::path& model,
           const std::vector<NamedTensor>& inputs, const SessionOptions& options)
      : session_(std::move(worker), model, inputs, options) {}

  double seconds_of_run() override { return std::max(session_.run(), 1e-9); }
  int fallbacks() const override { return 0; }

 private:
  Session session_;
};

/// With the weights that `weights` gives.
Graph with_weights(const Graph& graph, const WeightSource& weights) {
  using Function = Tensor (*)(const Weight&);
  const Function* plain = weights.target<Function>();
  if (plain != nullptr && *plain == &materialized) return graph;
  Graph result = graph;
  for (const NodeId node : graph.nodes())
    if (const WeightPtr& weight = graph.weight(node)) {
      const ValueId changed = result.add_constant(Weight::dense(weights(*weight), weight->name()));
      result.replace_all_uses(result.output(node), changed);
    }
  result.erase_dead();
  return result.compacted();
}

SessionOptions options_named(const MachineKind::Argument& argument) {
  if (!argument) return {};
  if (*argument == kOff) return {.threads = 1, .optimize = false};
  return {.threads = threads_named(*argument)};
}

}  // namespace

std::vector<NamedTensor> random_inputs(const Graph& graph, uint64_t seed) {
  const Graph* const graphs[] = {&graph};
  const DrawPlan plan(graphs);
  std::vector<NamedTensor> inputs;
  for (const NodeId input : graph.inputs()) {
    const std::string& name = graph.input_name(input);
    const TensorType& type = graph.type(graph.output(input));
    with_context(fmt::format("input '{}'", name), [&] {
      const Rng rng = Rng(seed).fork(hash_string(name));
      inputs.push_back({name, draw(type, plan.input(name), rng).cast(type.dtype)});
    });
  }
  return inputs;
}

OrtMachine::OrtMachine(SessionOptions options, std::filesystem::path folder)
    : options_(options), folder_(std::move(folder)) {}

std::string OrtMachine::name() const {
  if (!options_.optimize) return fmt::format("ort:{}", kOff);
  return options_.threads == 1 ? "ort" : fmt::format("ort:{}", options_.threads);
}

MachineInfo OrtMachine::info() {
  return {.device = fmt::format("{}, {}", cpu_model(), counted(options_.threads, "thread")),
          .library = fmt::format("onnxruntime {}, its optimizer {}", worker()->version(),
                                 options_.optimize ? "on" : kOff),
          .driver = {}};
}

std::unique_ptr<ReadyGraph> OrtMachine::ready(const Graph& graph, const WeightSource& weights) {
  const ScratchFolder scratch;
  const std::filesystem::path model = scratch.path() / "model.onnx";
  export_onnx(with_weights(graph, weights), info_for(graph), model);
  return ready_file(model, graph);
}

MedianInterval OrtMachine::time_operator(const OpSignature& signature,
                                         const TimingOptions& options) {
  const auto ready_operator = ready(single_operator(signature), materialized);
  return time_samples([&] { return ready_operator->seconds_of_run(); }, 1, options);
}

std::unique_ptr<ReadyGraph> OrtMachine::ready_file(const std::filesystem::path& file,
                                                   const Graph& graph) {
  return std::make_unique<OrtGraph>(worker(), file, random_inputs(graph), options_);
}

std::vector<NamedTensor> OrtMachine::outputs_of_file(const std::filesystem::path& file,
                                                     const Graph& graph) {
  return outputs(file, random_inputs(graph));
}

std::vector<NamedTensor> OrtMachine::outputs(const std::filesystem::path& model,
                                             const std::vector<NamedTensor>& inputs) {
  return Session(worker(), model, inputs, options_).outputs();
}

std::shared_ptr<Worker> OrtMachine::worker() {
  if (worker_ == nullptr || !worker_->alive()) worker_ = std::make_shared<Worker>(folder_);
  return worker_;
}

MachineKind ort_machines() {
  return {.names = {"ort", "ort:<threads>", "ort:off"},
          .make =
              [](const MachineKind::Argument& argument) {
                auto machine = std::make_shared<OrtMachine>(options_named(argument));
                machine->info();  // refused here where nothing can run on it
                return machine;
              },
          .profile =
              [](const MachineKind::Argument& argument) {
                options_named(argument);
                return std::string("cpu");
              },
          .runs_files = true};
}

bool is_installed() { return !runtime_folder().empty(); }

}  // namespace reverie::ort
