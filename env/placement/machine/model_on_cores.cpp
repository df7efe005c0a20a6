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

}  // namespace

struct ModelOnCores::Impl {
  Impl(CoreProgram p, CoreThreads& t)
      : program(std::move(p)),
        threads(t),
        cores(static_cast<size_t>(t.size())),
        made(program.tensor_types.size()),
        home(program.tensor_types.size(), 0) {}

  const NodeProgram& node(int number) const { return program.nodes[static_cast<size_t>(number)]; }
  void set_up(int core, std::span<const Tensor> inputs, const WeightSource& weights);
  void run_node(Core& core, int number) const;
  void fetch(int core, int tensor);
  void publish(int number);
  void run_queue(int core, const std::vector<int>& queue);
  void place(const OrderByDevice& order);

  CoreProgram program;
  CoreThreads& threads;
  std::vector<Core> cores;
  std::vector<Made> made;  ///< by tensor
  std::vector<int> home;   ///< by tensor: the core that makes it
  uint64_t run = 0;        ///< number of the present one; changes while all cores meet
};

void ModelOnCores::Impl::set_up(int number, std::span<const Tensor> inputs,
                                const WeightSource& weights) {
  Core& core = cores[static_cast<size_t>(number)];
  core.tensors.resize(program.tensor_types.size());
  core.copied.assign(program.tensor_types.size(), 0);
  core.plans.resize(program.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const int tensor = program.inputs[i]; tensor >= 0)
      core.tensors[static_cast<size_t>(tensor)] = inputs[i].clone();
  for (size_t i = 0; i < program.nodes.size(); ++i)
    if (!program.nodes[i].graph.outputs().empty())
      with_context(program.nodes[i].name, [&] {
        core.plans[i].emplace(program.nodes[i].graph, weights, CpuOptions{.threads = 1});
      });
}

void ModelOnCores::Impl::run_node(Core& core, int number) const {
  std::optional<CpuPlan>& plan = core.plans[static_cast<size_t>(number)];
  if (!plan) return;
  std::vector<Tensor> inputs;
  for (const NodeProgram::View& view : node(number).inputs)
    inputs.push_back(core.tensors[static_cast<size_t>(view.tensor)].reshaped(view.shape));
  auto place = static_cast<size_t>(node(number).first_output);
  for (Tensor& output : plan->run(inputs)) core.tensors[place++] = std::move(output);
}

void ModelOnCores::Impl::fetch(int number, int tensor) {
  const auto place = static_cast<size_t>(tensor);
  Core& core = cores[static_cast<size_t>(number)];
  const int from = home[place];
  if (from == number || core.copied[place] == run) return;
  threads.wait_until([&] { return made[place].run.load(std::memory_order_acquire) == run; });
  const Tensor& source = cores[static_cast<size_t>(from)].tensors[place];
  Tensor& copy = core.tensors[place];
  if (!copy.type().known()) copy = Tensor(program.tensor_types[place]);
  std::ranges::copy(source.bytes(), copy.bytes().begin());
  core.copied[place] = run;
}

void ModelOnCores::Impl::publish(int number) {
  const auto [first, last] = program.graph.outputs(number);
  for (int tensor = first; tensor < last; ++tensor)
    made[static_cast<size_t>(tensor)].run.store(run, std::memory_order_release);
}

void ModelOnCores::Impl::run_queue(int core, const std::vector<int>& queue) {
  for (const int number : queue) {
    for (const NodeProgram::View& view : node(number).inputs) fetch(core, view.tensor);
    run_node(cores[static_cast<size_t>(core)], number);
    publish(number);
  }
}

void ModelOnCores::Impl::place(const OrderByDevice& order) {
  REVERIE_CHECK_EQ(order.size(), cores.size());
  for (size_t core = 0; core < order.size(); ++core)
    for (const int number : order[core]) {
      const auto [first, last] = program.graph.outputs(number);
      std::fill(home.begin() + first, home.begin() + last, static_cast<int>(core));
    }
}

ModelOnCores::ModelOnCores(const Graph& model, const std::string& name,
                           std::span<const Tensor> inputs, CoreThreads& threads,
                           const WeightSource& weights)
    : impl_(std::make_unique<Impl>(core_program(model, name), threads)) {
  GraphInterface(model).check(inputs);
  // oneDNN keeps working memory for the thread that makes a kernel.
  threads.run([&](int core) { impl_->set_up(core, inputs, weights); });
}

ModelOnCores::~ModelOnCores() {
  impl_->threads.run([&](int core) { impl_->cores[static_cast<size_t>(core)].plans.clear(); });
}

const CostGraph& ModelOnCores::graph() const { return impl_->program.graph; }

std::vector<Picoseconds> ModelOnCores::node_times(int rounds, Others others) {
  const size_t nodes = impl_->program.nodes.size();
  const int workers = others == Others::kBusy ? impl_->threads.size() : 1;
  std::vector<std::vector<double>> samples(nodes * static_cast<size_t>(workers));
  impl_->threads.run([&](int number) {
    if (number >= workers) return;
    Core& core = impl_->cores[static_cast<size_t>(number)];
    for (int round = -1; round < rounds; ++round) {  // the first is not counted
      rest();
      if (others == Others::kBusy) impl_->threads.meet();
      for (const int node : impl_->program.graph.order()) {
        const Stopwatch watch;
        impl_->run_node(core, node);
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
    const bool is_work = impl_->cores[0].plans[node].has_value();
    times.push_back(is_work ? Picoseconds::from_seconds(median(all)) : Picoseconds{});
  }
  return times;
}

placement::RunTime ModelOnCores::run(const OrderByDevice& order) {
  impl_->place(order);
  std::vector<double> ends(impl_->cores.size()), lost(impl_->cores.size());
  Stopwatch watch;
  impl_->threads.run([&](int core) {
    rest();
    impl_->threads.meet([&] {
      ++impl_->run;
      watch = {};
    });
    const double own = thread_seconds();
    impl_->run_queue(core, order[static_cast<size_t>(core)]);
    ends[static_cast<size_t>(core)] = watch.seconds();
    lost[static_cast<size_t>(core)] = ends[static_cast<size_t>(core)] - (thread_seconds() - own);
  });
  return {.makespan = std::ranges::max(ends), .lost = std::max(0.0, std::ranges::max(lost))};
}

std::vector<Tensor> ModelOnCores::outputs() const {
  REVERIE_CHECK(impl_->run > 0);
  std::vector<Tensor> outputs;
  for (const NodeProgram::View& view : impl_->program.outputs) {
    const auto place = static_cast<size_t>(view.tensor);
    const Core& core = impl_->cores[static_cast<size_t>(impl_->home[place])];
    outputs.push_back(core.tensors[place].reshaped(view.shape).clone());
  }
  return outputs;
}

}  // namespace reverie
