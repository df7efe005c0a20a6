#include "core/rulekit/prove/symbolic.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/error.h"

namespace reverie::prove {
namespace {

using Value = std::optional<SymbolicValue>;
using List = std::vector<z3::expr>;

class Evaluator {
 public:
  explicit Evaluator(const SymbolicScope& scope) : scope_(scope), context_(scope.context) {}

  Value run(const Expr& expr) const {
    switch (expr.kind) {
      case Expr::Kind::kLiteral:
        return symbolic(context_, expr.literal);
      case Expr::Kind::kVariable:
        return scope_.variables[static_cast<size_t>(expr.index)];
      case Expr::Kind::kAttribute:
        return attribute(expr);
      case Expr::Kind::kTensor:
        return {};
      case Expr::Kind::kCall:
        break;
    }
    if (expr.function->tensor_args > 0) return of_tensor(expr);
    std::vector<SymbolicValue> args;
    for (const Expr& arg : expr.args) {
      Value value = run(arg);
      if (!value) return {};
      args.push_back(std::move(*value));
    }
    return call(expr.function->name, args);
  }

 private:
  Value attribute(const Expr& expr) const {
    const SymbolicAttributes& attributes = scope_.attributes[static_cast<size_t>(expr.index)];
    const auto at = attributes.find(expr.name);
    return at == attributes.end() ? Value{} : Value(at->second);
  }

  SymbolicValue number(int64_t x) const { return context_.int_val(x); }
  SymbolicValue truth(bool x) const { return context_.bool_val(x); }
  static std::optional<int64_t> whole(const SymbolicValue& value) {
    const auto* e = std::get_if<z3::expr>(&value);
    return e == nullptr ? std::nullopt : as_number(*e);
  }

  Value of_tensor(const Expr& expr) const {
    const auto& tensors = scope_.values[static_cast<size_t>(expr.args[0].index)];
    const std::string& name = expr.function->name;
    if (name == "count") return number(static_cast<int64_t>(tensors.size()));
    if (name == "present") return truth(!tensors.empty() && tensors[0].has_value());
    if (name == "dtype") return std::string("any");
    if (name == "is_float") return truth(true);
    if (name == "dims") return dims(expr, tensors);
    if (tensors.size() != 1 || !tensors[0]) return {};
    const List& extents = tensors[0]->extents;
    if (name == "shape") return extents;
    if (name == "rank") return number(tensors[0]->rank());
    if (name == "size") return product_of(context_, extents);
    if (name != "dim" && name != "axis") return {};
    const auto axis = axis_of(expr.args[1], tensors[0]->rank());
    if (!axis) return {};
    return name == "axis" ? number(*axis) : SymbolicValue(extents[static_cast<size_t>(*axis)]);
  }

  std::optional<int64_t> axis_of(const Expr& expr, int rank) const {
    const Value value = run(expr);
    auto axis = value ? whole(*value) : std::nullopt;
    if (axis && *axis < 0) *axis += rank;
    return axis && *axis >= 0 && *axis < rank ? axis : std::nullopt;
  }

  Value dims(const Expr& expr, const std::vector<OptionalTensor>& tensors) const {
    List result;
    for (const OptionalTensor& tensor : tensors) {
      const auto axis = tensor ? axis_of(expr.args[1], tensor->rank()) : std::nullopt;
      if (!axis) return {};
      result.push_back(tensor->extents[static_cast<size_t>(*axis)]);
    }
    return result;
  }

  Value call(const std::string& name, const std::vector<SymbolicValue>& args) const {
    if (name == "[]") return listed(args);
    if (name == "==" || name == "!=") {
      const auto same = equal(context_, args[0], args[1]);
      if (!same) return {};
      return name == "==" ? *same : !*same;
    }
    for (const SymbolicValue& arg : args)
      if (std::holds_alternative<std::string>(arg)) return {};
    if (name == "++") return joined(args);
    if (const auto* list = std::get_if<List>(&args[0])) {
      if (const Value value = of_list(name, *list, args)) return value;
    }
    if (args.size() == 2) return binary(name, args[0], args[1]);
    if (name == "iota" && whole(args[0])) return iota(*whole(args[0]));
    if (name == "!" && truth_of(args[0])) return !*truth_of(args[0]);
    return {};
  }

  static Value listed(const std::vector<SymbolicValue>& args) {
    List result;
    for (const SymbolicValue& arg : args) {
      const auto* element = std::get_if<z3::expr>(&arg);
      if (element == nullptr) return {};
      result.push_back(*element);
    }
    return result;
  }

  static Value joined(const std::vector<SymbolicValue>& args) {
    List result;
    for (const SymbolicValue& arg : args) {
      const auto* list = std::get_if<List>(&arg);
      if (list == nullptr) return {};
      result.insert(result.end(), list->begin(), list->end());
    }
    return result;
  }

  Value iota(int64_t count) const {
    List result;
    for (int64_t i = 0; i < count; ++i) result.push_back(context_.int_val(i));
    return result;
  }

