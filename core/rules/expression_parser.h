#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/rules/pattern.h"
#include "core/rules/token_stream.h"

namespace reverie {

/// What the names of a rule stand for.
struct RuleNames {
  std::map<std::string, int, std::less<>> values;     ///< pattern values
  std::map<std::string, int, std::less<>> operators;  ///< by the names of their outputs
  std::map<std::string, int, std::less<>> variables;
};

/// Reads expressions: literals, lists, variables, attributes `c.pads`, calls, indexing and the
/// operators of C with the usual precedence, and `++`, which joins lists.
class ExpressionParser {
 public:
  ExpressionParser(TokenStream& in, RulePattern& pattern, RuleNames& names)
      : in_(in), pattern_(pattern), names_(names) {}

  Expr parse();
  /// A name alone that stands for nothing yet becomes a variable; nothing is read otherwise.
  std::optional<int> fresh_variable();
  int add_variable(const std::string& name);
  Expr call(std::string_view function, std::vector<Expr> args) const;

 private:
  Expr binary(size_t level);
  Expr unary();
  Expr postfix();
  Expr primary();
  Expr number();
  Expr list();
  Expr named(const Token& name);
  Expr call_of(const Token& name);
  Expr tensor_argument(const ExprFunction& function);

  TokenStream& in_;
  RulePattern& pattern_;
  RuleNames& names_;
};

}  // namespace reverie
