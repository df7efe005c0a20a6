#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec/device/builder.h"
#include "core/exec/device/device.h"
#include "core/exec/device/device_memory.h"
#include "core/exec/executor.h"
#include "core/exec/graph_interface.h"

namespace reverie {

/// The nodes of a graph made ready to run on a device one by one, each in the queue that is in use
/// then: constants folded and uploaded, kernels chosen. What a node gives has memory that nothing
/// else shares. So the order that they need is the graph's: each after those that it reads of. The
/// device must outlive it.
class DeviceNodes {
 public:
  /// InputError as DevicePlan, and where the device has no kernel for a node.
  DeviceNodes(device::Device& device, const Graph& graph,
              const WeightSource& weights = materialized);

  /// Memory of inputs and of what nodes give, in one run.
  struct Values {
    std::vector<device::DeviceMemory> blocks;
    std::vector<std::byte*> at;
  };
  Values values() const;
  /// Memory that a node needs while it runs, at most. Nodes that may run at once need some each.
  int64_t scratch_bytes() const { return scratch_bytes_; }

  /// As Executor::run takes them.
  void upload(std::span<const Tensor> inputs, const Values& values);
  /// Puts a node in the queue in use: nothing where it is no work, or a view.
  void launch(NodeId node, const Values& values, std::byte* scratch);
  /// As Executor::run gives them, after all that is in the queues.
  std::vector<Tensor> outputs(const Values& values) const;

 private:
  void place(const device::Builder& builder);
  std::byte* at(device::BufferId buffer, const Values& values, std::byte* scratch) const;

  device::Device& device_;
  GraphInterface interface_;
  std::vector<device::BufferId> inputs_, outputs_;
  std::vector<std::vector<device::Step>> steps_;  ///< by node
  std::vector<device::DeviceMemory> weights_;
  std::vector<std::byte*> constant_;  ///< by buffer; null: none
  std::vector<int64_t> offset_;       ///< in scratch memory, by buffer; -1: it is not there
  std::vector<int64_t> value_bytes_;  ///< by buffer; 0: it is none
  int64_t scratch_bytes_ = 1;
};

}  // namespace reverie
