#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/cost/machine.h"
#include "core/ort/worker.h"

namespace reverie::ort {

/// Random inputs for a graph: what core/exec/draw.h draws for its inputs, in their own types.
/// InputError for inputs without numbers.
std::vector<NamedTensor> random_inputs(const Graph& graph, uint64_t seed = 1);

/// ONNX Runtime in a process of its own. A graph is run as export_onnx writes it, nodes that only
/// the runtime can run included; a run that the runtime refuses, a crash and a hang are
/// InputErrors, and the next graph gets a new process.
class OrtMachine : public Machine {
 public:
  explicit OrtMachine(SessionOptions options, std::filesystem::path folder = runtime_folder());

  std::string name() const override;
  MachineInfo info() override;
  std::string profile() const override { return "cpu"; }
  bool runs_files() const override { return true; }
  std::unique_ptr<ReadyGraph> ready(const Graph& graph, const WeightSource& weights) override;
  std::unique_ptr<ReadyGraph> ready_file(const std::filesystem::path& file,
                                         const Graph& graph) override;
  std::vector<NamedTensor> outputs_of_file(const std::filesystem::path& file,
                                           const Graph& graph) override;
  /// With the latency of a call to the runtime, and with its conversions of layouts.
  MedianInterval time_operator(const OpSignature& signature, const TimingOptions& options) override;

  /// What the model in a file computes.
  std::vector<NamedTensor> outputs(const std::filesystem::path& model,
                                   const std::vector<NamedTensor>& inputs);

 private:
  std::shared_ptr<Worker> worker();

  SessionOptions options_;
  std::filesystem::path folder_;
  std::shared_ptr<Worker> worker_;
};

/// "ort", "ort:<threads>" and "ort:off" (the runtime's own optimizer off), for register_machine.
MachineKind ort_machines();

/// Whether a runtime was found, so that machine "ort" can be asked for.
bool is_installed();

}  // namespace reverie::ort
