#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/rulekit/taso/taso_rule.h"
#include "core/rules/rule.h"

namespace reverie {

struct TasoImportOptions {
  std::string prefix = "taso";  ///< rule number 7 becomes taso_007
  size_t first = 0;             ///< number of the first rule
  int shapes = 64;              ///< drawn assignments of shapes on which both sides are compared
  int draws = 2;                ///< sets of random inputs for each
  int examples = 3;             ///< assignments that the written rule keeps
  uint64_t seed = 1;
  /// Refuse what holds only under a condition that the file does not state.
  bool strict = false;
  /// Convolutions whose groups a rule leaves open have one, unless those of the target provably
  /// have the groups of one of the source. Drawn shapes alone may all agree by chance.
  bool derived_groups = false;
};

/// What became of one rule of the file.
struct TasoOutcome {
  std::string name;
  /// In the language of LANGUAGE.md; empty where the rule is refused.
  std::string text;
  /// Why the rule is refused: it cannot be said, or it is wrong. Empty where it is accepted.
  std::string refusal;
  /// Shapes, seed and difference on which the two sides of the rule, as the file states it,
  /// disagree.
  std::string counterexample;
  /// The condition that the file lacks and without which the counterexample holds.
  std::string narrowing;
  /// "both sides are the same" or the earlier rule of which it is a repetition.
  std::string remark;
  int shapes = 0;        ///< assignments on which the accepted rule was compared
  int compared = 0;      ///< replacements compared
  double max_error = 0;  ///< largest relative difference

  bool accepted() const { return !text.empty(); }
};

/// Translates every rule and compares its two sides in double precision on drawn shapes and inputs.
/// A rule on which they disagree is tried again with the conditions of TasoNarrowing in their
/// order, unless `strict`, and refused where none helps. That all drawn shapes agree is evidence,
/// no proof.
std::vector<TasoOutcome> import_taso_rules(const std::vector<TasoRule>& rules,
                                           const TasoImportOptions& options = {});

/// The accepted rules as a rule file, the refused ones as comments at its head.
std::string rule_file_text(const std::vector<TasoOutcome>& outcomes, const std::string& source);

}  // namespace reverie
