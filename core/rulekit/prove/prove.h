#pragma once

#include <map>
#include <string>

#include "core/rulekit/prove/axiom_proof.h"
#include "core/rulekit/verify/field_proof.h"
#include "core/rules/proof.h"
#include "core/rules/rule.h"

namespace reverie {

struct ProofOptions {
  FieldProofOptions field = {};
  bool with_axioms = true;
  AxiomProofOptions axioms = {};
};

/// What speaks for and against a rule.
struct ProofReport {
  FieldProof field;
  AxiomProof axioms;  ///< for the assignments of the first
  /// The methods that succeeded, as the rule's text states them.
  RuleProof proof;

  /// A counterexample, or empty.
  const std::string& refutation() const { return field.counterexample; }
};

/// Proves a rule in every way that applies. The same options give the same report.
ProofReport prove_rule(const Rule& rule, const ProofOptions& options = {});

/// The text of a rule file with the proofs that are found for its rules; InputError names a rule
/// with a counterexample. Proofs by axioms, which take longer, only where asked for.
std::string proved_file(const std::string& text, const std::string& name,
                        const ProofOptions& options = {.with_axioms = false});

}  // namespace reverie
