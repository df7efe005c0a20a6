#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/units.h"
#include "core/ir/graph.h"

namespace reverie {

/// Where a time comes from. It travels with the number, so that an estimate can never pass for a
/// measurement.
enum class CostSource : uint8_t { kEstimated, kMeasured, kRecorded };

/// What running a node, or a graph, costs. Differences may be negative.
struct Cost {
  Picoseconds runtime;
  int64_t flops = 0;
  int64_t bytes = 0;     ///< memory traffic
  int64_t launches = 0;  ///< kernels started
  /// The part of `runtime` that a source which measures, reads or fits measurements had none for
  /// and estimated.
  Picoseconds estimated = {};

  Cost& operator+=(const Cost& other);
  Cost& operator-=(const Cost& other);
  friend Cost operator+(Cost a, const Cost& b) { return a += b; }
  friend Cost operator-(Cost a, const Cost& b) { return a -= b; }
  bool operator==(const Cost&) const = default;
};

/// Cost::estimated as a share of the run time; 0 where that is 0.
double estimated_share(const Cost& cost);

/// What decides the cost of one operator: its row, attributes and types. Two nodes with equal
/// signatures cost the same.
struct OpSignature {
  const OpSchema* op = nullptr;
  std::shared_ptr<const Attributes> attributes;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
  /// Bit i: input i is constant (weights can be laid out ahead of time).
  uint32_t constant_inputs = 0;

  /// Costs are those of sample 0 (core/ir/types.h).
  void take_first_sample();
  uint64_t hash() const;
  bool operator==(const OpSignature& other) const;
  /// One line, the key of cost tables: "Conv(float32 1x3x224x224, const float32 64x3x7x7){...}".
  std::string text() const;
};

OpSignature signature_of(const Graph& graph, NodeId node);
/// Of its text. InputError where that is none, and where the operator does not take such inputs.
OpSignature parse_signature(std::string_view text);

/// Costs of operators. Implementations are safe to call from several threads.
class CostModel {
 public:
  struct Counters {
    int64_t lookups = 0;       ///< calls of `cost`
    int64_t measurements = 0;  ///< operators or graphs timed on hardware
    int64_t estimates = 0;     ///< signatures new to a measuring, recorded or fitted source
    /// Distinct signatures that a time was asked for: what a measuring source with nothing on
    /// record would have had to measure. Signatures that two threads ask for at once may count
    /// twice.
    int64_t operators = 0;
  };

  virtual ~CostModel() = default;
  /// "roofline:t4", "cpu", "cpu:4", "table:FILE", "fitted:FILE".
  virtual std::string name() const = 0;
  virtual CostSource source() const = 0;
  /// Equal signatures give equal costs, in every process.
  virtual bool deterministic() const = 0;
  virtual Cost cost(const OpSignature& signature) = 0;
  virtual Counters counters() const = 0;
  /// Whether a graph of these operators runs fused (core/exec/device/fuse.h).
  virtual bool fuses() const { return false; }
  /// Writes down at once what was measured, where it is kept in a file; else that happens now and
  /// then, and at the end of its life, when an error can only be told. InputError where the file
  /// cannot be written.
  virtual void keep() {}
};

/// Cost of one node; zero for inputs, constants and work on constants.
Cost node_cost(CostModel& model, const Graph& graph, NodeId node);
/// Sum over the nodes that are work. Searches add it up node by node.
Cost graph_cost(CostModel& model, const Graph& graph);
/// Sum over the nodes that are work in what runs: in fused(graph) where the model fuses. For what
/// reports say, and for the choice among finished graphs.
Cost running_cost(CostModel& model, const Graph& graph);

/// "roofline:<device>", a machine's name (core/cost/machine.h), "table:FILE" or "fitted:FILE".
/// InputError lists the known names. A source that measures stops doing so after `time_limit`
/// seconds, and estimates; 0: no limit.
std::shared_ptr<CostModel> make_cost_model(const std::string& name, double time_limit = 0);
/// The names as a sentence says them: "roofline:<device>, table:<file>, fitted:<file>, cpu, ... or
/// cuda".
std::string known_cost_sources();

}  // namespace reverie
