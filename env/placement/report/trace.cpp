#include "env/placement/report/trace.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "env/placement/report/charts.h"

namespace reverie {
namespace {

constexpr double kMicrosecond = 1e6;  ///< in picoseconds
constexpr int kOperators = 1;         ///< number of the thread

double microseconds(Picoseconds time) { return static_cast<double>(time.count) / kMicrosecond; }
int process_of(int device) { return device + 1; }

/// Numbers threads so that no two transfers of one overlap.
class TransferThreads {
 public:
  explicit TransferThreads(size_t devices) : threads_(devices, kOperators) {}

  /// The second is true when the thread is new.
  std::pair<int, bool> thread_of(const Timeline::Transfer& sent) {
    auto& lanes = lanes_[{sent.from, sent.to}];
    for (auto& [thread, until] : lanes)
      if (until <= sent.start) {
        until = sent.end;
        return {thread, false};
      }
    const int thread = ++threads_[static_cast<size_t>(sent.from)];
    lanes.emplace_back(thread, sent.end);
    return {thread, true};
  }

 private:
  std::map<std::pair<int, int>, std::vector<std::pair<int, Picoseconds>>> lanes_;
  std::vector<int> threads_;  ///< by device
};

class TraceWriter {
 public:
  TraceWriter(const CostGraph& graph, const Topology& topology, const Timeline& timeline)
      : graph_(graph), topology_(topology), timeline_(timeline) {}

  std::string write() {
    for (int device = 0; device < topology_.size(); ++device) {
      name("process_name", device, 0, name_of(device));
      name("thread_name", device, kOperators, "operators");
    }
    add_runs();
    add_transfers();
    for (int device = 0; device < topology_.size(); ++device)
      for (const auto& step : memory_curve(timeline_, device, {0})) add_memory(step);
    return fmt::format("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n", events_);
  }

 private:
  void add(const Json& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event.dump();
  }
  void name(const char* what, int device, int thread, const std::string& text) {
    add({{"ph", "M"},
         {"name", what},
         {"pid", process_of(device)},
         {"tid", thread},
         {"args", {{"name", text}}}});
  }
  void add_runs() {
    for (const Timeline::Run& run : timeline_.runs) {
      const CostNode& node = graph_.nodes()[static_cast<size_t>(run.node)];
      add({{"ph", "X"},
           {"name", node.name},
           {"cat", "operator"},
           {"pid", process_of(run.device)},
           {"tid", kOperators},
           {"ts", microseconds(run.start)},
           {"dur", microseconds(run.end - run.start)},
           {"args", {{"node", run.node}, {"op", node.op}}}});
    }
  }
  void add_transfers() {
    TransferThreads threads(topology_.devices.size());
    for (const Timeline::Transfer& one : timeline_.transfers) {
      const auto [thread, is_new] = threads.thread_of(one);
      if (is_new) name("thread_name", one.from, thread, "to " + name_of(one.to));
      const CostTensor& tensor = graph_.tensors()[static_cast<size_t>(one.tensor)];
      add({{"ph", "X"},
           {"name", graph_.nodes()[static_cast<size_t>(tensor.producer)].name},
           {"cat", "transfer"},
           {"pid", process_of(one.from)},
           {"tid", thread},
           {"ts", microseconds(one.start)},
           {"dur", microseconds(one.end - one.start)},
           {"args", {{"tensor", one.tensor}, {"bytes", tensor.bytes}}}});
    }
  }
  void add_memory(const Timeline::MemoryStep& step) {
    add({{"ph", "C"},
         {"name", "memory"},
         {"pid", process_of(step.device)},
         {"ts", microseconds(step.time)},
         {"args", {{"bytes", step.bytes}}}});
  }
  const std::string& name_of(int device) const {
    return topology_.devices[static_cast<size_t>(device)].name;
  }

  const CostGraph& graph_;
  const Topology& topology_;
  const Timeline& timeline_;
  std::string events_;
};

}  // namespace

std::string perfetto_trace(const CostGraph& graph, const Topology& topology,
                           const Timeline& timeline) {
  return TraceWriter(graph, topology, timeline).write();
}

}  // namespace reverie
