#pragma once

#include <cstdint>
#include <span>

#include "core/ir/attributes.h"
#include "core/ir/schema.h"
#include "core/ir/weight.h"

namespace reverie {

/// What is known of every element of a value; each entails those before it. Provided that graph
/// inputs and large weights are finite and no result is too large for its type.
enum class ValueRange : uint8_t {
  kUnknown,  ///< may be infinite or NaN
  kFinite,
  kNonNegative,
  kPositive,
};

/// What decides the range of a node's outputs.
struct RangeContext {
  const OpSchema& op;
  const Attributes& attributes;
  std::span<const ValueRange> inputs;  ///< of an absent one: kPositive
  bool floating = true;                ///< whether the outputs are numbers that can be infinite
  bool square = false;                 ///< its first two inputs are the same value
  /// The weight that is the second input (an exponent, a divisor); nullptr where it is none.
  const Weight* second = nullptr;
};

/// By OpSchema::range; kUnknown for a row without it, and where an input is.
ValueRange range_of(const RangeContext& node);
/// Of one number.
ValueRange range_of(double x);
/// Of a large weight: kFinite.
ValueRange range_of(const Weight& weight);

}  // namespace reverie
