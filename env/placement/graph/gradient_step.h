#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "env/placement/graph/cost_graph_builder.h"
#include "env/placement/graph/model_nodes.h"

namespace reverie::placement {

/// A tensor of the forward pass or a gradient.
struct Operand {
  TensorType type;
  int tensor = -1;  ///< in the cost graph; -1: a constant, which its reader holds
};

/// The gradient of one operator: what its rule works with.
class GradientStep {
 public:
  /// `dys`: by output; none where no gradient comes from there.
  GradientStep(const Graph& graph, const ModelNodes& nodes, CostGraphBuilder& builder, NodeId id,
               std::vector<std::optional<Operand>> dys, std::vector<bool> needed)
      : graph_(graph),
        nodes_(nodes),
        builder_(builder),
        id_(id),
        dys_(std::move(dys)),
        needed_(std::move(needed)),
        results_(needed_.size()) {}

  const Operand& dy() const { return *dys_[0]; }
  const std::vector<std::optional<Operand>>& dys() const { return dys_; }
  Operand x(size_t input) const;
  Operand y() const;
  size_t inputs() const { return needed_.size(); }
  bool needs(size_t input) const { return needed_[input]; }
  const Attributes& attributes() const { return graph_.attributes(id_); }

  /// Work whose cost is that of an operator of the table, with these types.
  OpSignature work(std::string_view op, std::vector<TensorType> inputs, TensorType output) const;
  /// What the operator does itself, but for bias, residual and activation.
  OpSignature forward_work() const;

  /// A node with the gradient by an input, "ConvGrad1".
  Operand run(size_t input, const std::vector<Operand>& reads, TensorType type,
              const OpSignature& work);
  /// The same where each element of the result needs the matching ones of what is read.
  Operand pointwise(size_t input, const std::vector<Operand>& reads, const TensorType& type);
  /// Sums over what was broadcast, where an input has another number of elements.
  Operand reduced(size_t input, const Operand& gradient);
  void give(size_t input, Operand gradient) { results_[input] = std::move(gradient); }
  /// By input.
  const std::vector<std::optional<Operand>>& results() const { return results_; }

 private:
  Operand add(const std::string& suffix, const std::string& op, const std::vector<Operand>& reads,
              TensorType type, const OpSignature& work);

  const Graph& graph_;
  const ModelNodes& nodes_;
  CostGraphBuilder& builder_;
  NodeId id_;
  std::vector<std::optional<Operand>> dys_;
  std::vector<bool> needed_;
  std::vector<std::optional<Operand>> results_;
};

/// Work as that of an elementwise operator: all is read and written once.
OpSignature elementwise_work(std::vector<TensorType> inputs, TensorType output);

/// Whether an input can have a gradient: floats can, but for a constant exponent.
bool is_differentiable(const Graph& graph, NodeId id, size_t input);
/// Gives the gradients that the step needs, but for statistics, which have none. InputError where
/// there is no rule.
void differentiate(std::string_view op, GradientStep& step);

}  // namespace reverie::placement
