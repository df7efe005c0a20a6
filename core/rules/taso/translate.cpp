#include "core/rules/taso/translate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace reverie {
namespace {

const char* operator_name(int type) {
  switch (type) {
    case taso_op::kConv: return "Conv";
    case taso_op::kRelu: return "Relu";
    case taso_op::kSigmoid: return "Sigmoid";
    case taso_op::kTanh: return "Tanh";
    case taso_op::kConcat: return "Concat";
    case taso_op::kSplit: return "Split";
    case taso_op::kAdd: return "Add";
    case taso_op::kMul: return "Mul";
    default: return "MatMul";
  }
}

std::string activation_of(const TasoOp& op) {
  static constexpr const char* kNames[] = {"none", "sigmoid", "relu", "tanh"};
  const int number = op.parameter(taso_key::kActivation, 0);
  if (number < 0 || number > 3) throw InputError("activation {} is not one of 0 to 3", number);
  return fmt::format("activation = \"{}\"", kNames[number]);
}

void check_convolution(const TasoOp& op) {
  for (const int key : {taso_key::kStrideHeight, taso_key::kStrideWidth})
    if (op.parameter(key, 1) != 1)
      throw InputError("a convolution of stride {}: only stride 1 is understood",
                       op.parameter(key, 1));
  if (op.parameter(taso_key::kPadding, 0) != 0)
    throw InputError("a convolution without padding: only padding 'same' is understood");
}

bool is_ungrouped(TasoNarrowing narrowing) {
  return narrowing == TasoNarrowing::kUngrouped || narrowing == TasoNarrowing::kBoth;
}
bool has_equal_filters(TasoNarrowing narrowing) {
  return narrowing == TasoNarrowing::kEqualFilters || narrowing == TasoNarrowing::kBoth;
}

/// Filters of the source's convolutions, each once.
std::vector<TasoTensor> filters_of(const TasoRule& rule) {
  std::vector<TasoTensor> filters;
  for (const TasoOp& op : rule.source)
    if (op.type == taso_op::kConv &&
        std::find(filters.begin(), filters.end(), op.inputs[1]) == filters.end())
      filters.push_back(op.inputs[1]);
  return filters;
}

class Translator {
 public:
  Translator(const TasoRule& rule, const TasoLayout& layout, TasoNarrowing narrowing)
      : rule_(rule), layout_(layout), narrowing_(narrowing) {}

  std::string run(const std::string& name, const std::vector<std::string>& remarks,
                  const std::vector<std::string>& examples) {
    std::string text = fmt::format("rule {}\n", name);
    for (const std::string& remark : remarks) text += fmt::format("# {}\n", remark);
    if (falls_apart()) text += "apart\n";
    text += "match\n";
    for (size_t i = 0; i < rule_.source.size(); ++i) text += source_line(static_cast<int>(i));
    std::string where;
    for (const std::string& condition : conditions()) where += "  " + condition + "\n";
    if (!where.empty()) text += "where\n" + where;
    text += "replace\n";
    name_target();
    for (size_t i = 0; i < rule_.target.size(); ++i) text += target_line(static_cast<int>(i));
    for (const auto& [source, target] : copies_)
      text += fmt::format("  {} = {}\n", source_name(source), target_name(target));
    for (const std::string& example : examples) text += "example " + example + "\n";
    return text;
  }

 private:
  std::string source_name(TasoTensor tensor) const {
    const bool input = tensor.op < 0;
    return taso_name('s', tensor,
                     input ? 1 : rule_.source[static_cast<size_t>(tensor.op)].outputs());
  }
  std::string target_name(TasoTensor tensor) const {
    const auto at = target_names_.find(tensor);
    return at != target_names_.end() ? at->second : source_name(tensor);
  }

  /// The first source output that a target output is to replace gives it its name.
  void name_target() {
    std::set<TasoTensor> replaced;
    for (const TasoOutput& output : rule_.outputs) {
      if (!replaced.insert(output.source).second)
        throw InputError("output {} of source operator {} is replaced twice", output.source.output,
                         output.source.op);
      if (output.target.op < 0 || target_names_.contains(output.target))
        copies_.emplace_back(output.source, output.target);
      else
        target_names_[output.target] = source_name(output.source);
    }
    for (int i = 0; i < static_cast<int>(rule_.target.size()); ++i) {
      const int outputs = rule_.target[static_cast<size_t>(i)].outputs();
      for (int k = 0; k < outputs; ++k)
        target_names_.emplace(TasoTensor{i, k}, taso_name('t', {i, k}, outputs));
    }
  }