  Value of_list(const std::string& name, const List& list,
                const std::vector<SymbolicValue>& args) const {
    const auto size = static_cast<int64_t>(list.size());
    const auto position = [&](size_t arg, bool end) -> std::optional<int64_t> {
      auto at = whole(args[arg]);
      if (at && *at < 0) *at += size;
      return at && *at >= 0 && *at < size + (end ? 1 : 0) ? at : std::nullopt;
    };
    if (name == "len") return number(size);
    if (name == "product") return product_of(context_, list);
    if (name == "sum") {
      z3::expr sum = context_.int_val(0);
      for (const z3::expr& x : list) sum = sum + x;
      return sum.simplify();
    }
    if (name == "at" && position(1, false)) return list[static_cast<size_t>(*position(1, false))];
    if (name == "slice" && position(1, true) && position(2, true))
      return List(list.begin() + *position(1, true),
                  list.begin() + std::max(*position(1, true), *position(2, true)));
    if (name == "gather") return gathered(list, args[1]);
    if (name == "without" && position(1, false)) {
      List result = list;
      result.erase(result.begin() + *position(1, false));
      return result;
    }
    if (name == "with" && position(1, false) && std::holds_alternative<z3::expr>(args[2])) {
      List result = list;
      result[static_cast<size_t>(*position(1, false))] = std::get<z3::expr>(args[2]);
      return result;
    }
    return {};
  }

  static Value gathered(const List& list, const SymbolicValue& indices) {
    List result;
    if (!std::holds_alternative<List>(indices)) return {};
    for (const z3::expr& index : std::get<List>(indices)) {
      const auto at = as_number(index);
      if (!at || *at < 0 || *at >= static_cast<int64_t>(list.size())) return {};
      result.push_back(list[static_cast<size_t>(*at)]);
    }
    return result;
  }

  static std::optional<z3::expr> truth_of(const SymbolicValue& value) {
    const auto* e = std::get_if<z3::expr>(&value);
    if (e == nullptr) return {};
    if (e->is_bool()) return *e;
    return e->is_int() ? std::optional<z3::expr>(*e != 0) : std::nullopt;
  }

  Value binary(const std::string& name, const SymbolicValue& a, const SymbolicValue& b) const {
    if (name == "repeat" && whole(b)) {
      if (!std::holds_alternative<z3::expr>(a)) return {};
      return List(static_cast<size_t>(std::max<int64_t>(0, *whole(b))), std::get<z3::expr>(a));
    }
    if (name == "&&" || name == "||") {
      const auto x = truth_of(a), y = truth_of(b);
      if (!x || !y) return {};
      return name == "&&" ? *x && *y : *x || *y;
    }
    const auto* x = std::get_if<z3::expr>(&a);
    const auto* y = std::get_if<z3::expr>(&b);
    if (x != nullptr && y != nullptr) return arithmetic(name, *x, *y);
    const auto* many = std::get_if<List>(x == nullptr ? &a : &b);
    const auto* other = std::get_if<List>(&b);
    List result;
    for (size_t i = 0; many != nullptr && i < many->size(); ++i) {
      if (x == nullptr && y == nullptr && other->size() != many->size()) return {};
      const Value element = arithmetic(name, x != nullptr ? *x : std::get<List>(a)[i],
                                       y != nullptr ? *y : (*other)[i]);
      if (!element) return {};
      result.push_back(std::get<z3::expr>(*element));
    }
    return result;
  }

  static Value arithmetic(const std::string& name, const z3::expr& x, const z3::expr& y) {
    if (x.is_bool() || y.is_bool()) return {};
    if (name == "+") return (x + y).simplify();
    if (name == "-") return (x - y).simplify();
    if (name == "*") return (x * y).simplify();
    if (name == "/" && x.is_int() && y.is_int()) return quotient_of(x, y);
    if (name == "%" && x.is_int() && y.is_int()) return remainder_of(x, y);
    if (name == "<") return x < y;
    if (name == "<=") return x <= y;
    if (name == ">") return x > y;
    if (name == ">=") return x >= y;
    if (name == "min") return z3::ite(x < y, x, y);
    if (name == "max") return z3::ite(x < y, y, x);
    return {};
  }

