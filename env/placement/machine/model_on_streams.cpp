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

class ModelOnStreams : public ModelOnDevices {
 public:
  ModelOnStreams(const Graph& model, const std::string& name, std::span<const Tensor> inputs,
                 device::Device& device, int streams, const WeightSource& weights)
      : device_(device),
        streams_(streams),
        program_(stream_graph(model, name)),
        nodes_(device, model, weights),
        inputs_(inputs.begin(), inputs.end()),
        values_(nodes_.values()) {
    device_.need_queues(streams_);
    nodes_.upload(inputs_, values_);
    for (int stream = 0; stream < streams_; ++stream)
      scratch_.emplace_back(device_, nodes_.scratch_bytes());
    for (const GraphOutput& output : model.outputs())
      is_constant_.push_back(model.is_constant(output.value));
    load_kernels();
  }

  const CostGraph& graph() const override { return program_.graph; }
  std::vector<Picoseconds> node_times(int rounds, Others others) override;
  placement::RunTime run(const OrderByDevice& order) override;
  std::vector<Tensor> outputs() const override;

 private:
  bool is_work(int node) const { return program_.nodes[static_cast<size_t>(node)].valid(); }
  void launch(int node, int stream, const DeviceNodes::Values& memory) {
    if (!is_work(node)) return;
    nodes_.launch(program_.nodes[static_cast<size_t>(node)], memory,
                  scratch_[static_cast<size_t>(stream)].get());
  }
  void load_kernels();
  void launch(const std::vector<StreamStep>& steps);
  double seconds_in_all(int workers, int rounds, const std::function<void(int stream)>& launches);

  device::Device& device_;
  int streams_;
  StreamGraph program_;
  DeviceNodes nodes_;
  std::vector<Tensor> inputs_;
  std::vector<bool> is_constant_;  ///< by output
  DeviceNodes::Values values_;
  std::vector<DeviceMemory> scratch_;  ///< by stream
  OrderByDevice recorded_;             ///< what `recording_` runs
  std::unique_ptr<device::Recording> recording_;
};

/// What a device loads at a kernel's first launch cannot be loaded in a recording.
void ModelOnStreams::load_kernels() {
  const DeviceNodes::Values memory = nodes_.values();
  nodes_.upload(inputs_, memory);
  for (const int node : program_.graph.order()) launch(node, 0, memory);
  device_.synchronize();
}

void ModelOnStreams::launch(const std::vector<StreamStep>& steps) {
  std::vector<std::unique_ptr<device::Mark>> ends(program_.nodes.size());
  for (const StreamStep& step : steps) {
    device_.use_queue(step.stream);
    for (const int node : step.after) device_.wait_for(*ends[static_cast<size_t>(node)]);
    launch(step.node, step.stream, values_);
    if (step.is_awaited) ends[static_cast<size_t>(step.node)] = device_.mark();
  }
}

/// The median of recordings in which the first streams do the same at once.
double ModelOnStreams::seconds_in_all(int workers, int rounds,
                                      const std::function<void(int stream)>& launches) {
  const auto recorded_work = record_streams(device_, workers, [&] {
    for (int stream = 0; stream < workers; ++stream) {
      device_.use_queue(stream);
      launches(stream);
    }
  });
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round)
    samples.push_back(seconds_of(device_, *recorded_work));
  return median(samples);
}

std::vector<Picoseconds> ModelOnStreams::node_times(int rounds, Others others) {
  constexpr int kTimes = 10;
  const int workers = others == Others::kBusy ? streams_ : 1;
  std::vector<DeviceNodes::Values> memory;
  for (int stream = 0; stream < workers; ++stream)
    nodes_.upload(inputs_, memory.emplace_back(nodes_.values()));
  const auto launch = [&](int node, int stream) {
    this->launch(node, stream, memory[static_cast<size_t>(stream)]);
  };
  const double whole = seconds_in_all(workers, rounds, [&](int stream) {
    for (const int node : graph().order()) launch(node, stream);
  });
  std::vector<double> seconds;
  for (int node = 0; node < graph().size(); ++node) {
    const auto again_and_again = [&](int stream) {
      for (int time = 0; time < kTimes; ++time) launch(node, stream);
    };
    seconds.push_back(is_work(node) ? seconds_in_all(workers, rounds, again_and_again) : 0);
  }
  const double factor = whole / std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<Picoseconds> times;
  for (const double one : seconds) times.push_back(Picoseconds::from_seconds(factor * one));
  return times;
}

placement::RunTime ModelOnStreams::run(const OrderByDevice& order) {
  REVERIE_CHECK_EQ(static_cast<int>(order.size()), streams_);
  if (recording_ == nullptr || order != recorded_) {
    const std::vector<StreamStep> steps = stream_steps(graph(), order);
    recording_ = record_streams(device_, streams_, [&] { launch(steps); });
    recorded_ = order;
  }
  return {.makespan = seconds_of(device_, *recording_), .lost = 0};
}

std::vector<Tensor> ModelOnStreams::outputs() const {
  REVERIE_CHECK(recording_ != nullptr);
  const std::vector<Tensor> all = nodes_.outputs(values_);
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < all.size(); ++i)
    if (!is_constant_[i]) outputs.push_back(all[i]);
  return outputs;
}

}  // namespace

std::unique_ptr<ModelOnDevices> model_on_streams(const Graph& model, const std::string& name,
                                                 std::span<const Tensor> inputs,
                                                 device::Device& device, int streams,
                                                 const WeightSource& weights) {
  return std::make_unique<ModelOnStreams>(model, name, inputs, device, streams, weights);
}

}  // namespace reverie
