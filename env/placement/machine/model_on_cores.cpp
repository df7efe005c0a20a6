#include "env/placement/machine/model_on_cores.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/stopwatch.h"
#include "core/exec/cpu/cpu_executor.h"
#include "core/exec/graph_interface.h"

namespace reverie {
namespace {

/// What one core holds.
struct Core {
  std::vector<std::optional<CpuPlan>> plans;  ///< by node; nothing for an "Input"
  std::vector<Tensor> tensors;                ///< by tensor
  std::vector<uint64_t> copied;               ///< by tensor: the run in which it came from another
};

/// The run in which a tensor was made last, on a line of the cache of its own.
struct alignas(64) Made {
  std::atomic<uint64_t> run = 0;
};

/// Other processes have their turn before a run, and not in it.
void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

/// That this thread has run.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class ModelOnCores : public ModelOnDevices {
 public:
  ModelOnCores(const Graph& model, const std::string& name, std::span<const Tensor> inputs,
               CoreThreads& threads, const WeightSource& weights)
      : program_(core_program(model, name)),
        threads_(threads),
        cores_(static_cast<size_t>(threads.size())),
        made_(program_.tensor_types.size()),
        home_(program_.tensor_types.size(), 0) {
    GraphInterface(model).check(inputs);
    // oneDNN keeps working memory for the thread that makes a kernel.
    threads_.run([&](int core) { set_up(core, inputs, weights); });
  }
  ~ModelOnCores() override {
    threads_.run([&](int core) { cores_[static_cast<size_t>(core)].plans.clear(); });
  }

  const CostGraph& graph() const override { return program_.graph; }
  std::vector<Picoseconds> node_times(int rounds, Others others) override;
  placement::RunTime run(const OrderByDevice& order) override;
  std::vector<Tensor> outputs() const override;

 private:
  const NodeProgram& node(int number) const { return program_.nodes[static_cast<size_t>(number)]; }
  void set_up(int core, std::span<const Tensor> inputs, const WeightSource& weights);
  void run_node(Core& core, int number) const;
  void fetch(int core, int tensor);
  void publish(int number);
  void run_queue(int core, const std::vector<int>& queue);
  void place(const OrderByDevice& order);

