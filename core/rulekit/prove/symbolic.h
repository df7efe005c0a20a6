#pragma once

#include <z3++.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/rules/pattern.h"

namespace reverie::prove {

/// A tensor of any extents: a Z3 term, of the uninterpreted sort of tensors of its rank, and its
/// extents, of the sort of integers.
struct TensorTerm {
  z3::expr term;
  std::vector<z3::expr> extents;
  int rank() const { return static_cast<int>(extents.size()); }
};
/// Absent where there is none.
using OptionalTensor = std::optional<TensorTerm>;

/// The value of an attribute or expression: a number or truth, a text, or a list of integers.
using SymbolicValue = std::variant<z3::expr, std::string, std::vector<z3::expr>>;
using SymbolicAttributes = std::map<std::string, SymbolicValue>;

/// The integer that an expression is, if it is one.
std::optional<int64_t> as_number(const z3::expr& value);
z3::expr product_of(z3::context& context, const std::vector<z3::expr>& factors);
z3::expr all_of(z3::context& context, const std::vector<z3::expr>& conditions);
/// Whole quotients and remainders as the rule language has them, rounded towards 0, where that is
/// known of them: of two numbers, and of what is not negative by a positive number. Others are
/// those of uninterpreted functions.
z3::expr quotient_of(const z3::expr& a, const z3::expr& b);
z3::expr remainder_of(const z3::expr& a, const z3::expr& b);

/// What expressions of a rule are evaluated against.
struct SymbolicScope {
  z3::context& context;
  const RulePattern& pattern;
  const std::vector<std::vector<OptionalTensor>>& values;  ///< by pattern value
  const std::vector<SymbolicAttributes>& attributes;       ///< by source operator
  std::vector<std::optional<SymbolicValue>>& variables;
};

/// Numbers are exactly what they are as doubles. InputError for NaN and infinity.
SymbolicValue symbolic(z3::context& context, const AttrValue& value);
/// Nothing where the expression has a part that is not understood.
std::optional<SymbolicValue> symbolic(const Expr& expr, const SymbolicScope& scope);
/// A condition as a truth value; nothing likewise.
std::optional<z3::expr> symbolic_condition(const Expr& expr, const SymbolicScope& scope);
/// Whether both are equal; nothing where their kinds differ.
std::optional<z3::expr> equal(z3::context& context, const SymbolicValue& a, const SymbolicValue& b);

}  // namespace reverie::prove
