#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/tensor.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

namespace placement {

/// Of a run of a model, in seconds.
struct RunTime {
  double makespan = 0;  ///< from when all devices begin until the last has ended
  /// In which a device did something else than this run, of the device that lost most; 0 where that
  /// cannot be known.
  double lost = 0;
};

}  // namespace placement

/// Nodes of each device, as it runs them.
using OrderByDevice = std::vector<std::vector<int>>;

/// A model whose nodes run on devices of this machine, as a placement says. Not for use by several
/// threads at once.
class ModelOnDevices {
 public:
  virtual ~ModelOnDevices() = default;

  /// Of the one kind that the devices are. Nodes cost what the roofline says.
  virtual const CostGraph& graph() const = 0;

  enum class Others : uint8_t {
    kIdle,  ///< one device works
    kBusy,  ///< all devices do the same at once
  };
  /// What each node takes as one of all, which devices run one after the other; a median of so many
  /// `rounds`.
  virtual std::vector<Picoseconds> node_times(int rounds, Others others) = 0;

  /// `order` has an entry for each device, and no devices wait for each other in it; as
  /// order_by_device makes it.
  virtual placement::RunTime run(const OrderByDevice& order) = 0;
  /// What the model's outputs were in the last run, in their order, without constant ones. It must
  /// have run.
  virtual std::vector<Tensor> outputs() const = 0;
};

/// Numbers that suit a model's inputs (core/exec/draw.h), in their order.
std::vector<Tensor> drawn_inputs(const Graph& model, uint64_t seed);

/// Nodes in the order of their starts.
OrderByDevice order_by_device(const Timeline& timeline, int devices);

/// A graph of one kind of device with these costs, by node, on a kind of this name.
CostGraph with_costs(const CostGraph& graph, const std::string& kind,
                     std::vector<Picoseconds> costs);
/// Its costs, by node.
std::vector<Picoseconds> costs_of(const CostGraph& graph);

}  // namespace reverie
