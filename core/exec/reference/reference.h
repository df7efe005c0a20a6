#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/exec/executor.h"
#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

enum class Precision {
  kDeclared,  ///< every value has its declared type; sums inside an operator are in double
  kDouble,    ///< every floating value is held as float64 for the whole run
};

struct ReferenceOptions {
  Precision precision = Precision::kDeclared;
  /// With kDouble: results as their declared types. Otherwise they stay float64.
  bool cast_back = true;
  /// Fill new tensors with NaN and -1 before a kernel writes them; for tests.
  bool poison = false;
};

/// The judge of correctness: a kernel for every operator of the table, plain and in one place.
/// Tensors are freed after their last use.
class ReferenceExecutor : public Executor {
 public:
  explicit ReferenceExecutor(ReferenceOptions options = {}) : options_(options) {}
  /// Called with the results of every node as soon as they are there; may change their elements.
  using Observer = std::function<void(NodeId, std::vector<Tensor>&)>;
  void observe(Observer observer) { observer_ = std::move(observer); }
  std::string name() const override { return "reference"; }
  /// Whether there is a kernel for the operator.
  static bool has_kernel(const OpSchema& op);
  bool supports(const Graph& graph, NodeId node) const override;
  /// With kDouble, floating inputs and weights may also come as float64.
  std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                          const WeightSource& weights = materialized) override;

 private:
  ReferenceOptions options_;
  Observer observer_;
};

/// One node by itself. `attributes` need not be canonical; an absent optional input is a
/// default-constructed tensor. Value-shaped operators are allowed. InputError when the inputs do
/// not fit.
std::vector<Tensor> evaluate_node(const OpSchema& op, const Attributes& attributes,
                                  std::span<const Tensor> inputs, ReferenceOptions options = {});

/// Whether stored constants are only moved on their way to `value`, which no precision changes.
bool is_only_moved(const Graph& graph, ValueId value);

/// The tensor of a constant value (graph.is_constant(value)), computed in double precision and
/// rounded once to its type. What leads to a Floor, a Ceil, a comparison, an order or a Cast that
/// is not to a wider floating type is computed in its declared types, as the model itself would:
/// there a rounding error is a whole step.
Tensor fold(const Graph& graph, ValueId value, const WeightSource& weights = materialized);
/// The same before it is rounded: floating elements as float64.
Tensor fold_exactly(const Graph& graph, ValueId value, const WeightSource& weights = materialized);

}  // namespace reverie
