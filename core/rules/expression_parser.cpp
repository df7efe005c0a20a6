#include "core/rules/expression_parser.h"

#include <algorithm>
#include <charconv>

namespace reverie {
namespace {

/// Binary operators by precedence, weakest first.
const std::vector<std::vector<std::string_view>> kLevels = {
    {"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-", "++"}, {"*", "/", "%"}};

Expr literal(AttrValue value) {
  Expr expr;
  expr.literal = std::move(value);
  return expr;
}

bool is_integer(const Expr& expr) {
  return expr.kind == Expr::Kind::kLiteral && std::holds_alternative<int64_t>(expr.literal);
}

}  // namespace

Expr ExpressionParser::parse() { return binary(0); }

Expr ExpressionParser::call(std::string_view function, std::vector<Expr> args) const {
  Expr expr;
  expr.kind = Expr::Kind::kCall;
  expr.function = find_expr_function(function);
  REVERIE_CHECK(expr.function != nullptr, "{}", function);
  expr.args = std::move(args);
  return expr;
}

int ExpressionParser::add_variable(const std::string& name) {
  const int index = static_cast<int>(pattern_.variables.size());
  pattern_.variables.push_back(name);
  names_.variables.emplace(name, index);
  return index;
}

std::optional<int> ExpressionParser::fresh_variable() {
  const Token& name = in_.peek();
  const Token& after = in_.peek(1);
  const bool alone = after.is(",") || after.is(")");
  if (name.kind != Token::Kind::kName || !alone || names_.values.contains(name.text) ||
      names_.variables.contains(name.text))
    return {};
  return add_variable(in_.next().text);
}

Expr ExpressionParser::binary(size_t level) {
  if (level == kLevels.size()) return unary();
  Expr left = binary(level + 1);
  for (;;) {
    const auto& operators = kLevels[level];
    const auto at = std::find_if(operators.begin(), operators.end(),
                                 [&](std::string_view op) { return in_.peek().is(op); });
    if (at == operators.end()) return left;
    in_.next();
    Expr right = binary(level + 1);
    left = call(*at, {std::move(left), std::move(right)});
  }
}

Expr ExpressionParser::unary() {
  const TokenStream::Nested nested(in_);
  if (in_.accept("!")) return call("!", {unary()});
  if (!in_.accept("-")) return postfix();
  Expr value = unary();
  if (is_integer(value)) return literal(-std::get<int64_t>(value.literal));
  if (value.kind == Expr::Kind::kLiteral && std::holds_alternative<double>(value.literal))
    return literal(-std::get<double>(value.literal));
  return call("-", {literal(int64_t{0}), std::move(value)});
}

Expr ExpressionParser::postfix() {
  Expr value = primary();
  while (in_.accept("[")) {
    Expr index = parse();
    in_.expect("]");
    value = call("at", {std::move(value), std::move(index)});
  }
  return value;
}

Expr ExpressionParser::primary() {
  switch (in_.peek().kind) {
    case Token::Kind::kInteger:
    case Token::Kind::kNumber:
      return number();
    case Token::Kind::kString: {
      Expr text;
      text.literal = in_.next().text;
      return text;
    }
    case Token::Kind::kName: {
      const Token name = in_.next();
      return named(name);
    }
    default:
      break;
  }
  if (in_.accept("(")) {
    Expr inner = parse();
    in_.expect(")");
    return inner;
  }
  if (in_.accept("[")) return list();
  in_.fail_expected("an expression");
}

Expr ExpressionParser::number() {
  const Token token = in_.next();
  const char* end = token.text.data() + token.text.size();
  if (token.kind == Token::Kind::kNumber) {
    double value = 0;
    std::from_chars(token.text.data(), end, value);
    return literal(value);
  }
  int64_t value = 0;
  if (std::from_chars(token.text.data(), end, value).ec != std::errc())
    in_.fail(token, "the integer does not fit into 64 bits");
  return literal(value);
}

Expr ExpressionParser::list() {
  std::vector<Expr> items;
  if (!in_.accept("]")) {
    do items.push_back(parse());
    while (in_.accept(","));
    in_.expect("]");
  }
  if (!std::all_of(items.begin(), items.end(), is_integer)) return call("[]", std::move(items));
  std::vector<int64_t> values;
  for (const Expr& item : items) values.push_back(std::get<int64_t>(item.literal));
  return literal(std::move(values));
}

Expr ExpressionParser::named(const Token& name) {
  if (in_.peek().is("(")) return call_of(name);
  Expr expr;
  if (in_.accept(".")) {
    const auto at = names_.operators.find(name.text);
    if (at == names_.operators.end())
      in_.fail(name, fmt::format("'{}' is no output of a source operator", name.text));
    const OpSchema& op = *pattern_.source[static_cast<size_t>(at->second)].op;
    const Token attribute = in_.expect_name("an attribute");
    const auto known = [&](const AttrSpec& spec) { return spec.name == attribute.text; };
    if (std::none_of(op.attributes.begin(), op.attributes.end(), known))
      in_.fail(attribute, fmt::format("{} has no attribute '{}'", op.name, attribute.text));
    expr.kind = Expr::Kind::kAttribute;
    expr.index = at->second;
    expr.name = attribute.text;
    return expr;
  }
  const auto at = names_.variables.find(name.text);
  if (at == names_.variables.end())
    in_.fail(name, fmt::format("'{0}' is no variable here; tensors stand only in functions such as "
                               "shape({0})",
                               name.text));
  expr.kind = Expr::Kind::kVariable;
  expr.index = at->second;
  return expr;
}

Expr ExpressionParser::call_of(const Token& name) {
  const ExprFunction* function = find_expr_function(name.text);
  if (function == nullptr)
    in_.fail(name, fmt::format("'{}' is no function; LANGUAGE.md lists them", name.text));
  in_.expect("(");
  std::vector<Expr> args;
  if (!in_.accept(")")) {
    do {
      args.push_back(static_cast<int>(args.size()) < function->tensor_args
                         ? tensor_argument(*function)
                         : parse());
    } while (in_.accept(","));
    in_.expect(")");
  }
  const int count = static_cast<int>(args.size());
  if (count < function->min_args || count > function->max_args)
    in_.fail(name,
             fmt::format("{} takes {} arguments, not {}", name.text, function->min_args, count));
  return call(function->name, std::move(args));
}

Expr ExpressionParser::tensor_argument(const ExprFunction& function) {
  const Token name = in_.expect_name("a tensor of 'match'");
  const auto at = names_.values.find(name.text);
  if (at == names_.values.end())
    in_.fail(name, fmt::format("{} takes a tensor of 'match', and '{}' is none", function.name,
                               name.text));
  Expr expr;
  expr.kind = Expr::Kind::kTensor;
  expr.index = at->second;
  return expr;
}

}  // namespace reverie
