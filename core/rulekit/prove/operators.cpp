#include "core/rulekit/prove/operators.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"

namespace reverie::prove {
namespace {

using List = std::vector<z3::expr>;

const z3::expr& number(const SymbolicAttributes& attributes, const std::string& name) {
  const auto at = attributes.find(name);
  if (at == attributes.end() || !std::holds_alternative<z3::expr>(at->second))
    throw InputError("attribute '{}' is not known", name);
  return std::get<z3::expr>(at->second);
}

int64_t whole(const SymbolicAttributes& attributes, const std::string& name) {
  const auto value = as_number(number(attributes, name));
  if (!value) throw InputError("attribute '{}' is not known as a number", name);
  return *value;
}

int axis_of(const SymbolicAttributes& attributes, int rank) {
  const int64_t axis = whole(attributes, "axis");
  return normalize_axis(axis, rank);
}

const List& list(const SymbolicAttributes& attributes, const std::string& name) {
  const auto at = attributes.find(name);
  if (at == attributes.end() || !std::holds_alternative<List>(at->second))
    throw InputError("attribute '{}' is not known", name);
  return std::get<List>(at->second);
}

std::vector<int64_t> whole_list(const SymbolicAttributes& attributes, const std::string& name) {
  std::vector<int64_t> result;
  for (const z3::expr& element : list(attributes, name)) {
    const auto value = as_number(element);
    if (!value) throw InputError("attribute '{}' is not known as numbers", name);
    result.push_back(*value);
  }
  return result;
}

void fill_in(SymbolicAttributes& attributes, z3::context& context, const std::string& name,
             size_t size, int value) {
  if (!attributes.contains(name)) attributes.emplace(name, List(size, context.int_val(value)));
}

/// All attributes as texts in a name and numbers among the arguments.
std::string all_attributes(const SymbolicAttributes& attributes, List& numbers) {
  std::string name;
  for (const auto& [key, value] : attributes) {
    if (const auto* text = std::get_if<std::string>(&value)) name += " " + key + "=" + *text;
    if (const auto* e = std::get_if<z3::expr>(&value)) {
      name += " " + key;
      numbers.push_back(*e);
    }
    if (const auto* many = std::get_if<List>(&value)) {
      name += fmt::format(" {}:{}", key, many->size());
      numbers.insert(numbers.end(), many->begin(), many->end());
    }
  }
  return name;
}

bool is_one(const z3::expr& extent) { return as_number(extent) == 1; }

}  // namespace

TensorTerm OperatorTerms::variable(const std::string& name, int rank) {
  const auto size = static_cast<size_t>(rank);
  const z3::expr term = context_.constant(name.c_str(), tensor_sort(size));
  const z3::func_decl extent = extent_of(size);
  TensorTerm result{term, {}};
  for (int axis = 0; axis < rank; ++axis)
    result.extents.push_back(extent(term, context_.int_val(axis)));
  return result;
}

TensorTerm OperatorTerms::apply(const std::string& function, const Tensors& inputs,
                                const List& numbers, List extents) {
  z3::sort_vector sorts(context_);
  z3::expr_vector arguments(context_);
  std::vector<int> ranks;
  for (const TensorTerm& input : inputs) {
    sorts.push_back(input.term.get_sort());
    arguments.push_back(input.term);
    ranks.push_back(input.rank());
  }
  for (const z3::expr& number : numbers) {
    sorts.push_back(number.get_sort());
    arguments.push_back(number);
  }
  const std::string name = fmt::format("{}<{}>{}", function, fmt::join(ranks, ","), extents.size());
  const z3::expr term =
      context_.function(name.c_str(), sorts, tensor_sort(extents.size()))(arguments);
  const z3::func_decl extent = extent_of(extents.size());
  for (size_t axis = 0; axis < extents.size(); ++axis)
    facts.push_back(extent(term, context_.int_val(static_cast<int>(axis))) == extents[axis]);
  return {term, std::move(extents)};
}

TensorTerm OperatorTerms::filled(const z3::expr& value, const List& extents) {
  List numbers = extents;
  numbers.push_back(value.is_int() ? z3::to_real(value).simplify() : value);
  return apply("fill", {}, numbers, extents);
}

TensorTerm OperatorTerms::identity(const List& extents) {
  return apply("identity", {}, extents, extents);
}

TensorTerm OperatorTerms::elementwise(const std::string& op, const TensorTerm& a,
                                      const TensorTerm& b) {
  const auto rank = static_cast<size_t>(std::max(a.rank(), b.rank()));
  List extents;
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto of = [&](const TensorTerm& x) {
      const size_t missing = rank - x.extents.size();
      return axis < missing ? context_.int_val(1) : x.extents[axis - missing];
    };
    const z3::expr x = of(a), y = of(b);
    if (z3::eq(x, y) || is_one(y)) {
      extents.push_back(x);
    } else if (is_one(x)) {
      extents.push_back(y);
    } else {
      demand(x == y || x == 1 || y == 1);
      extents.push_back(z3::ite(x == 1, y, x));
    }
  }
  return apply(op, {a, b}, {}, extents);
}

