#pragma once

#include <optional>
#include <string>
#include <vector>

namespace reverie {

/// Why a rule holds, as its text states it in `proof`. Not part of what the rule means, nor of the
/// fingerprint of a rule set.
struct RuleProof {
  /// Both sides are equal at random points of a prime field (core/rulekit/verify/field_proof.h).
  struct Field {
    int assignments = 0;     ///< of shapes and attributes that were tried
    std::vector<int> ranks;  ///< of the first mapped output among them, ascending
    double degree = 0;       ///< highest of the polynomials compared
    double error = 0;        ///< probability, at most, of a difference that was not seen
    bool operator==(const Field&) const = default;
  };
  /// The target follows from the source by axioms, for all shapes to which the rule applies
  /// (core/rulekit/prove/axiom_proof.h).
  struct Axioms {
    std::vector<int> ranks;  ///< of the first mapped output for which it follows, ascending
    std::vector<std::string> used;
    bool operator==(const Axioms&) const = default;
  };
  std::optional<Field> field;
  std::optional<Axioms> axioms;

  bool empty() const { return !field && !axioms; }
  bool operator==(const RuleProof&) const = default;
};

/// The section as rules hold it, without a newline at its end; empty for no proof. The error is
/// rounded up to two digits.
std::string text_of(const RuleProof& proof);
/// Of a proof found for `text_of(proof)` as it is read again.
RuleProof as_written(const RuleProof& proof);
/// What `stated` claims that `found` does not bear out: a method, a rank, as many assignments, an
/// error as small. Empty where there is no such thing.
std::string unconfirmed(const RuleProof& stated, const RuleProof& found);

}  // namespace reverie
