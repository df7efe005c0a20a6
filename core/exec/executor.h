#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

/// Where an executor takes the tensors of Constant nodes from.
using WeightSource = std::function<Tensor(const Weight&)>;
/// The weights as they are.
Tensor materialized(const Weight& weight);

/// Runs a graph. One conformance suite tests every implementation against the reference.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::string name() const = 0;
  /// Whether this executor has a kernel of its own for the node; otherwise it falls back to the
  /// reference (and counts that where it reports).
  virtual bool supports(const Graph& graph, NodeId node) const = 0;
  /// `inputs` in the order of graph.inputs(); InputError when a type differs from the graph's.
  /// Returns the outputs in the order of graph.outputs(). InputError when the graph holds an opaque
  /// node that an output depends on.
  virtual std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                                  const WeightSource& weights = materialized) = 0;
};

}  // namespace reverie