TensorTerm OperatorTerms::unary(const std::string& op, const TensorTerm& x,
                                const Attributes& attributes) {
  List numbers;
  const std::string name = op + all_attributes(attributes, numbers);
  return apply(name, {x}, numbers, x.extents);
}

TensorTerm OperatorTerms::activated(const TensorTerm& x, const Attributes& attributes) {
  const auto at = attributes.find("activation");
  if (at == attributes.end()) return x;
  if (!std::holds_alternative<std::string>(at->second))
    throw InputError("the activation is not known");
  const std::string& activation = std::get<std::string>(at->second);
  if (activation == "\"none\"") return x;
  return unary(activation == "\"relu\""   ? "Relu"
               : activation == "\"tanh\"" ? "Tanh"
                                          : "Sigmoid",
               x, {});
}

TensorTerm OperatorTerms::matmul(const TensorTerm& a, const TensorTerm& b) {
  if (a.rank() < 2 || b.rank() < 2) throw InputError("MatMul of a vector");
  const auto rank = static_cast<size_t>(std::max(a.rank(), b.rank()));
  const auto of = [&](const TensorTerm& x, size_t axis) {
    const size_t missing = rank - x.extents.size();
    return axis < missing ? context_.int_val(1) : x.extents[axis - missing];
  };
  List extents;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    const z3::expr x = of(a, axis), y = of(b, axis);
    if (is_one(y)) {
      extents.push_back(x);
      continue;
    }
    if (is_one(x)) {
      extents.push_back(y);
      continue;
    }
    demand(x == y || x == 1 || y == 1);
    extents.push_back(z3::ite(x == 1, y, x));
  }
  demand(a.extents.back() == b.extents.end()[-2]);
  extents.push_back(a.extents.end()[-2]);
  extents.push_back(b.extents.back());
  return apply("MatMul", {a, b}, {}, extents);
}

TensorTerm OperatorTerms::gemm(const TensorTerm& a, const TensorTerm& b,
                               const Attributes& attributes) {
  const int64_t ta = whole(attributes, "transA"), tb = whole(attributes, "transB");
  demand(a.extents[ta != 0 ? 0 : 1] == b.extents[tb != 0 ? 1 : 0]);
  return apply(fmt::format("Gemm {}{}", ta, tb), {a, b}, {number(attributes, "alpha")},
               {a.extents[ta != 0 ? 1 : 0], b.extents[tb != 0 ? 0 : 1]});
}

z3::expr OperatorTerms::window(const TensorTerm& x, size_t i, const z3::expr& kernel,
                               const Attributes& attributes) {
  const size_t spatial = x.extents.size() - 2;
  z3::expr_vector arguments(context_);
  z3::sort_vector sorts(context_);
  const List& pads = list(attributes, "pads");
  List all = {x.extents[i + 2], kernel, list(attributes, "strides")[i], pads[i], pads[i + spatial]};
  if (attributes.contains("dilations")) all.push_back(list(attributes, "dilations")[i]);
  if (attributes.contains("ceil_mode")) all.push_back(number(attributes, "ceil_mode"));
  for (const z3::expr& e : all) {
    arguments.push_back(e);
    sorts.push_back(context_.int_sort());
  }
  demand(context_.function("fits", sorts, context_.bool_sort())(arguments));
  return context_.function("positions", sorts, context_.int_sort())(arguments);
}

