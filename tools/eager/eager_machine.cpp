#include "tools/eager/eager_machine.h"

#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/processor.h"
#include "core/cost/single_operator.h"
#include "core/exec/cuda/cuda_device.h"
#include "tools/eager/eager_executor.h"

namespace reverie {
namespace {

/// LibTorch's number of threads, while it lives.
class EagerThreads {
 public:
  explicit EagerThreads(int threads) : before_(at::get_num_threads()) { set(threads); }
  ~EagerThreads() { set(before_); }
  EagerThreads(const EagerThreads&) = delete;
  EagerThreads& operator=(const EagerThreads&) = delete;

 private:
  static void set(int threads) {
    if (threads != at::get_num_threads()) at::set_num_threads(threads);
  }
  int before_;
};

struct EagerSetting {
  torch::Device device;
  int threads;
};

/// Of so many runs one after another.
double seconds_of(EagerPlan& plan, int runs) {
  plan.wait();
  const double seconds = time_once([&] {
    for (int i = 0; i < runs; ++i) plan.execute();
    plan.wait();
  });
  return std::max(seconds, 1e-9);
}

/// Run once, so that what LibTorch sets up at an operator's first call is there.
EagerPlan ready_eagerly(const Graph& graph, const WeightSource& weights, uint64_t seed,
                        const EagerSetting& setting) {
  EagerPlan plan(graph, weights, setting.device);
  Rng rng(seed);
  plan.draw_inputs(rng);
  plan.execute();
  plan.wait();
  return plan;
}

class EagerGraph : public ReadyGraph {
 public:
  EagerGraph(const Graph& graph, const WeightSource& weights, EagerSetting setting)
      : setting_(setting), plan_(ready_eagerly(graph, weights, 1, setting)) {}

  double seconds_of_run() override {
    const EagerThreads threads(setting_.threads);
    return seconds_of(plan_, 1);
  }
  int fallbacks() const override {
    int total = 0;
    for (const auto& [op, count] : plan_.fallbacks()) total += count;
    return total;
  }

 private:
  EagerSetting setting_;
  EagerPlan plan_;
};

/// LibTorch's names need CUDA's headers; the module for GPUs knows them where it is built.
void name_gpu(MachineInfo& info) {
  info.device = "first CUDA device";
  try {
    const device::DeviceInfo known = device::open_cuda({})->info();
    info.device = known.name;
    info.driver = known.driver;
  } catch (const InputError&) {
  }
}

class EagerMachine : public Machine {
 public:
  explicit EagerMachine(EagerSetting setting) : setting_(setting) {}

  std::string name() const override {
    if (setting_.device.is_cuda()) return "eager:cuda";
    return setting_.threads == 1 ? "eager" : fmt::format("eager:{}", setting_.threads);
  }
  MachineInfo info() override {
    MachineInfo info{.device = fmt::format("{}, {} threads", cpu_model(), setting_.threads),
                     .library = "LibTorch " TORCH_VERSION,
                     .driver = {}};
    if (setting_.device.is_cuda()) name_gpu(info);
    return info;
  }
  std::string profile() const override { return profile_of_machine(name()); }
  std::unique_ptr<ReadyGraph> ready(const Graph& graph, const WeightSource& weights) override {
    const EagerThreads threads(setting_.threads);
    return std::make_unique<EagerGraph>(graph, weights, setting_);
  }
  MedianInterval time_operator(const OpSignature& signature, const TimingOptions& options) override {
    const EagerThreads threads(setting_.threads);
    EagerPlan plan =
        ready_eagerly(single_operator(signature), materialized, signature.hash(), setting_);
    if (!plan.fallbacks().empty())
      throw InputError("{} has no operator for {}", name(), signature.text());
    if (setting_.device.is_cpu()) return time_repeatedly([&] { plan.execute(); }, options);
    constexpr int kRuns = 16;  // as inside of a graph, the host is ahead of the device
    return time_samples([&] { return seconds_of(plan, kRuns) / kRuns; }, kRuns, options);
  }

 private:
  EagerSetting setting_;
};

EagerSetting setting_named(const MachineKind::Argument& argument) {
  if (argument != "cuda") return {torch::kCPU, argument ? threads_named(*argument) : 1};
  if (!torch::cuda::is_available())
    throw InputError("LibTorch {} has no CUDA device here", TORCH_VERSION);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  return {torch::Device(torch::kCUDA, 0), at::get_num_threads()};
}

}  // namespace

MachineKind eager_machines() {
  using Argument = MachineKind::Argument;
  return {.names = {"eager", "eager:<threads>", "eager:cuda"},
          .make = [](const Argument& argument) -> std::shared_ptr<Machine> {
            return std::make_shared<EagerMachine>(setting_named(argument));
          },
          .profile = [](const Argument& argument) {
            return profile_of_machine(argument == "cuda" ? "cuda" : "cpu");
          }};
}

}  // namespace reverie
