#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "core/base/random.h"
#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

/// Which signs make sense for a float.
enum class Signs : uint8_t {
  kBoth,      ///< mean 0
  kNonzero,   ///< it is divided by: of either sign, at a distance from 0
  kPositive,  ///< a root, a logarithm or a broken power is taken of it
};

inline constexpr int64_t kLargestInteger = 100;

/// Numbers of a given input, both ends included.
struct InputRange {
  double low = 0;
  double high = 0;
  bool operator==(const InputRange&) const = default;
};

/// What is put among the numbers of a float.
enum class Extremes : uint8_t {
  kNone,
  kZeros,  ///< one element in eight is 0, whatever its signs should be
  kLarge,  ///< one in eight is up to kLargestNumber times as large
};
inline constexpr double kLargestNumber = 1e4;

/// What a value is used for, as far as it decides which random numbers make sense for it.
struct DrawRole {
  double variance = 1;  ///< of a float
  Signs signs = Signs::kBoth;
  int64_t index_limit =
      0;  ///< an integer numbers rows of a table, and is below this; 0: of no table
  bool computed_with = false;  ///< or it is computed with
  bool is_truth = false;       ///< or compared with 0 or 1, or taken from 1: it is one of the two
  std::optional<InputRange> given = {};  ///< overrides all of this
  bool operator==(const DrawRole&) const = default;
};

/// Roles of weights (by identity) and of graph inputs (by name) in one or several graphs that are
/// to mean the same. The first decides about signs: what it is defined for, the others have to be,
/// too.
class DrawPlan {
 public:
  explicit DrawPlan(std::span<const Graph* const> graphs);
  DrawRole weight(uint64_t identity) const { return now(weights_.at(identity)); }
  DrawRole input(const std::string& name) const { return now(inputs_.at(name)); }
  /// Numbers of the input of that name from now on.
  void give(const std::string& name, InputRange range) { inputs_[name].given = range; }
  /// Whether what is divided by has both signs from now on, or is positive. Sums of both signs come
  /// close to 0, which is a weaker test of everything else; hence both ways should be tried.
  void mix_signs(bool mix) { mixed_ = mix; }
  /// Whether numbers are drawn that mix_signs(false) would make positive.
  bool mixes_signs() const { return mixed_ && has_divisors_; }
  /// Keeps the numbers of a deep graph in range: `results` are those of `node`, and where it is a
  /// product with weights whose root mean square exceeds kLargest, the variance of the weights is
  /// lowered and the results are scaled so that it is one. (After the layer-sequential
  /// unit-variance initialisation of Mishkin and Matas, 2016.)
  void calibrate(const Graph& graph, NodeId node, std::vector<Tensor>& results);
  static constexpr double kLargest = 8;

 private:
  DrawRole& role_of(const Graph& graph, NodeId node);
  DrawRole now(DrawRole role) const;

  std::unordered_map<uint64_t, DrawRole> weights_;
  std::unordered_map<std::string, DrawRole> inputs_;
  bool mixed_ = false;
  bool has_divisors_ = false;
};

/// Floats: uniform with mean 0 and the role's variance, or of a size in [0.5, 1.5]; float64
/// whatever the declared type. Integers: below the role's limit; up to kLargestInteger, where they
/// are computed with, of the signs that make sense; else 0 or 1. InputError for types without
/// numbers.
Tensor draw(const TensorType& type, const DrawRole& role, Rng rng,
            Extremes extremes = Extremes::kNone);

/// The same as a file holds it: floats rounded to their type.
Tensor draw_weight(const TensorType& type, const DrawRole& role, Rng rng);

}  // namespace reverie
