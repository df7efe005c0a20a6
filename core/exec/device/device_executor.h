#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/exec/device/device.h"
#include "core/exec/executor.h"

namespace reverie {

/// A graph made ready to run again and again on a device: constants folded and uploaded, kernels
/// chosen, memory of all else assigned in one block, values that do not live together sharing it.
/// Each node of fused(graph) is a kernel or a few; what the device has no kernel for runs on the
/// host's reference kernels, is counted, and is said once per operator on stderr. The device must
/// outlive it.
class DevicePlan {
 public:
  /// `poison`: the working memory is filled with NaNs before each `run`, so that a kernel that
  /// reads or leaves what nobody wrote shows; for tests. InputError when an output depends on an
  /// opaque node, or the device has no room.
  DevicePlan(device::Device& device, const Graph& graph, const WeightSource& weights = materialized,
             bool poison = false);
  ~DevicePlan();
  DevicePlan(DevicePlan&&) noexcept;
  DevicePlan& operator=(DevicePlan&&) noexcept;

  /// As Executor::run.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  /// Gives every float32 input small random values, integers random numbers of rows of the tables
  /// that they index (0 or 1 where they index none), and float64 zeros. For timing.
  void draw_inputs(Rng& rng);
  /// Puts one run in the device's queue, on what the memory of the inputs holds; waits for the
  /// device where a node runs on the host. For timing.
  void launch();

  /// Nodes that run on the host, counted by operator.
  const std::map<std::string, int>& fallbacks() const;
  /// Kernels that one run starts.
  int kernels() const;
  /// Memory on the device: of weights, and of what is computed.
  int64_t weight_bytes() const;
  int64_t arena_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Graphs on a device, one plan a run.
class DeviceExecutor : public Executor {
 public:
  DeviceExecutor(std::string name, std::shared_ptr<device::Device> device, bool poison = false)
      : name_(std::move(name)), device_(std::move(device)), poison_(poison) {}

  std::string name() const override { return name_; }
  /// Whether there is a kernel for the operator, for some of the types and attributes that it can
  /// have.
  static bool has_kernel(const OpSchema& op);
  bool supports(const Graph& graph, NodeId node) const override;
  std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                          const WeightSource& weights = materialized) override;

  /// Over all runs so far.
  const std::map<std::string, int>& fallbacks() const { return fallbacks_; }

 private:
  std::string name_;
  std::shared_ptr<device::Device> device_;
  bool poison_;
  std::map<std::string, int> fallbacks_;
};

}  // namespace reverie
