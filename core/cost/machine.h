#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/statistics.h"
#include "core/cost/cost_model.h"
#include "core/cost/timing.h"
#include "core/exec/device/device.h"
#include "core/exec/executor.h"

namespace reverie {

/// A tensor by the name that a model's input or output has.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// What measures, as cost tables and fitted costs name it.
struct MachineInfo {
  std::string device;   ///< "AMD EPYC, 1 threads", "NVIDIA H200, fp32"
  std::string library;  ///< "oneDNN 2.6.3, avx512_core"
  std::string driver;   ///< of a device; empty for processors
};

/// A graph made ready to run again and again, on made-up inputs.
class ReadyGraph {
 public:
  virtual ~ReadyGraph() = default;
  /// Above 0. Inputs and outputs stay where they are.
  virtual double seconds_of_run() = 0;
  /// Outputs on these inputs, as Executor::run; later runs are on them too. InternalError where a
  /// machine runs on made-up ones alone.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// Nodes that run on the reference kernels.
  virtual int fallbacks() const = 0;
};

/// Hardware that runs graphs and is timed. Not for use by several threads at once.
class Machine {
 public:
  virtual ~Machine() = default;
  /// As a source of costs is named: "cpu", "cpu:4", "cuda", "cuda:fp16".
  virtual std::string name() const = 0;
  virtual MachineInfo info() = 0;
  /// Now; 0 where unknown.
  virtual int clock_mhz() { return 0; }
  /// The roofline device whose estimates stand in for what was not measured.
  virtual std::string profile() const = 0;
  /// Whether it runs models as files, whatever nodes they hold; then ready_file may be called.
  virtual bool runs_files() const { return false; }
  /// Whether what it loses by rounding is to be told beside its times.
  virtual bool tells_rounding() const { return false; }
  /// Whether what it runs is fused(graph) (core/exec/device/fuse.h).
  virtual bool fuses() const { return false; }
  /// InputError where the graph cannot be run.
  virtual std::unique_ptr<ReadyGraph> ready(const Graph& graph,
                                            const WeightSource& weights = materialized) = 0;
  /// The model in `file` as it stands there, on made-up inputs; `graph` is what it holds.
  /// InputError where it cannot be run.
  virtual std::unique_ptr<ReadyGraph> ready_file(const std::filesystem::path& file,
                                                 const Graph& graph);
  /// What that model computes on random inputs, which depend on `graph` alone, in the order of its
  /// outputs.
  virtual std::vector<NamedTensor> outputs_of_file(const std::filesystem::path& file,
                                                   const Graph& graph);
  /// Seconds of one run of an operator as inside of a larger graph: weights laid out ahead, and no
  /// conversion of layouts counted. InputError where it cannot be run on made-up inputs, or not by
  /// a kernel of this machine.
  virtual MedianInterval time_operator(const OpSignature& signature,
                                       const TimingOptions& options) = 0;
};

/// This machine's processor with so many threads (0: one per core). InputError without oneDNN.
std::shared_ptr<Machine> cpu_machine(int threads = 1);
/// CpuExecutor::has_kernel; nothing without oneDNN.
bool cpu_has_kernel(const OpSchema& op);

/// A device under the name of its kind ("cuda"; with its precision where that is not fp32), as
/// `profile`. Operators are timed in a recording that runs them once on each of several copies of
/// all their memory, as many as exceed twice the device's cache, kMostCopies at most. Memory of
/// twice the cache is written just before, so that nothing of the copies is in it (but what another
/// operator wrote, to be written back), and that the device is busy until the host has queued the
/// recording: its latency is not in the time. Graphs are timed as one recording right behind
/// another run of it; where nodes run on the host launch by launch, and then what these take and
/// all transfers are in the time.
std::shared_ptr<Machine> device_machine(const std::string& kind, const std::string& profile,
                                        std::shared_ptr<device::Device> device);
inline constexpr int kMostCopies = 64;

/// What makes the machines whose names begin alike.
struct MachineKind {
  /// As a person reads the names: "cpu" and "cpu:<threads>". What stands before the colon is the
  /// same in all, and no other kind's.
  std::vector<std::string> names;
  /// What follows the colon; nothing where there is none. InputError where there is no such
  /// machine.
  using Argument = std::optional<std::string>;
  std::function<std::shared_ptr<Machine>(const Argument& argument)> make;
  /// Machine::profile, whether or not that machine is there.
  std::function<std::string(const Argument& argument)> profile;
  bool runs_files = false;  ///< Machine::runs_files of them all
  bool fuses = false;       ///< Machine::fuses of them all
};
/// Makes a kind known beside cpu and cuda, to all that take a machine's or a source's name. For
/// machines on libraries that core does without; called at the start of the program, before there
/// are other threads.
void register_machine(MachineKind kind);
/// Names of all machines as a sentence says them: "cpu, cpu:<threads>, cuda or cuda:<precision>".
std::string known_machines();
/// A machine's argument that is a number of threads, at least 1. InputError where it is not.
int threads_named(const std::string& argument);

/// By name: "cpu", "cpu:<threads>", "cuda", or "cuda:<precision>" with tf32, fp16 or bf16, or what
/// was registered. InputError for others, and where there is no such device.
std::shared_ptr<Machine> make_machine(const std::string& name);
/// Machine::profile of the machine of that name, which need not be there. InputError where the name
/// is of no kind.
std::string profile_of_machine(const std::string& name);
/// Machine::runs_files of the machine of that name, which need not be there. InputError likewise.
bool machine_runs_files(const std::string& name);
/// Machine::fuses of the machine of that name, which need not be there. InputError likewise.
bool machine_fuses(const std::string& name);
/// Whether costs from this source are measured on a machine of that name.
bool is_machine(const std::string& cost_source);
/// The machine that measures whole graphs beside costs from `cost_source`: that of this name, or
/// where it is empty the one that measures the costs, or else the processor.
std::shared_ptr<Machine> machine_beside(const std::string& name, const std::string& cost_source);
std::string machine_name_beside(const std::string& name, const std::string& cost_source);

}  // namespace reverie
