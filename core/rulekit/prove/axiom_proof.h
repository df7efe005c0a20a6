#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/rules/pattern.h"
#include "core/rules/rule.h"

namespace reverie {

/// What is taken for granted of operators, in the rule language: each is an equation that holds for
/// all extents for which its conditions and both sides are well-formed, with x / 0 = 0 as well.
/// Tests compare both sides of each over the prime field, on many shapes and where divisors are 0.
const RuleSet& axioms();

struct AxiomProofOptions {
  int forms = 8;  ///< ranks, axes and their like to prove a rule for, at most
  /// Z3's measure of work, for each; the same on every machine.
  uint32_t effort = 250'000;
};

/// What follows from the axioms.
struct AxiomProof {
  std::vector<int>
      ranks;  ///< of the first mapped output: all forms of these ranks follow; ascending
  std::vector<std::string> used;  ///< names of axioms, in the order of their list
  int forms = 0;                  ///< tried, none of a rank of which one did not follow
  int followed = 0;               ///< of these
  /// What of the rule the axioms do not speak of.
  std::string not_covered;

  bool proved() const { return !ranks.empty(); }
};

/// Whether the target of a rule equals its source by the axioms, for any extents. `assignments` to
/// which the rule applies say for which ranks, axes, permutations, activations and numbers of
/// tensors that is asked. Equational reasoning with quantified axioms, instantiated where their
/// left or right side occurs (Z3; after the verifier of TASO, Jia et al., SOSP 2019, section 4).
AxiomProof prove_by_axioms(const Rule& rule, const std::vector<RuleExample>& assignments,
                           const AxiomProofOptions& options = {});

}  // namespace reverie
