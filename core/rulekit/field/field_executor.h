#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/ir/graph.h"
#include "core/ir/tensor.h"
#include "core/rulekit/field/functions.h"

namespace reverie {

/// A tensor over the field of 2^61 - 1 elements: uint64 below the prime. Values of integer and bool
/// types stay what they are, as int64 and bool.
struct FieldTensor {
  Tensor elements;
  FieldDegree degree;  ///< of the element with the highest ones
};

/// Evaluates graphs over the prime field, at one point. Sums, products, quotients, means and
/// movement of data are exact; numbers stand for the fractions that they are once rounded to
/// float32. Relu, maxima and minima are those of FieldFunctions; Softmax is a random function of an
/// element and the multiset of its row; square roots and other functions of one element are random
/// functions. BatchNormalization and LayerNormalization are made of these. Operators on integers
/// alone are the reference executor's.
class FieldExecutor {
 public:
  /// Points with different keys are independent.
  explicit FieldExecutor(uint64_t key) : functions_(key) {}

  /// Where the executor takes the tensors of Constant nodes from.
  using Weights = std::function<FieldTensor(const Weight&)>;

  static bool supports(const OpSchema& op);
  /// As Executor::run. InputError names an operator that is not supported.
  std::vector<FieldTensor> run(const Graph& graph, std::span<const FieldTensor> inputs,
                               const Weights& weights);

  /// What all runs of this object used.
  const FieldFunctions& functions() const { return functions_; }

 private:
  FieldFunctions functions_;
};

/// Elements drawn uniformly, of degree 1. For floating types.
FieldTensor draw_field_tensor(const TensorType& type, Rng rng);
/// Floating elements as fractions, integers and bools as they are. InputError for NaN and infinity.
FieldTensor to_field(const Tensor& tensor);

}  // namespace reverie
