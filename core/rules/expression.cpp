#include "core/rules/expression.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace reverie {
namespace {

using Result = std::optional<AttrValue>;
using Args = std::span<const Expr>;
using Ints = std::vector<int64_t>;

std::optional<int64_t> integer(const ExprScope& scope, const Expr& expr) {
  const Result value = evaluate(expr, scope);
  if (!value || !std::holds_alternative<int64_t>(*value)) return {};
  return std::get<int64_t>(*value);
}

std::optional<Ints> integers(const ExprScope& scope, const Expr& expr) {
  const Result value = evaluate(expr, scope);
  if (!value || !std::holds_alternative<Ints>(*value)) return {};
  return std::get<Ints>(*value);
}

std::optional<double> as_number(const AttrValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return {};
}

/// The one tensor of an argument; nothing when it is absent.
std::optional<ValueId> tensor(const ExprScope& scope, const Expr& expr) {
  const auto values = scope.tensors(expr);
  if (values.size() != 1 || !values[0].valid()) return {};
  return values[0];
}

/// At the sample of the scope.
struct ExprType {
  DType dtype;
  const Shape& shape;
};

std::optional<ExprType> type(const ExprScope& scope, const Expr& expr) {
  const auto value = tensor(scope, expr);
  if (!value) return {};
  const TensorType& found = scope.graph.type(*value);
  return ExprType{found.dtype, found.shape_at(scope.sample)};
}

/// An index from either end, as Python counts.
std::optional<size_t> position(int64_t index, size_t size) {
  const int64_t at = index < 0 ? index + static_cast<int64_t>(size) : index;
  if (at < 0 || at >= static_cast<int64_t>(size)) return {};
  return static_cast<size_t>(at);
}

// --- Arithmetic and comparison ------------------------------------------------------------------

/// Nothing where the result does not fit, as for a quotient by 0.
std::optional<int64_t> apply(char op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case '+':
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case '-':
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case '*':
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    default:
      break;
  }
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return {};
  return op == '/' ? a / b : a % b;
}

std::optional<double> apply(char op, double a, double b) {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return b == 0 ? std::nullopt : std::optional(a / b);
    default:
      return {};
  }
}

