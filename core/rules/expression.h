#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/attributes.h"
#include "core/ir/graph.h"
#include "core/rules/rule.h"

namespace reverie {

struct ExprFunction;

/// An expression over the attributes, shapes and small constants of a match. Values are those of
/// attributes; truth is an integer.
struct Expr {
  enum class Kind {
    kLiteral,    ///< `literal`
    kVariable,   ///< variable `index` of the rule
    kAttribute,  ///< attribute `name` of source operator `index`
    kTensor,     ///< pattern value `index`; only as an argument of a function that takes tensors
    kCall,       ///< `function` of `args`; operators are functions too
  };
  Kind kind = Kind::kLiteral;
  AttrValue literal;
  int index = -1;
  std::string name;
  const ExprFunction* function = nullptr;
  std::vector<Expr> args;
};

/// What an expression is evaluated against.
struct ExprScope {
  const Graph& graph;
  const Binding& binding;
  std::span<const std::optional<AttrValue>> variables;
  /// Of extents and attributes (core/ir/types.h).
  size_t sample = 0;

  std::span<const ValueId> tensors(const Expr& expr) const;
};

struct ExprFunction {
  std::string name;
  int min_args = 0;
  int max_args = 0;
  /// The first so many arguments are tensors.
  int tensor_args = 0;
  /// Depends on the uses of a value, which change without the value.
  bool reads_uses = false;
  std::optional<AttrValue> (*call)(const ExprScope& scope, std::span<const Expr> args) = nullptr;
};

/// All functions, operators included.
std::span<const ExprFunction> expr_functions();
/// nullptr when there is none of that name.
const ExprFunction* find_expr_function(std::string_view name);

/// Nothing when a part has no value: an absent tensor or attribute, an index out of range, kinds
/// that do not fit. A condition without value does not hold.
std::optional<AttrValue> evaluate(const Expr& expr, const ExprScope& scope);
/// Whether the expression has a value and it is a number other than 0.
bool holds(const Expr& expr, const ExprScope& scope);
bool reads_uses(const Expr& expr);
/// Equal as values; integers and numbers compare by value, and an empty list equals an empty list.
bool same_value(const AttrValue& a, const AttrValue& b);

}  // namespace reverie
