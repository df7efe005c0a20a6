#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/rulekit/taso/taso_rule.h"

namespace reverie {

/// What the import and the export know about a type of operator.
struct TasoOpFacts {
  int type = 0;
  const char* name = "";  ///< in the operator table; empty for constants
  size_t inputs = 1;      ///< the least number for Concat
  bool commutative = false;
  /// Its two inputs and its output have equal shapes.
  bool elementwise = false;
  /// Parameters that are part of what it computes.
  std::vector<int> keys = {};

  bool constant() const { return inputs == 0; }
  bool has(int key) const { return std::find(keys.begin(), keys.end(), key) != keys.end(); }
};

/// InputError where the type is not one that is understood.
const TasoOpFacts& taso_facts(int type);
/// nullptr where TASO's rules have no such operator. Mul stands for the elementwise one.
const TasoOpFacts* taso_facts_named(const std::string& name);
/// InputError where the number of inputs is wrong.
void check_taso_inputs(const TasoOp& op);

/// Whether its output has one dimension less than its input.
bool drops_dimension(const TasoOp& op);

/// The permutation of a Transpose; InputError where its number is none.
std::vector<int> permutation_of(const TasoOp& op);

/// The extents of its kernel that the rule states; InputError where it states none.
std::array<int64_t, 2> kernel_of(const TasoOp& op);

}  // namespace reverie
