#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/exec/executor.h"
#include "env/placement/machine/core_threads.h"
#include "env/placement/machine/model_on_devices.h"
#include "env/placement/machine/node_programs.h"

namespace reverie {

/// A model whose nodes run on the cores of this machine.
///
/// Each core has kernels of its own for all nodes (core/exec/cpu, one thread, weights laid out
/// ahead) and memory of its own for all tensors. Tensors stand row-major between nodes, and a node
/// that wants another layout converts them: that is part of what it takes. A core runs its nodes in
/// their order. What a node reads from another core it copies into its own core's memory, once for
/// all later readers there, as soon as it is there and the node's turn has come.
///
/// `node_times` are by the clocks of the cores while they run all nodes, as often as `rounds` says,
/// each time after a rest as in `run`: the median of all rounds and cores that work. `run` comes
/// after a rest that leaves the cores to other processes; a core has lost what passed beside the
/// time of its thread, which never sleeps in a run.
///
/// `inputs` in the order of model.inputs(). The threads must outlive it. InputError as
/// core_program, for inputs of other types, and where this program is without oneDNN.
std::unique_ptr<ModelOnDevices> model_on_cores(const Graph& model, const std::string& name,
                                               std::span<const Tensor> inputs, CoreThreads& threads,
                                               const WeightSource& weights = materialized);

}  // namespace reverie