TensorTerm OperatorTerms::conv(const TensorTerm& x, const TensorTerm& w, const Attributes& given) {
  Attributes attributes = given;
  const size_t spatial = x.extents.size() - 2;
  fill_in(attributes, context_, "strides", spatial, 1);
  fill_in(attributes, context_, "pads", 2 * spatial, 0);
  fill_in(attributes, context_, "dilations", spatial, 1);
  attributes.erase("activation");
  const z3::expr group = number(attributes, "group");
  const z3::sort integer = context_.int_sort();
  if (as_number(group) == 1) {
    demand(x.extents[1] == w.extents[1]);
  } else if (as_number(group)) {
    demand(x.extents[1] == group * w.extents[1] && z3::mod(w.extents[0], group) == 0);
    facts.push_back(group == quotient_of(x.extents[1], w.extents[1]));
  } else {
    // group divides both: x's channels are group times the filter's, and so are the filters'.
    z3::sort_vector sorts(context_);
    for (int i = 0; i < 4; ++i) sorts.push_back(integer);
    z3::expr_vector arguments(context_);
    for (const z3::expr& e : {group, x.extents[1], w.extents[1], w.extents[0]})
      arguments.push_back(e);
    demand(context_.function("groups", sorts, context_.bool_sort())(arguments));
    facts.push_back(group == quotient_of(x.extents[1], w.extents[1]));
    facts.push_back(z3::implies(x.extents[1] == w.extents[1], group == 1));
  }
  List extents = {x.extents[0], w.extents[0]};
  for (size_t i = 0; i < spatial; ++i)
    extents.push_back(window(x, i, w.extents[i + 2], attributes));
  List numbers;
  const std::string name = "Conv" + all_attributes(attributes, numbers);
  return apply(name, {x, w}, numbers, extents);
}

TensorTerm OperatorTerms::channels(const TensorTerm& bias, int rank) {
  List extents(static_cast<size_t>(rank - 1), context_.int_val(1));
  extents[0] = bias.extents.at(0);
  return apply("Channels", {bias}, {}, extents);
}

TensorTerm OperatorTerms::product(const OpSchema& op, const std::vector<OptionalTensor>& inputs,
                                  const Attributes& attributes) {
  const auto present = [&](size_t i) { return i < inputs.size() && inputs[i].has_value(); };
  if (!present(0) || !present(1)) throw InputError("{} lacks an input", op.name);
  TensorTerm result = op.is("Conv")   ? conv(*inputs[0], *inputs[1], attributes)
                      : op.is("Gemm") ? gemm(*inputs[0], *inputs[1], attributes)
                                      : matmul(*inputs[0], *inputs[1]);
  if (present(2)) {
    TensorTerm bias = *inputs[2];
    if (op.is("Conv")) {
      demand(bias.extents.at(0) == result.extents[1]);
      bias = channels(bias, result.rank());
    }
    if (op.is("Gemm")) bias = elementwise("Mul", bias, filled(number(attributes, "beta"), {}));
    const List extents = result.extents;
    result = elementwise("Add", result, bias);
    for (size_t axis = 0; axis < extents.size(); ++axis)
      demand(result.extents.at(axis) == extents[axis]);
  }
  if (present(3)) {
    for (size_t axis = 0; axis < result.extents.size(); ++axis)
      demand(inputs[3]->extents.at(axis) == result.extents[axis]);
    result = elementwise("Add", result, *inputs[3]);
  }
  return activated(result, attributes);
}

TensorTerm OperatorTerms::concat(const TensorTerm& a, const TensorTerm& b, int axis) {
  if (a.rank() != b.rank()) throw InputError("Concat of different ranks");
  List extents = a.extents;
  for (int i = 0; i < a.rank(); ++i)
    if (i != axis) demand(a.extents[static_cast<size_t>(i)] == b.extents[static_cast<size_t>(i)]);
  const auto at = static_cast<size_t>(axis);
  extents[at] = a.extents[at] + b.extents[at];
  return apply(fmt::format("Concat@{}", axis), {a, b}, {}, extents);
}

OperatorTerms::Tensors OperatorTerms::split(const TensorTerm& x, const Attributes& attributes) {
  const int axis = axis_of(attributes, x.rank());
  const auto at = static_cast<size_t>(axis);
  const List& sizes = list(attributes, "split");
  Tensors parts;
  TensorTerm rest = x;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    demand(sizes[i] >= 1 && sizes[i] < rest.extents[at]);
    List first = rest.extents, second = rest.extents;
    first[at] = sizes[i];
    second[at] = rest.extents[at] - sizes[i];
    parts.push_back(apply(fmt::format("First@{}", axis), {rest}, {sizes[i]}, first));
    rest = apply(fmt::format("Rest@{}", axis), {rest}, {sizes[i]}, second);
  }
  demand(sizes.back() == rest.extents[at]);
  parts.push_back(rest);
  return parts;
}

