#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/exec/executor.h"

namespace reverie {

struct CpuOptions {
  /// Threads of oneDNN (OpenMP); 0: as many as OpenMP takes by itself.
  int threads = 0;
  /// Inputs and outputs of the graph stand in whatever layout the kernels next to them like best,
  /// as they would inside a larger graph. For timing alone: `run` is then refused.
  bool free_layouts = false;
  /// Fills the working memory with NaNs before each run, so that a kernel that reads or leaves what
  /// nobody wrote shows. For tests.
  bool poison = false;
};

/// A graph made ready to run again and again: kernels chosen, work on constants done, weights laid
/// out, memory of intermediate values assigned so that values which do not live together share it.
/// Each node runs as one kernel; nothing is fused that the graph does not fuse. Not for use by
/// several threads at once.
class CpuPlan {
 public:
  /// InputError when an output depends on an opaque node.
  explicit CpuPlan(const Graph& graph, const WeightSource& weights = materialized,
                   CpuOptions options = {});
  ~CpuPlan();
  CpuPlan(CpuPlan&&) noexcept;
  CpuPlan& operator=(CpuPlan&&) noexcept;

  /// As Executor::run.
  std::vector<Tensor> run(std::span<const Tensor> inputs);

  /// Gives every floating input small random values and every other one zeros, in place.
  void draw_inputs(Rng& rng);
  /// The kernels alone, on what the memory of the inputs holds. For timing.
  void execute();

  /// Nodes that run on the reference kernels, counted by operator; work on constants aside.
  const std::map<std::string, int>& fallbacks() const;
  /// Kernels that one run starts, conversions between layouts included.
  int kernels() const;
  /// Memory that intermediate values share, in bytes.
  int64_t arena_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// float32 on oneDNN: convolution and its transposition, matrix products, pooling, the usual ways
/// to resize, normalizations, softmax, elementwise,
/// concatenation, transposition and slices (of 8 and 32 bit integers too), reductions. The rest
/// runs on the reference kernels, is counted, and is said once per operator on stderr.
class CpuExecutor : public Executor {
 public:
  explicit CpuExecutor(CpuOptions options = {}) : options_(options) {}

  std::string name() const override { return "cpu"; }
  /// Whether there is a kernel for the operator, for some of the types and attributes that it can
  /// have.
  static bool has_kernel(const OpSchema& op);
  bool supports(const Graph& graph, NodeId node) const override;
  std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                          const WeightSource& weights = materialized) override;

  /// Over all runs so far.
  const std::map<std::string, int>& fallbacks() const { return fallbacks_; }

 private:
  CpuOptions options_;
  std::map<std::string, int> fallbacks_;
};

/// oneDNN's version and the instruction set that it uses: "oneDNN 2.6.3, avx512_core".
std::string cpu_library();
/// Threads that a plan with CpuOptions::threads == `threads` uses.
int cpu_threads(int threads);

}  // namespace reverie
