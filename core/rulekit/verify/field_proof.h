#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/rules/pattern.h"
#include "core/rules/rule.h"

namespace reverie {

struct FieldProofOptions {
  int points = 2;       ///< random points for each assignment of shapes
  int variations = 24;  ///< assignments besides each of the rule's examples
  uint64_t seed = 1;
};

/// What evaluating both sides of a rule at random points of the field of 2^61 - 1 elements showed.
struct FieldProof {
  /// Of shapes and attributes, on which both sides agree.
  std::vector<RuleExample> assignments;
  int compared = 0;        ///< replacements compared
  std::vector<int> ranks;  ///< of the rule's first mapped output, ascending
  double degree = 0;       ///< highest, of the difference of an element of both sides
  /// For each assignment: how likely it is at most that the points do not show a difference there
  /// is. By the lemma of DeMillo and Lipton (1978), Schwartz (1980) and Zippel (1979), a polynomial
  /// of degree d that is not nought is nought at a random point with probability at most d over the
  /// size of the field; functions that are no polynomials are taken for random ones
  /// (core/rulekit/field/functions.h). The largest over all assignments; points multiply.
  double error = 0;
  /// Shapes, output and element in which both sides differ, or an example to which the rule does
  /// not apply.
  std::string counterexample;
  /// What of the rule has no meaning over the field, or an assignment where a divisor is always 0.
  /// What a point shows at which a divisor is 0, on either side, counts neither for the rule nor
  /// against it.
  std::string not_covered;

  bool proved() const { return counterexample.empty() && not_covered.empty() && compared > 0; }
};

/// Whether the rule applies to an example, and that is small enough to be evaluated in no time.
bool rule_applies(const Rule& rule, const RuleExample& example);

/// Applies the rule everywhere in the graph of each assignment and compares all outputs. It says
/// nothing of other shapes.
FieldProof prove_over_field(const Rule& rule, const FieldProofOptions& options = {});

}  // namespace reverie
