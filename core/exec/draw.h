#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "core/base/random.h"
#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

/// What a value is used for, as far as it decides which random numbers make sense for it.
struct DrawRole {
  double variance = 1;      ///< of a float
  bool positive = false;    ///< a float that a root, a logarithm or a quotient is taken of
  int64_t index_limit = 2;  ///< an integer is drawn below this
  bool operator==(const DrawRole&) const = default;
};

/// Roles of weights (by identity) and of graph inputs (by name) in one or several graphs that mean
/// the same.
class DrawPlan {
 public:
  explicit DrawPlan(std::span<const Graph* const> graphs);
  const DrawRole& weight(uint64_t identity) const;
  const DrawRole& input(const std::string& name) const;
  /// Keeps the numbers of a deep graph in range: `results` are those of `node`, and where it is a
  /// product with weights whose root mean square exceeds kLargest, the variance of the weights is
  /// lowered and the results are scaled so that it is one. (After the layer-sequential unit-variance
  /// initialisation of Mishkin and Matas, 2016.)
  void calibrate(const Graph& graph, NodeId node, std::vector<Tensor>& results);
  static constexpr double kLargest = 8;

 private:
  DrawRole& role_of(const Graph& graph, NodeId node);

  std::unordered_map<uint64_t, DrawRole> weights_;
  std::unordered_map<std::string, DrawRole> inputs_;
};

/// Floats: uniform with mean 0 and the role's variance, or in [0.5, 1.5]; float64 whatever the
/// declared type. Integers: below the role's limit. InputError for types without numbers.
Tensor draw(const TensorType& type, const DrawRole& role, Rng rng);

}  // namespace reverie
