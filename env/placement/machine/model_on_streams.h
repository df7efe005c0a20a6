#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/exec/device/device.h"
#include "core/exec/executor.h"
#include "env/placement/machine/model_on_devices.h"

namespace reverie {

/// A model whose nodes run in streams of one device, which are its queues
/// (core/exec/device/device.h): stream 0 is queue 0, which is in use.
///
/// All streams read the same weights, so that no nodes must stay together. What a node gives has
/// memory of its own, which nothing else shares: so a node must wait for those that it reads of,
/// and for nothing else. What it needs while it runs is memory of its stream, whose nodes run one
/// after the other. A run is one recording, in which a stream waits for another as stream_steps
/// says.
///
/// `node_times` are of recordings in which each stream that works runs a node again and again, on
/// memory of its own, all scaled by one factor: together they take what a recording takes in which
/// each stream runs all nodes once, one after the other. Nothing is known of what the device does
/// for other processes: no time is lost in a `run`.
///
/// `inputs` in the order of model.inputs(). The device must outlive it. InputError for a model
/// without operators or inputs, inputs of other types, and nodes that the device has no kernel for.
std::unique_ptr<ModelOnDevices> model_on_streams(const Graph& model, const std::string& name,
                                                 std::span<const Tensor> inputs,
                                                 device::Device& device, int streams,
                                                 const WeightSource& weights = materialized);

}  // namespace reverie
