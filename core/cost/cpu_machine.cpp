#include <fmt/format.h>

#include <algorithm>

#include "core/base/processor.h"
#include "core/base/words.h"
#include "core/cost/machine.h"
#include "core/cost/single_operator.h"
#include "core/cost/work.h"
#include "core/exec/cpu/cpu_executor.h"

namespace reverie {
namespace {

class CpuGraph : public ReadyGraph {
 public:
  CpuGraph(const Graph& graph, const WeightSource& weights, int threads)
      : plan_(graph, weights, CpuOptions{.threads = threads}) {
    Rng rng(1);
    plan_.draw_inputs(rng);
  }

  double seconds_of_run() override {
    return std::max(time_once([&] { plan_.execute(); }), 1e-9);
  }
  std::vector<Tensor> run(std::span<const Tensor> inputs) override { return plan_.run(inputs); }
  int fallbacks() const override {
    int total = 0;
    for (const auto& [op, count] : plan_.fallbacks()) total += count;
    return total;
  }

 private:
  CpuPlan plan_;
};

class Cpu : public Machine {
 public:
  explicit Cpu(int threads) : threads_(threads) {}

  std::string name() const override {
    const int threads = cpu_threads(threads_);
    return threads == 1 ? "cpu" : fmt::format("cpu:{}", threads);
  }
  MachineInfo info() override {
    return {.device = fmt::format("{}, {}", cpu_model(), counted(cpu_threads(threads_), "thread")),
            .library = cpu_library(),
            .driver = {}};
  }
  std::string profile() const override { return profile_of_machine(name()); }
  std::unique_ptr<ReadyGraph> ready(const Graph& graph, const WeightSource& weights) override {
    return std::make_unique<CpuGraph>(graph, weights, threads_);
  }
  MedianInterval time_operator(const OpSignature& signature,
                               const TimingOptions& options) override {
    CpuPlan plan(single_operator(in_single_precision(signature)), materialized,
                 {.threads = threads_, .free_layouts = true});
    Rng rng(signature.hash());
    plan.draw_inputs(rng);
    return time_repeatedly([&] { plan.execute(); }, options);
  }

 private:
  int threads_;
};

}  // namespace

std::shared_ptr<Machine> cpu_machine(int threads) { return std::make_shared<Cpu>(threads); }

bool cpu_has_kernel(const OpSchema& op) { return CpuExecutor::has_kernel(op); }

}  // namespace reverie
