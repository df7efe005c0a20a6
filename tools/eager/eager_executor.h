#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/exec/executor.h"
#include "worldmodel/torch.h"

namespace reverie {

/// A graph made ready to run again and again in LibTorch's eager mode: weights and folded constants lie on
/// the device, and each node calls the operator that a PyTorch program would (two where LibTorch has no
/// operator for the whole node: a residual, an activation, uneven padding). Nothing is fused or planned; a
/// tensor is freed after its last reader. No gradients. What LibTorch has no operator for runs on the
/// reference kernels on the host, is counted, and is said once per operator on stderr.
class EagerPlan {
 public:
  /// InputError when an output depends on an opaque node, or the device has no room.
  explicit EagerPlan(const Graph& graph, const WeightSource& weights = materialized,
                     torch::Device device = torch::kCPU);
  ~EagerPlan();
  EagerPlan(EagerPlan&&) noexcept;
  EagerPlan& operator=(EagerPlan&&) noexcept;

  /// As Executor::run. InputError too where LibTorch refuses a node, DeviceError where a GPU failed for good.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  /// Gives every float32 input small random values and every other one zeros. For timing.
  void draw_inputs(Rng& rng);
  /// One run on what the inputs hold, with such errors; on a GPU it may still be going on afterwards. For
  /// timing.
  void execute();
  /// Until that run is over, with its errors.
  void wait();

  /// Nodes that run on the reference kernels, counted by operator.
  const std::map<std::string, int>& fallbacks() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Graphs in eager mode, one plan a run, with as many threads as LibTorch is set to.
class EagerExecutor : public Executor {
 public:
  explicit EagerExecutor(torch::Device device = torch::kCPU) : device_(device) {}

  std::string name() const override { return "eager"; }
  bool supports(const Graph& graph, NodeId node) const override;
  std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                          const WeightSource& weights = materialized) override;

  /// Over all runs so far.
  const std::map<std::string, int>& fallbacks() const { return fallbacks_; }

 private:
  torch::Device device_;
  std::map<std::string, int> fallbacks_;
};

}  // namespace reverie