  bool falls_apart() const {
    std::vector<std::set<TasoTensor>> groups;
    for (size_t i = 0; i < rule_.source.size(); ++i) {
      std::set<TasoTensor> group(rule_.source[i].inputs.begin(), rule_.source[i].inputs.end());
      for (int k = 0; k < rule_.source[i].outputs(); ++k) group.insert({static_cast<int>(i), k});
      for (size_t g = groups.size(); g-- > 0;) {
        const bool shared = std::any_of(group.begin(), group.end(), [&](TasoTensor tensor) {
          return groups[g].contains(tensor);
        });
        if (!shared) continue;
        group.insert(groups[g].begin(), groups[g].end());
        groups.erase(groups.begin() + static_cast<int64_t>(g));
      }
      groups.push_back(std::move(group));
    }
    return groups.size() > 1;
  }

  // --- Source -----------------------------------------------------------------------------------

  std::string source_line(int index) const {
    const TasoOp& op = rule_.source[static_cast<size_t>(index)];
    std::vector<std::string> outputs, inputs;
    for (int k = 0; k < op.outputs(); ++k) outputs.push_back(source_name({index, k}));
    for (const TasoTensor& input : op.inputs) inputs.push_back(source_name(input));
    return fmt::format("  {} = {}({}{})\n", fmt::join(outputs, ", "), operator_name(op.type),
                       fmt::join(inputs, ", "), source_attributes(op));
  }

  std::string source_attributes(const TasoOp& op) const {
    switch (op.type) {
      case taso_op::kConcat:
      case taso_op::kSplit:
        return fmt::format("; axis = {}", op.parameter(taso_key::kAxis, 0));
      case taso_op::kMatMul: return "; " + activation_of(op);
      case taso_op::kConv: {
        check_convolution(op);
        const bool open = !is_ungrouped(narrowing_) && !op.parameters.contains(taso_key::kGroup);
        const int groups = op.parameter(taso_key::kGroup, 1);
        return fmt::format("; strides = [1, 1], dilations = [1, 1], {}{}",
                           open ? "" : fmt::format("group = {}, ", groups), activation_of(op));
      }
      default: return "";
    }
  }

  std::vector<std::string> conditions() const {
    std::vector<std::string> result;
    for (const auto& [input, rank] : layout_.fixed_ranks)
      if (in_source(input))
        result.push_back(fmt::format("rank({}) == {}", source_name({input, 0}), rank));
    for (int i = 0; i < static_cast<int>(rule_.source.size()); ++i) add_conditions(i, result);
    const auto filters = filters_of(rule_);
    if (has_equal_filters(narrowing_))
      for (size_t i = 1; i < filters.size(); ++i)
        result.push_back(fmt::format("shape({}) == shape({})", source_name(filters[0]),
                                     source_name(filters[i])));
    return result;
  }

  void add_conditions(int index, std::vector<std::string>& result) const {
    const TasoOp& op = rule_.source[static_cast<size_t>(index)];
    const std::string a = source_name(op.inputs[0]);
    const std::string b = source_name(op.inputs.back());
    if ((op.type == taso_op::kAdd || op.type == taso_op::kMul) && a != b)
      result.push_back(fmt::format("shape({}) == shape({})", a, b));
    if (op.type == taso_op::kMatMul && !is_matrix(op.inputs[0]) && a != b) {
      result.push_back(fmt::format("rank({0}) >= 2, rank({0}) == rank({1})", a, b));
      result.push_back(fmt::format("slice(shape({}), 0, -2) == slice(shape({}), 0, -2)", a, b));
    }
    if (op.type == taso_op::kConv)
      result.push_back(fmt::format("{0}.pads == [(dim({1}, 2) - 1) / 2, (dim({1}, 3) - 1) / 2, "
                                   "dim({1}, 2) / 2, dim({1}, 3) / 2]",
                                   source_name({index, 0}), b));
    for (int k = 0; k < op.outputs(); ++k) {
      const int uses = uses_of({index, k});
      if (uses > 0 && !replaced({index, k}))
        result.push_back(fmt::format("uses({}) == {}", source_name({index, k}), uses));
    }
  }

  /// Whether the rule fixes its number of dimensions to two, as it does those of all inputs.
  bool is_matrix(TasoTensor tensor) const {
    return layout_.fixed_ranks.size() == layout_.inputs.size() &&
           layout_.source_tensor(tensor).shape.size() == 2;
  }