  const SymbolicScope& scope_;
  z3::context& context_;
};

/// A lower bound by its form, where there is one: of extents, which are 1 at least, and what
/// choices, sums, products and quotients make of them.
std::optional<int64_t> least_of(const z3::expr& e) {
  if (const auto number = as_number(e)) return number;
  if (!e.is_app()) return {};
  const auto kind = e.decl().decl_kind();
  if (kind == Z3_OP_UNINTERPRETED)
    return e.decl().name().str() == "extent" ? std::optional<int64_t>(1) : std::nullopt;
  if (kind == Z3_OP_IDIV || kind == Z3_OP_MOD)
    return least_of(e.arg(0)).value_or(-1) >= 0 && least_of(e.arg(1)).value_or(0) > 0
               ? std::optional<int64_t>(0)
               : std::nullopt;
  if (kind == Z3_OP_ITE) {
    const auto x = least_of(e.arg(1)), y = least_of(e.arg(2));
    return x && y ? std::optional<int64_t>(std::min(*x, *y)) : std::nullopt;
  }
  if (kind != Z3_OP_ADD && kind != Z3_OP_MUL) return {};
  int64_t result = kind == Z3_OP_ADD ? 0 : 1;
  for (unsigned i = 0; i < e.num_args(); ++i) {
    const auto least = least_of(e.arg(i));
    if (!least || (kind == Z3_OP_MUL && *least < 0)) return {};
    if (kind == Z3_OP_ADD ? __builtin_add_overflow(result, *least, &result)
                          : __builtin_mul_overflow(result, *least, &result))
      return {};
  }
  return result;
}

/// A whole number from two: of numbers by `rounded`, as the rule language has it; `exact`, as Z3
/// has it, where both agree.
template <typename Rounded, typename Exact>
z3::expr divided(const z3::expr& a, const z3::expr& b, const char* name, Rounded rounded,
                 Exact exact) {
  z3::context& context = a.ctx();
  const auto x = as_number(a), y = as_number(b);
  if (x && y && *y != 0 && *y != -1) return context.int_val(rounded(*x, *y));
  if (y.value_or(0) > 0 && least_of(a).value_or(-1) >= 0) return exact(a, b).simplify();
  const z3::sort integer = context.int_sort();
  return context.function(name, integer, integer, integer)(a, b);
}

/// All digits; a double has at most 1074 behind the point.
std::string exact_text(double number) {
  if (!std::isfinite(number)) throw InputError("{} has no term", number);
  std::string text = fmt::format("{:.1074f}", number);
  return text.erase(text.find_last_not_of('0') + 1) + "0";
}

}  // namespace

std::optional<int64_t> as_number(const z3::expr& value) {
  int64_t number = 0;
  const z3::expr simple = value.simplify();
  if (!simple.is_int() || !simple.is_numeral_i64(number)) return {};
  return number;
}

z3::expr product_of(z3::context& context, const std::vector<z3::expr>& factors) {
  z3::expr product = context.int_val(1);
  for (const z3::expr& factor : factors) product = product * factor;
  return product.simplify();
}

z3::expr all_of(z3::context& context, const std::vector<z3::expr>& conditions) {
  z3::expr_vector all(context);
  for (const z3::expr& condition : conditions) all.push_back(condition);
  return z3::mk_and(all);
}

z3::expr quotient_of(const z3::expr& a, const z3::expr& b) {
  return divided(a, b, "quotient", std::divides<int64_t>(),
                 [](const z3::expr& x, const z3::expr& y) { return x / y; });
}

z3::expr remainder_of(const z3::expr& a, const z3::expr& b) {
  return divided(a, b, "remainder", std::modulus<int64_t>(),
                 [](const z3::expr& x, const z3::expr& y) { return z3::mod(x, y); });
}

SymbolicValue symbolic(z3::context& context, const AttrValue& value) {
  if (const auto* x = std::get_if<int64_t>(&value)) return context.int_val(*x);
  if (const auto* x = std::get_if<double>(&value)) return context.real_val(exact_text(*x).c_str());
  if (const auto* x = std::get_if<std::vector<int64_t>>(&value)) {
    std::vector<z3::expr> list;
    for (const int64_t element : *x) list.push_back(context.int_val(element));
    return list;
  }
  return to_string(value);
}

std::optional<SymbolicValue> symbolic(const Expr& expr, const SymbolicScope& scope) {
  return Evaluator(scope).run(expr);
}

std::optional<z3::expr> symbolic_condition(const Expr& expr, const SymbolicScope& scope) {
  const auto value = symbolic(expr, scope);
  if (!value || !std::holds_alternative<z3::expr>(*value)) return {};
  const z3::expr& e = std::get<z3::expr>(*value);
  if (e.is_bool()) return e;
  return e.is_int() ? std::optional<z3::expr>(e != 0) : std::nullopt;
}

std::optional<z3::expr> equal(z3::context& context, const SymbolicValue& a,
                              const SymbolicValue& b) {
  if (a.index() != b.index()) return {};
  if (const auto* text = std::get_if<std::string>(&a))
    return context.bool_val(*text == std::get<std::string>(b));
  if (const auto* x = std::get_if<z3::expr>(&a)) {
    const z3::expr& y = std::get<z3::expr>(b);
    if (x->is_bool() != y.is_bool()) return {};
    return *x == y;
  }
  const auto& x = std::get<std::vector<z3::expr>>(a);
  const auto& y = std::get<std::vector<z3::expr>>(b);
  if (x.size() != y.size()) return context.bool_val(false);
  std::vector<z3::expr> conditions;
  for (size_t i = 0; i < x.size(); ++i) conditions.push_back(x[i] == y[i]);
  return all_of(context, conditions);
}

}  // namespace reverie::prove
