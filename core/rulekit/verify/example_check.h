#pragma once

#include <cstdint>
#include <string>

#include "core/rules/rule.h"

namespace reverie {

/// What running both sides of a rule showed.
struct RuleCheck {
  int examples = 0;  ///< that the rule states
  int compared = 0;  ///< replacements whose outputs were compared with the original's
  double max_error = 0;
  /// Empty, or what went wrong first: an example in which the rule does not apply, or a replacement
  /// that disagrees.
  std::string failure;

  bool passed() const { return failure.empty() && compared > 0; }
};

/// Applies the rule everywhere in the graph of each of its examples and compares the outputs on
/// `draws` random inputs and weights, in double precision.
RuleCheck check_examples(const Rule& rule, int draws, uint64_t seed);

}  // namespace reverie