/// Element by element; a single integer goes with every element.
Result apply_lists(char op, const Ints& a, const Ints& b) {
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return {};
  Ints result(a.empty() || b.empty() ? 0 : std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const auto element = apply(op, a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
    if (!element) return {};
    result[i] = *element;
  }
  return result;
}

template <char kOp>
Result arithmetic(const ExprScope& scope, Args args) {
  const Result a = evaluate(args[0], scope);
  const Result b = evaluate(args[1], scope);
  if (!a || !b) return {};
  const auto list = [](const AttrValue& value) -> std::optional<Ints> {
    if (const auto* ints = std::get_if<Ints>(&value)) return *ints;
    if (const auto* one = std::get_if<int64_t>(&value)) return Ints{*one};
    return {};
  };
  if (std::holds_alternative<Ints>(*a) || std::holds_alternative<Ints>(*b)) {
    const auto left = list(*a);
    const auto right = list(*b);
    return left && right ? apply_lists(kOp, *left, *right) : Result{};
  }
  if (std::holds_alternative<int64_t>(*a) && std::holds_alternative<int64_t>(*b)) {
    const auto result = apply(kOp, std::get<int64_t>(*a), std::get<int64_t>(*b));
    return result ? Result(*result) : Result{};
  }
  const auto x = as_number(*a);
  const auto y = as_number(*b);
  if (!x || !y) return {};
  const auto result = apply(kOp, *x, *y);
  return result ? Result(*result) : Result{};
}

template <typename Compare>
Result compare(const ExprScope& scope, Args args) {
  const Result a = evaluate(args[0], scope);
  const Result b = evaluate(args[1], scope);
  if (!a || !b || !as_number(*a) || !as_number(*b)) return {};
  return int64_t{Compare{}(*as_number(*a), *as_number(*b))};
}

Result equal(const ExprScope& scope, Args args) {
  const Result a = evaluate(args[0], scope);
  const Result b = evaluate(args[1], scope);
  if (!a || !b) return {};
  return int64_t{same_value(*a, *b)};
}

Result unequal(const ExprScope& scope, Args args) {
  const Result same = equal(scope, args);
  return same ? Result(int64_t{1} - std::get<int64_t>(*same)) : same;
}

Result both(const ExprScope& scope, Args args) {
  return int64_t{holds(args[0], scope) && holds(args[1], scope)};
}

Result either(const ExprScope& scope, Args args) {
  return int64_t{holds(args[0], scope) || holds(args[1], scope)};
}

Result negation(const ExprScope& scope, Args args) {
  const auto value = integer(scope, args[0]);
  return value ? Result(int64_t{*value == 0}) : Result{};
}

Result choose(const ExprScope& scope, Args args) {
  return evaluate(holds(args[0], scope) ? args[1] : args[2], scope);
}

// --- Lists --------------------------------------------------------------------------------------

Result list(const ExprScope& scope, Args args) {
  Ints result;
  for (const Expr& arg : args) {
    const auto element = integer(scope, arg);
    if (!element) return {};
    result.push_back(*element);
  }
  return result;
}

Result element(const ExprScope& scope, Args args) {
  const auto items = integers(scope, args[0]);
  const auto index = integer(scope, args[1]);
  if (!items || !index) return {};
  const auto at = position(*index, items->size());
  return at ? Result((*items)[*at]) : Result{};
}

Result length(const ExprScope& scope, Args args) {
  const auto items = integers(scope, args[0]);
  return items ? Result(static_cast<int64_t>(items->size())) : Result{};
}

/// The list's elements joined by + or *, from `start` on.
template <char kOp, int64_t kStart>
Result total(const ExprScope& scope, Args args) {
  const auto items = integers(scope, args[0]);
  if (!items) return {};
  std::optional<int64_t> result = kStart;
  for (size_t i = 0; result && i < items->size(); ++i) result = apply(kOp, *result, (*items)[i]);
  return result ? Result(*result) : Result{};
}

Result join(const ExprScope& scope, Args args) {
  auto result = integers(scope, args[0]);
  const auto tail = integers(scope, args[1]);
  if (!result || !tail) return {};
  result->insert(result->end(), tail->begin(), tail->end());
  return *result;
}

/// slice(list, from, to): from either end, as Python's list[from:to] with both ends in range.
Result slice(const ExprScope& scope, Args args) {
  const auto items = integers(scope, args[0]);
  auto from = integer(scope, args[1]);
  auto to = integer(scope, args[2]);
  if (!items || !from || !to) return {};
  const auto size = static_cast<int64_t>(items->size());
  if (*from < 0) *from += size;
  if (*to < 0) *to += size;
  if (*from < 0 || *from > *to || *to > size) return {};
  return Ints(items->begin() + *from, items->begin() + *to);
}

Result with_element(const ExprScope& scope, Args args) {
  auto items = integers(scope, args[0]);
  const auto index = integer(scope, args[1]);
  const auto value = integer(scope, args[2]);
  if (!items || !index || !value) return {};
  const auto at = position(*index, items->size());
  if (!at) return {};
  (*items)[*at] = *value;
  return *items;
}

Result without_element(const ExprScope& scope, Args args) {
  auto items = integers(scope, args[0]);
  const auto index = integer(scope, args[1]);
  if (!items || !index) return {};
  const auto at = position(*index, items->size());
  if (!at) return {};
  items->erase(items->begin() + static_cast<int64_t>(*at));
  return *items;
}

Result repeated(const ExprScope& scope, Args args) {
  const auto value = integer(scope, args[0]);
  const auto count = integer(scope, args[1]);
  if (!value || !count || *count < 0 || *count > 64) return {};
  return Ints(static_cast<size_t>(*count), *value);
}

Result iota(const ExprScope& scope, Args args) {
  const auto count = integer(scope, args[0]);
  if (!count || *count < 0 || *count > 64) return {};
  Ints result(static_cast<size_t>(*count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

template <bool kMin>
Result extreme(const ExprScope& scope, Args args) {
  const auto a = integer(scope, args[0]);
  const auto b = integer(scope, args[1]);
  if (!a || !b) return {};
  return kMin ? std::min(*a, *b) : std::max(*a, *b);
}

// --- Permutations -------------------------------------------------------------------------------

bool is_permutation(const Ints& perm) {
  Ints sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  return true;
}

/// gather(list, indices): [list[i] for i in indices]. gather(p, q) is the permutation that
/// Transpose by p and then by q amount to.
Result gather(const ExprScope& scope, Args args) {
  const auto items = integers(scope, args[0]);
  const auto indices = integers(scope, args[1]);
  if (!items || !indices) return {};
  Ints result;
  for (const int64_t index : *indices) {
    const auto at = position(index, items->size());
    if (!at) return {};
    result.push_back((*items)[*at]);
  }
  return result;
}

Result inverse(const ExprScope& scope, Args args) {
  const auto perm = integers(scope, args[0]);
  if (!perm || !is_permutation(*perm)) return {};
  Ints result(perm->size());
  for (size_t i = 0; i < perm->size(); ++i)
    result[static_cast<size_t>((*perm)[i])] = static_cast<int64_t>(i);
  return result;
}

/// keeps_order(shape, perm): whether transposing leaves all elements in their order, since only
/// axes of extent 1 move.
Result keeps_order(const ExprScope& scope, Args args) {
  const auto extents = integers(scope, args[0]);
  const auto perm = integers(scope, args[1]);
  if (!extents || !perm || extents->size() != perm->size() || !is_permutation(*perm)) return {};
  int64_t last = -1;
  for (const int64_t axis : *perm) {
    if ((*extents)[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return int64_t{0};
    last = axis;
  }
  return int64_t{1};
}

// --- Tensors ------------------------------------------------------------------------------------

/// What kRead says of a tensor's type.
template <auto kRead>
Result of_type(const ExprScope& scope, Args args) {
  const auto t = type(scope, args[0]);
  return t ? Result(kRead(*t)) : Result{};
}

int64_t rank_of(const ExprType& type) { return static_cast<int64_t>(type.shape.size()); }
std::string dtype_of(const ExprType& type) { return std::string(name_of(type.dtype)); }

/// axis(x, a): the axis that a names in x, counted from the front. dim(x, a): its extent.
template <bool kExtent>
Result axis(const ExprScope& scope, Args args) {
  const auto t = type(scope, args[0]);
  const auto index = integer(scope, args[1]);
  if (!t || !index) return {};
  const auto at = position(*index, t->shape.size());
  if (!at) return {};
  return kExtent ? t->shape[*at] : static_cast<int64_t>(*at);
}

/// dims(xs, a): the extents of all tensors of a sequence along axis a.
Result dims(const ExprScope& scope, Args args) {
  const auto index = integer(scope, args[1]);
  if (!index) return {};
  Ints result;
  for (const ValueId value : scope.tensors(args[0])) {
    if (!value.valid()) return {};
    const Shape& extents = scope.graph.type(value).shape_at(scope.sample);
    const auto at = position(*index, extents.size());
    if (!at) return {};
    result.push_back(extents[*at]);
  }
  return result;
}

Result count(const ExprScope& scope, Args args) {
  return static_cast<int64_t>(scope.tensors(args[0]).size());
}

Result present(const ExprScope& scope, Args args) {
  return int64_t{tensor(scope, args[0]).has_value()};
}

Result is_constant(const ExprScope& scope, Args args) {
  const auto values = scope.tensors(args[0]);
  return int64_t{std::all_of(values.begin(), values.end(), [&](ValueId value) {
    return !value.valid() || scope.graph.is_constant(value);
  })};
}

/// splat(c): the value that every element of the small constant c has.
Result splat(const ExprScope& scope, Args args) {
  const auto value = tensor(scope, args[0]);
  if (!value) return {};
  const WeightPtr& weight = scope.graph.weight(scope.graph.producer(*value));
  if (weight == nullptr || !weight->is_small() || weight->type().elements() == 0) return {};
  if (weight->is_fill()) return weight->fill_value();
  if (weight->type().elements() > Weight::kSmallWeight && is_floating(weight->type().dtype))
    return {};  // known, but no fill
  const std::vector<double> elements = weight->materialize().to_doubles();
  if (std::any_of(elements.begin(), elements.end(), [&](double e) { return e != elements[0]; }))
    return {};
  return elements[0];
}

/// is_identity(c): whether the small constant c is an identity matrix or convolution kernel.
Result is_identity(const ExprScope& scope, Args args) {
  const auto value = tensor(scope, args[0]);
  if (!value) return {};
  const WeightPtr& weight = scope.graph.weight(scope.graph.producer(*value));
  return int64_t{weight != nullptr && weight->is_identity_kernel()};
}

Result uses(const ExprScope& scope, Args args) {
  const auto value = tensor(scope, args[0]);
  return value ? Result(int64_t{scope.graph.use_count(*value)}) : Result{};
}

/// broadcast(s, t): the shape to which two shapes broadcast.
Result broadcast_shape(const ExprScope& scope, Args args) {
  const auto a = integers(scope, args[0]);
  const auto b = integers(scope, args[1]);
  if (!a || !b) return {};
  Shape result(std::max(a->size(), b->size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a->size() ? (*a)[a->size() - 1 - i] : 1;
    const int64_t y = i < b->size() ? (*b)[b->size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return {};
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

const std::vector<ExprFunction>& functions() {
  static const std::vector<ExprFunction> table = {
      {"+", 2, 2, 0, false, arithmetic<'+'>},
      {"-", 2, 2, 0, false, arithmetic<'-'>},
      {"*", 2, 2, 0, false, arithmetic<'*'>},
      {"/", 2, 2, 0, false, arithmetic<'/'>},
      {"%", 2, 2, 0, false, arithmetic<'%'>},
      {"<", 2, 2, 0, false, compare<std::less<>>},
      {"<=", 2, 2, 0, false, compare<std::less_equal<>>},
      {">", 2, 2, 0, false, compare<std::greater<>>},
      {">=", 2, 2, 0, false, compare<std::greater_equal<>>},
      {"==", 2, 2, 0, false, equal},
      {"!=", 2, 2, 0, false, unequal},
      {"&&", 2, 2, 0, false, both},
      {"||", 2, 2, 0, false, either},
      {"!", 1, 1, 0, false, negation},
      {"if", 3, 3, 0, false, choose},
      {"[]", 0, 64, 0, false, list},
      {"at", 2, 2, 0, false, element},
      {"len", 1, 1, 0, false, length},
      {"sum", 1, 1, 0, false, total<'+', 0>},
      {"product", 1, 1, 0, false, total<'*', 1>},
      {"++", 2, 2, 0, false, join},
      {"slice", 3, 3, 0, false, slice},
      {"with", 3, 3, 0, false, with_element},
      {"without", 2, 2, 0, false, without_element},
      {"repeat", 2, 2, 0, false, repeated},
      {"iota", 1, 1, 0, false, iota},
      {"min", 2, 2, 0, false, extreme<true>},
      {"max", 2, 2, 0, false, extreme<false>},
      {"gather", 2, 2, 0, false, gather},
      {"inverse", 1, 1, 0, false, inverse},
      {"keeps_order", 2, 2, 0, false, keeps_order},
      {"broadcast", 2, 2, 0, false, broadcast_shape},
      {"shape", 1, 1, 1, false, of_type<[](const ExprType& t) { return t.shape; }>},
      {"rank", 1, 1, 1, false, of_type<rank_of>},
      {"size", 1, 1, 1, false, of_type<[](const ExprType& t) { return element_count(t.shape); }>},
      {"dtype", 1, 1, 1, false, of_type<dtype_of>},
      {"is_float", 1, 1, 1, false,
       of_type<[](const ExprType& t) { return int64_t{is_floating(t.dtype)}; }>},
      {"dim", 2, 2, 1, false, axis<true>},
      {"axis", 2, 2, 1, false, axis<false>},
      {"dims", 2, 2, 1, false, dims},
      {"count", 1, 1, 1, false, count},
      {"present", 1, 1, 1, false, present},
      {"is_const", 1, 1, 1, false, is_constant},
      {"splat", 1, 1, 1, false, splat},
      {"is_identity", 1, 1, 1, false, is_identity},
      {"uses", 1, 1, 1, true, uses},
  };
  return table;
}

}  // namespace

std::span<const ValueId> ExprScope::tensors(const Expr& expr) const {
  const auto i = static_cast<size_t>(expr.index);
  return std::span(binding.values)
      .subspan(static_cast<size_t>(binding.offsets[i]),
               static_cast<size_t>(binding.offsets[i + 1] - binding.offsets[i]));
}

std::span<const ExprFunction> expr_functions() { return functions(); }

const ExprFunction* find_expr_function(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const ExprFunction*> map;
    for (const ExprFunction& function : functions()) map.emplace(function.name, &function);
    return map;
  }();
  const auto at = index.find(name);
  return at == index.end() ? nullptr : at->second;
}

std::optional<AttrValue> evaluate(const Expr& expr, const ExprScope& scope) {
  switch (expr.kind) {
    case Expr::Kind::kLiteral:
      return expr.literal;
    case Expr::Kind::kVariable:
      return scope.variables[static_cast<size_t>(expr.index)];
    case Expr::Kind::kAttribute: {
      const NodeId node = scope.binding.nodes[static_cast<size_t>(expr.index)];
      const AttrValue* value = scope.graph.attributes(node).find(expr.name, scope.sample);
      return value ? Result(*value) : Result{};
    }
    case Expr::Kind::kCall:
      return expr.function->call(scope, expr.args);
    case Expr::Kind::kTensor:
      break;
  }
  return {};
}

bool holds(const Expr& expr, const ExprScope& scope) {
  const auto value = evaluate(expr, scope);
  return value && as_number(*value).value_or(0) != 0;
}

bool reads_uses(const Expr& expr) {
  return (expr.function != nullptr && expr.function->reads_uses) ||
         std::any_of(expr.args.begin(), expr.args.end(), reads_uses);
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (a.index() == b.index()) return a == b;
  const auto x = as_number(a);
  const auto y = as_number(b);
  if (x && y) return *x == *y;
  const auto empty = [](const AttrValue& value) {
    return std::visit(
        [](const auto& v) {
          if constexpr (requires { v.begin(); }) return v.empty();
          return false;
        },
        value);
  };
  return !x && !y && empty(a) && empty(b);
}

}  // namespace reverie