  int uses_of(TasoTensor tensor) const {
    int64_t uses = 0;
    for (const TasoOp& op : rule_.source)
      uses += std::count(op.inputs.begin(), op.inputs.end(), tensor);
    return static_cast<int>(uses);
  }
  bool replaced(TasoTensor tensor) const {
    return std::any_of(rule_.outputs.begin(), rule_.outputs.end(),
                       [&](const TasoOutput& output) { return output.source == tensor; });
  }
  bool in_source(int input) const { return uses_of({input, 0}) > 0; }

  // --- Target -----------------------------------------------------------------------------------

  std::string target_line(int index) const {
    const TasoOp& op = rule_.target[static_cast<size_t>(index)];
    std::vector<std::string> outputs, inputs;
    for (int k = 0; k < op.outputs(); ++k) outputs.push_back(target_name({index, k}));
    for (const TasoTensor& input : op.inputs) {
      if (input.op < 0 && !in_source(input.op))
        throw InputError("the target reads {}, which the source does not hold", target_name(input));
      inputs.push_back(target_name(input));
    }
    return fmt::format("  {} = {}({}{})\n", fmt::join(outputs, ", "), operator_name(op.type),
                       fmt::join(inputs, ", "), target_attributes(op));
  }

  std::string target_attributes(const TasoOp& op) const {
    switch (op.type) {
      case taso_op::kConcat: return fmt::format("; axis = {}", op.parameter(taso_key::kAxis, 0));
      case taso_op::kSplit: {
        const auto axis = static_cast<size_t>(op.parameter(taso_key::kAxis, 0));
        std::vector<std::string> sizes;
        for (const TasoExtent& piece : layout_.target_tensor(op.inputs[0]).pieces[axis])
          sizes.push_back(text(piece));
        return fmt::format("; axis = {}, split = [{}]", axis, fmt::join(sizes, ", "));
      }
      case taso_op::kMatMul: return "; " + activation_of(op);
      case taso_op::kConv: return convolution_attributes(op);
      default: return "";
    }
  }

  std::string convolution_attributes(const TasoOp& op) const {
    check_convolution(op);
    const auto& x = layout_.target_tensor(op.inputs[0]);
    const auto& w = layout_.target_tensor(op.inputs[1]);
    const std::string height = text(w.shape[2]);
    const std::string width = text(w.shape[3]);
    const auto stated = op.parameters.find(taso_key::kGroup);
    const std::string groups =
        stated != op.parameters.end()
            ? std::to_string(stated->second)
            : fmt::format("({}) / ({})", text(x.shape[1]), text(w.shape[1]));
    return fmt::format("; strides = [1, 1], dilations = [1, 1], pads = [({0} - 1) / 2, ({1} - 1) / 2, "
                       "{0} / 2, {1} / 2], group = {2}, {3}",
                       height, width, groups, activation_of(op));
  }

  std::string text(const TasoExtent& extent) const {
    std::vector<std::string> terms;
    for (const int symbol : extent) {
      const auto& [tensor, axis] = layout_.symbols[static_cast<size_t>(symbol)];
      terms.push_back(fmt::format("dim({}, {})", source_name(tensor), axis));
    }
    return fmt::format("{}", fmt::join(terms, " + "));
  }

  const TasoRule& rule_;
  const TasoLayout& layout_;
  TasoNarrowing narrowing_;
  std::map<TasoTensor, std::string> target_names_;
  std::vector<std::pair<TasoTensor, TasoTensor>> copies_;
};

}  // namespace

std::string text_of(TasoNarrowing narrowing) {
  switch (narrowing) {
    case TasoNarrowing::kUngrouped: return "convolutions of one group";
    case TasoNarrowing::kEqualFilters: return "filters of equal shape";
    case TasoNarrowing::kBoth: return "convolutions of one group with filters of equal shape";
    case TasoNarrowing::kNone: break;
  }
  return "";
}

TasoLayout narrowed(TasoLayout layout, const TasoRule& rule, TasoNarrowing narrowing) {
  for (const auto& convolution : layout.convolutions)
    if (convolution.open && is_ungrouped(narrowing))
      layout.equations.emplace_back(convolution.channels, convolution.filter_channels);
  const auto filters = filters_of(rule);
  for (size_t i = 1; has_equal_filters(narrowing) && i < filters.size(); ++i)
    for (size_t axis = 0; axis < 4; ++axis)
      layout.equations.emplace_back(layout.source_tensor(filters[0]).shape[axis],
                                    layout.source_tensor(filters[i]).shape[axis]);
  return layout;
}

