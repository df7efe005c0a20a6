#include "env/placement/machine/model_on_streams.h"

#include <functional>
#include <numeric>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/exec/device/device_nodes.h"
#include "env/placement/graph/cost_graph_builder.h"
#include "env/placement/graph/model_nodes.h"
#include "env/placement/machine/stream_recording.h"
#include "env/placement/machine/stream_steps.h"

namespace reverie {
namespace {

using device::DeviceMemory;

struct StreamGraph {
  CostGraph graph;
  std::vector<NodeId> nodes;  ///< by node of the graph; none for an "Input"
};

StreamGraph stream_graph(const Graph& model, const std::string& name) {
  CostGraphBuilder builder({"h200"});
  const ModelNodes nodes(model, builder);
  const CostGraph graph = with_context(name, [&] { return builder.finish(name); });
  const auto size = static_cast<size_t>(graph.size());
  StreamGraph made{
      with_costs(graph, "stream", costs_of(graph)).with_groups(std::vector<int>(size, -1)),
      std::vector<NodeId>(size)};
  for (const NodeId id : nodes.operators()) made.nodes[static_cast<size_t>(nodes.node(id))] = id;
  return made;
}

}  // namespace

struct ModelOnStreams::Impl {
  Impl(const Graph& model, const std::string& name, std::span<const Tensor> in, device::Device& d,
       int count, const WeightSource& weights)
      : device(d),
        streams(count),
        program(stream_graph(model, name)),
        nodes(device, model, weights),
        inputs(in.begin(), in.end()),
        values(nodes.values()) {
    device.need_queues(streams);
    nodes.upload(inputs, values);
    for (int stream = 0; stream < streams; ++stream)
      scratch.emplace_back(device, nodes.scratch_bytes());
    for (const GraphOutput& output : model.outputs())
      is_constant.push_back(model.is_constant(output.value));
    load_kernels();
  }

  bool is_work(int node) const { return program.nodes[static_cast<size_t>(node)].valid(); }
  void launch(int node, int stream, const DeviceNodes::Values& memory) {
    if (!is_work(node)) return;
    nodes.launch(program.nodes[static_cast<size_t>(node)], memory,
                 scratch[static_cast<size_t>(stream)].get());
  }
  void load_kernels();
  void launch(const std::vector<StreamStep>& steps);
  double seconds_in_all(int workers, int rounds, const std::function<void(int stream)>& launches);

  device::Device& device;
  int streams;
  StreamGraph program;
  DeviceNodes nodes;
  std::vector<Tensor> inputs;
  std::vector<bool> is_constant;  ///< by output
  DeviceNodes::Values values;
  std::vector<DeviceMemory> scratch;  ///< by stream
  OrderByDevice recorded;             ///< what `recording` runs
  std::unique_ptr<device::Recording> recording;
};

/// What a device loads at a kernel's first launch cannot be loaded in a recording.
void ModelOnStreams::Impl::load_kernels() {
  const DeviceNodes::Values memory = nodes.values();
  nodes.upload(inputs, memory);
  for (const int node : program.graph.order()) launch(node, 0, memory);
  device.synchronize();
}

void ModelOnStreams::Impl::launch(const std::vector<StreamStep>& steps) {
  std::vector<std::unique_ptr<device::Mark>> ends(program.nodes.size());
  for (const StreamStep& step : steps) {
    device.use_queue(step.stream);
    for (const int node : step.after) device.wait_for(*ends[static_cast<size_t>(node)]);
    launch(step.node, step.stream, values);
    if (step.is_awaited) ends[static_cast<size_t>(step.node)] = device.mark();
  }
}

/// The median of recordings in which the first streams do the same at once.
double ModelOnStreams::Impl::seconds_in_all(int workers, int rounds,
                                            const std::function<void(int stream)>& launches) {
  const auto recorded_work = record_streams(device, workers, [&] {
    for (int stream = 0; stream < workers; ++stream) {
      device.use_queue(stream);
      launches(stream);
    }
  });
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round)
    samples.push_back(seconds_of(device, *recorded_work));
  return median(samples);
}

ModelOnStreams::ModelOnStreams(const Graph& model, const std::string& name,
                               std::span<const Tensor> inputs, device::Device& device, int streams,
                               const WeightSource& weights)
    : impl_(std::make_unique<Impl>(model, name, inputs, device, streams, weights)) {}
ModelOnStreams::~ModelOnStreams() = default;

const CostGraph& ModelOnStreams::graph() const { return impl_->program.graph; }

std::vector<Picoseconds> ModelOnStreams::node_times(int rounds, Others others) {
  constexpr int kTimes = 10;
  const int workers = others == Others::kBusy ? impl_->streams : 1;
  std::vector<DeviceNodes::Values> memory;
  for (int stream = 0; stream < workers; ++stream)
    impl_->nodes.upload(impl_->inputs, memory.emplace_back(impl_->nodes.values()));
  const auto launch = [&](int node, int stream) {
    impl_->launch(node, stream, memory[static_cast<size_t>(stream)]);
  };
  const double whole = impl_->seconds_in_all(workers, rounds, [&](int stream) {
    for (const int node : graph().order()) launch(node, stream);
  });
  std::vector<double> seconds;
  for (int node = 0; node < graph().size(); ++node) {
    const auto again_and_again = [&](int stream) {
      for (int time = 0; time < kTimes; ++time) launch(node, stream);
    };
    seconds.push_back(impl_->is_work(node) ? impl_->seconds_in_all(workers, rounds, again_and_again)
                                           : 0);
  }
  const double factor = whole / std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<Picoseconds> times;
  for (const double one : seconds) times.push_back(Picoseconds::from_seconds(factor * one));
  return times;
}

placement::RunTime ModelOnStreams::run(const OrderByDevice& order) {
  REVERIE_CHECK_EQ(static_cast<int>(order.size()), impl_->streams);
  if (impl_->recording == nullptr || order != impl_->recorded) {
    const std::vector<StreamStep> steps = stream_steps(graph(), order);
    impl_->recording = record_streams(impl_->device, impl_->streams, [&] { impl_->launch(steps); });
    impl_->recorded = order;
  }
  return {.makespan = seconds_of(impl_->device, *impl_->recording), .lost = 0};
}

std::vector<Tensor> ModelOnStreams::outputs() const {
  REVERIE_CHECK(impl_->recording != nullptr);
  const std::vector<Tensor> all = impl_->nodes.outputs(impl_->values);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < all.size(); ++i)
    if (!impl_->is_constant[i]) outputs.push_back(all[i]);
  return outputs;
}

}  // namespace reverie