  CoreProgram program_;
  CoreThreads& threads_;
  std::vector<Core> cores_;
  std::vector<Made> made_;  ///< by tensor
  std::vector<int> home_;   ///< by tensor: the core that makes it
  uint64_t run_ = 0;        ///< number of the present one; changes while all cores meet
};

void ModelOnCores::set_up(int number, std::span<const Tensor> inputs, const WeightSource& weights) {
  Core& core = cores_[static_cast<size_t>(number)];
  core.tensors.resize(program_.tensor_types.size());
  core.copied.assign(program_.tensor_types.size(), 0);
  core.plans.resize(program_.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const int tensor = program_.inputs[i]; tensor >= 0)
      core.tensors[static_cast<size_t>(tensor)] = inputs[i].clone();
  for (size_t i = 0; i < program_.nodes.size(); ++i)
    if (!program_.nodes[i].graph.outputs().empty())
      with_context(program_.nodes[i].name, [&] {
        core.plans[i].emplace(program_.nodes[i].graph, weights, CpuOptions{.threads = 1});
      });
}

void ModelOnCores::run_node(Core& core, int number) const {
  std::optional<CpuPlan>& plan = core.plans[static_cast<size_t>(number)];
  if (!plan) return;
  std::vector<Tensor> inputs;
  for (const NodeProgram::View& view : node(number).inputs)
    inputs.push_back(core.tensors[static_cast<size_t>(view.tensor)].reshaped(view.shape));
  auto place = static_cast<size_t>(node(number).first_output);
  for (Tensor& output : plan->run(inputs)) core.tensors[place++] = std::move(output);
}

void ModelOnCores::fetch(int number, int tensor) {
  const auto place = static_cast<size_t>(tensor);
  Core& core = cores_[static_cast<size_t>(number)];
  const int from = home_[place];
  if (from == number || core.copied[place] == run_) return;
  threads_.wait_until([&] { return made_[place].run.load(std::memory_order_acquire) == run_; });
  const Tensor& source = cores_[static_cast<size_t>(from)].tensors[place];
  Tensor& copy = core.tensors[place];
  if (!copy.type().known()) copy = Tensor(program_.tensor_types[place]);
  std::ranges::copy(source.bytes(), copy.bytes().begin());
  core.copied[place] = run_;
}

void ModelOnCores::publish(int number) {
  const auto [first, last] = program_.graph.outputs(number);
  for (int tensor = first; tensor < last; ++tensor)
    made_[static_cast<size_t>(tensor)].run.store(run_, std::memory_order_release);
}

void ModelOnCores::run_queue(int core, const std::vector<int>& queue) {
  for (const int number : queue) {
    for (const NodeProgram::View& view : node(number).inputs) fetch(core, view.tensor);
    run_node(cores_[static_cast<size_t>(core)], number);
    publish(number);
  }
}

void ModelOnCores::place(const OrderByDevice& order) {
  REVERIE_CHECK_EQ(order.size(), cores_.size());
  for (size_t core = 0; core < order.size(); ++core)
    for (const int number : order[core]) {
      const auto [first, last] = program_.graph.outputs(number);
      std::fill(home_.begin() + first, home_.begin() + last, static_cast<int>(core));
    }
}

std::vector<Picoseconds> ModelOnCores::node_times(int rounds, Others others) {
  const size_t nodes = program_.nodes.size();
  const int workers = others == Others::kBusy ? threads_.size() : 1;
  std::vector<std::vector<double>> samples(nodes * static_cast<size_t>(workers));
  threads_.run([&](int number) {
    if (number >= workers) return;
    Core& core = cores_[static_cast<size_t>(number)];
    for (int round = -1; round < rounds; ++round) {  // the first is not counted
      rest();
      if (others == Others::kBusy) threads_.meet();
      for (const int node : program_.graph.order()) {
        const Stopwatch watch;
        run_node(core, node);
        if (round >= 0)
          samples[static_cast<size_t>(number) * nodes + static_cast<size_t>(node)].push_back(
              watch.seconds());
      }
    }
  });
  std::vector<Picoseconds> times;
  for (size_t node = 0; node < nodes; ++node) {
    std::vector<double> all;
    for (size_t core = 0; core < static_cast<size_t>(workers); ++core)
      all.insert(all.end(), samples[core * nodes + node].begin(),
                 samples[core * nodes + node].end());
    const bool is_work = cores_[0].plans[node].has_value();
    times.push_back(is_work ? Picoseconds::from_seconds(median(all)) : Picoseconds{});
  }
  return times;
}

placement::RunTime ModelOnCores::run(const OrderByDevice& order) {
  place(order);
  std::vector<double> ends(cores_.size()), lost(cores_.size());
  Stopwatch watch;
  threads_.run([&](int core) {
    rest();
    threads_.meet([&] {
      ++run_;
      watch = {};
    });
    const double own = thread_seconds();
    run_queue(core, order[static_cast<size_t>(core)]);
    ends[static_cast<size_t>(core)] = watch.seconds();
    lost[static_cast<size_t>(core)] = ends[static_cast<size_t>(core)] - (thread_seconds() - own);
  });
  return {.makespan = std::ranges::max(ends), .lost = std::max(0.0, std::ranges::max(lost))};
}

std::vector<Tensor> ModelOnCores::outputs() const {
  REVERIE_CHECK(run_ > 0);
  std::vector<Tensor> outputs;
  for (const NodeProgram::View& view : program_.outputs) {
    const auto place = static_cast<size_t>(view.tensor);
    const Core& core = cores_[static_cast<size_t>(home_[place])];
    outputs.push_back(core.tensors[place].reshaped(view.shape).clone());
  }
  return outputs;
}

}  // namespace

std::unique_ptr<ModelOnDevices> model_on_cores(const Graph& model, const std::string& name,
                                               std::span<const Tensor> inputs, CoreThreads& threads,
                                               const WeightSource& weights) {
  return std::make_unique<ModelOnCores>(model, name, inputs, threads, weights);
}

}  // namespace reverie