std::string translate(const TasoRule& rule, const TasoLayout& layout, const std::string& name,
                      TasoNarrowing narrowing, const std::vector<std::string>& remarks,
                      const std::vector<std::string>& examples) {
  return Translator(rule, layout, narrowing).run(name, remarks, examples);
}

std::string example_text(const TasoRule& rule, const TasoLayout& layout,
                         const std::vector<int64_t>& values) {
  std::vector<std::string> parts;
  std::set<int> seen;
  for (const TasoOp& op : rule.source)
    for (const TasoTensor& input : op.inputs)
      if (input.op < 0 && seen.insert(input.op).second)
        parts.push_back(fmt::format("{}: [{}]", taso_name('s', input, 1),
                                    fmt::join(shape_of(layout.inputs.at(input.op), values), ", ")));
  for (int i = 0; i < static_cast<int>(rule.source.size()); ++i) {
    const TasoOp& op = rule.source[static_cast<size_t>(i)];
    const std::string name = taso_name('s', {i, 0}, op.outputs());
    if (op.type == taso_op::kConv) {
      const Shape x = shape_of(layout.source_tensor(op.inputs[0]), values);
      const Shape w = shape_of(layout.source_tensor(op.inputs[1]), values);
      parts.push_back(fmt::format("{0}.pads = [{1}, {2}, {3}, {4}], {0}.group = {5}", name,
                                  (w[2] - 1) / 2, (w[3] - 1) / 2, w[2] / 2, w[3] / 2, x[1] / w[1]));
    } else if (op.type == taso_op::kSplit) {
      std::vector<int64_t> sizes;
      for (const auto& part : layout.source[static_cast<size_t>(i)])
        sizes.push_back(
            shape_of(part, values)[static_cast<size_t>(op.parameter(taso_key::kAxis, 0))]);
      parts.push_back(fmt::format("{}.split = [{}]", name, fmt::join(sizes, ", ")));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

namespace {

/// A tensor written out as the expression that computes it.
std::string term(const std::vector<TasoOp>& side, TasoTensor tensor,
                 const std::map<int, int>& names) {
  if (tensor.op < 0) return fmt::format("x{}", names.at(tensor.op));
  const TasoOp& op = side[static_cast<size_t>(tensor.op)];
  std::vector<std::string> inputs;
  for (const TasoTensor& input : op.inputs) inputs.push_back(term(side, input, names));
  if (op.type == taso_op::kAdd || op.type == taso_op::kMul)
    std::sort(inputs.begin(), inputs.end());
  const bool moves = op.type == taso_op::kConcat || op.type == taso_op::kSplit;
  const int attribute = moves ? op.parameter(taso_key::kAxis, 0)
                              : op.parameter(taso_key::kActivation, 0);
  return fmt::format("{}.{}[{}:{}:{}]({})", op.type, tensor.output, attribute,
                     op.parameter(moves ? taso_key::kRank : taso_key::kGroup, 0), op.outputs(),
                     fmt::join(inputs, ","));
}

std::vector<int> inputs_of(const TasoRule& rule) {
  std::set<int> inputs;
  for (const auto* side : {&rule.source, &rule.target})
    for (const TasoOp& op : *side)
      for (const TasoTensor& input : op.inputs)
        if (input.op < 0) inputs.insert(input.op);
  return {inputs.begin(), inputs.end()};
}

std::string form(const TasoRule& rule, const std::map<int, int>& names) {
  std::vector<std::string> outputs;
  for (const TasoOutput& output : rule.outputs)
    outputs.push_back(term(rule.source, output.source, names) + " -> " +
                      term(rule.target, output.target, names));
  std::sort(outputs.begin(), outputs.end());
  return fmt::format("{}", fmt::join(outputs, "; "));
}

}  // namespace

std::string canonical_form(const TasoRule& rule) {
  constexpr size_t kMostPermuted = 6;
  const std::vector<int> inputs = inputs_of(rule);
  std::vector<int> order(inputs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::string best;
  do {
    std::map<int, int> names;
    for (size_t i = 0; i < inputs.size(); ++i) names[inputs[i]] = order[i];
    std::string candidate = form(rule, names);
    if (best.empty() || candidate < best) best = std::move(candidate);
  } while (inputs.size() <= kMostPermuted && std::next_permutation(order.begin(), order.end()));
  return best;
}

bool is_trivial(const TasoRule& rule) {
  std::map<int, int> names;
  for (const int input : inputs_of(rule)) names[input] = input;
  return std::all_of(rule.outputs.begin(), rule.outputs.end(), [&](const TasoOutput& output) {
    return term(rule.source, output.source, names) == term(rule.target, output.target, names);
  });
}

}  // namespace reverie
