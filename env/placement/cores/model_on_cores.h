#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/exec/executor.h"
#include "core/ir/tensor.h"
#include "env/placement/cores/core_threads.h"
#include "env/placement/cores/node_programs.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// Of a run of a model, in seconds.
struct RunTime {
  double makespan = 0;  ///< from when all cores are told to begin until the last has ended
  /// In which a core ran something else than this process, of the core that lost most: what
  /// passed beside the time of its thread, which never sleeps in a run.
  double lost = 0;
};

/// A model whose nodes run on the cores of this machine, as a placement says.
///
/// Each core has kernels of its own for all nodes (core/exec/cpu, one thread, weights laid out
/// ahead) and memory of its own for all tensors. Tensors stand row-major between nodes, and a node
/// that wants another layout converts them: that is part of what it takes. A core runs its nodes in
/// their order. What a node reads from another core it copies into its own core's memory, once for
/// all later readers there, as soon as it is there and the node's turn has come.
class ModelOnCores {
 public:
  /// `inputs` in the order of model.inputs(). The threads must outlive it. InputError as
  /// core_program, for inputs of other types, and where this program is without oneDNN.
  ModelOnCores(const Graph& model, const std::string& name, std::span<const Tensor> inputs,
               CoreThreads& threads, const WeightSource& weights = materialized);
  ~ModelOnCores();

  /// Nodes cost what the roofline says of a processor.
  const CostGraph& graph() const;

  enum class Others : uint8_t {
    kIdle,  ///< one core works
    kBusy,  ///< all cores do the same at once
  };
  /// Each node's time by its core's clock while cores run all nodes one after the other, as often
  /// as `rounds` says, each time after a rest as in `run`: the median of all rounds and cores that
  /// work.
  std::vector<Picoseconds> node_times(int rounds, Others others) const;

  /// Runs the model, after a rest that leaves the cores to other processes. `order`: nodes of each
  /// core, so that no cores wait for each other; as order_by_core makes it.
  RunTime run(const std::vector<std::vector<int>>& order);
  /// What the model's outputs were in the last run, in their order, without constant ones. It must
  /// have run.
  std::vector<Tensor> outputs() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Numbers that suit a model's inputs (core/exec/draw.h), in their order.
std::vector<Tensor> drawn_inputs(const Graph& model, uint64_t seed);

/// By core the nodes that it runs, in the order of their starts.
std::vector<std::vector<int>> order_by_core(const Timeline& timeline, int cores);

}  // namespace reverie