TensorTerm OperatorTerms::transpose(const TensorTerm& x, const Attributes& attributes) {
  const std::vector<int64_t> order = whole_list(attributes, "perm");
  List extents;
  for (const int64_t axis : order) extents.push_back(x.extents.at(static_cast<size_t>(axis)));
  return apply(fmt::format("Transpose [{}]", fmt::join(order, ",")), {x}, {}, extents);
}

TensorTerm OperatorTerms::reshape(const TensorTerm& x, const List& shape) {
  demand(product_of(context_, shape) == product_of(context_, x.extents));
  return apply("Reshape", {x}, shape, shape);
}

TensorTerm OperatorTerms::pool(const OpSchema& op, const TensorTerm& x, const Attributes& given) {
  Attributes attributes = given;
  const size_t spatial = x.extents.size() - 2;
  fill_in(attributes, context_, "strides", spatial, 1);
  fill_in(attributes, context_, "pads", 2 * spatial, 0);
  if (op.is("MaxPool")) fill_in(attributes, context_, "dilations", spatial, 1);
  List extents = {x.extents[0], x.extents[1]};
  for (size_t i = 0; i < spatial; ++i)
    extents.push_back(window(x, i, list(attributes, "kernel_shape")[i], attributes));
  List numbers;
  const std::string name = op.name + all_attributes(attributes, numbers);
  return apply(name, {x}, numbers, extents);
}

TensorTerm OperatorTerms::reduce(const OpSchema& op, const TensorTerm& x,
                                 const Attributes& attributes) {
  std::vector<int64_t> axes = whole_list(attributes, "axes");
  const bool keep = whole(attributes, "keepdims") != 0;
  List extents;
  for (size_t axis = 0; axis < x.extents.size(); ++axis) {
    const bool reduced = std::ranges::find(axes, static_cast<int64_t>(axis)) != axes.end();
    if (!reduced)
      extents.push_back(x.extents[axis]);
    else if (keep)
      extents.push_back(context_.int_val(1));
  }
  return apply(fmt::format("{} [{}]", op.name, fmt::join(axes, ",")), {x}, {}, extents);
}

TensorTerm OperatorTerms::softmax(const TensorTerm& x, const Attributes& attributes) {
  return apply(fmt::format("Softmax@{}", axis_of(attributes, x.rank())), {x}, {}, x.extents);
}

std::vector<TensorTerm> OperatorTerms::make(const OpSchema& op,
                                            const std::vector<OptionalTensor>& inputs,
                                            Attributes attributes, size_t outputs) {
  for (const AttrSpec& spec : op.attributes)
    if (spec.fallback && !attributes.contains(spec.name))
      attributes.emplace(spec.name, symbolic(context_, *spec.fallback));
  if (op.is("Conv") || op.is("MatMul") || op.is("Gemm")) return {product(op, inputs, attributes)};
  Tensors in;
  for (const OptionalTensor& input : inputs) {
    if (!input) throw InputError("{} lacks an input", op.name);
    in.push_back(*input);
  }
  if (op.is("Identity") || op.is("Dropout")) return {in.at(0)};
  if (op.is("Concat")) {
    TensorTerm all = in.at(0);
    for (size_t i = 1; i < in.size(); ++i)
      all = concat(all, in[i], axis_of(attributes, all.rank()));
    return {all};
  }
  if (op.is("Split")) {
    Tensors parts = split(in.at(0), attributes);
    if (parts.size() != outputs) throw InputError("Split makes {} parts", parts.size());
    return parts;
  }
  if (op.is("Transpose")) return {transpose(in.at(0), attributes)};
  if (op.is("Reshape")) return {reshape(in.at(0), list(attributes, "shape"))};
  if (op.is("Softmax")) return {softmax(in.at(0), attributes)};
  if (op.is("MaxPool") || op.is("AveragePool")) return {pool(op, in.at(0), attributes)};
  if (op.name.starts_with("Reduce")) return {reduce(op, in.at(0), attributes)};
  if (op.elementwise && op.attributes.empty() && in.size() == 2)
    return {elementwise(op.name, in[0], in[1])};
  if (op.elementwise && in.size() == 1 && !op.is("Cast"))
    return {unary(op.name, in[0], attributes)};
  throw InputError("no axiom speaks of {}", op.name);
}

}  // namespace reverie::prove
