#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/rulekit/prove/symbolic.h"
#include "core/rules/pattern.h"

namespace reverie::prove {

/// What of an assignment is more than extents: ranks, numbers of tensors, axes and their like. What
/// a rule says for all extents, it says for one of these.
struct RuleForm {
  /// By pattern value: the ranks of a variable's tensors; -1 for an absent one.
  std::vector<std::vector<int>> ranks;
  std::vector<Attributes> attributes;  ///< by source operator
  int root_rank = 0;                   ///< of the first mapped output

  std::string key() const;
};
RuleForm form_of(const RulePattern& pattern, const RuleExample& example);

/// Both sides of a rule as terms.
struct RuleTerms {
  std::vector<z3::expr> variables;   ///< tensors and numbers that may be anything
  std::vector<z3::expr> conditions;  ///< of the rule, and what the shapes of both sides demand
  std::vector<z3::expr> facts;       ///< what then holds of the shapes
  std::vector<std::pair<z3::expr, z3::expr>> outputs;  ///< source and target
  std::vector<std::string> left_out;                   ///< conditions that have no term
};

/// InputError names what has no term.
RuleTerms terms_of(z3::context& context, const RulePattern& pattern, const RuleForm& form);

}  // namespace reverie::prove
