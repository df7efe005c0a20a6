#include "core/rulekit/taso/translate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/rulekit/taso/extents.h"
#include "core/rulekit/taso/operators.h"

namespace reverie::taso {
namespace {

std::string activation_of(const TasoOp& op) {
  static constexpr const char* kNames[] = {"none", "sigmoid", "relu", "tanh"};
  const int number = op.parameter(taso_key::kActivation, 0);
  if (number < 0 || number > 3) throw InputError("activation {} is not one of 0 to 3", number);
  return fmt::format("activation = \"{}\"", kNames[number]);
}

void check_window(const TasoOp& op) {
  const char* what = op.type == taso_op::kConv ? "convolution" : "pool";
  for (const int key : {taso_key::kStrideHeight, taso_key::kStrideWidth})
    if (op.parameter(key, 1) != 1)
      throw InputError("a {} of stride {}: only stride 1 is understood", what,
                       op.parameter(key, 1));
  if (op.parameter(taso_key::kPadding, 0) != 0)
    throw InputError("a {} without padding: only padding 'same' is understood", what);
  if (op.type != taso_op::kConv && op.parameter(taso_key::kActivation, 0) != 0)
    throw InputError("a pool with an activation is not understood");
}

std::string pool_attributes(const TasoOp& op) {
  check_window(op);
  const auto [height, width] = kernel_of(op);
  const bool average = op.type == taso_op::kAvgPool;
  return fmt::format(
      "; kernel_shape = [{}, {}], strides = [1, 1], {}pads = [{}, {}, {}, {}], "
      "ceil_mode = 0{}",
      height, width, average ? "" : "dilations = [1, 1], ", (height - 1) / 2, (width - 1) / 2,
      height / 2, width / 2, average ? ", count_include_pad = 1" : "");
}

/// Pads of a filter that is `height` by `width`.
std::string enlarging_pads(const TasoOp& op, const std::string& height, const std::string& width) {
  const auto [to_height, to_width] = kernel_of(op);
  return fmt::format(
      "[0, 0, {0} - ({4} - 1) / 2, {1} - ({5} - 1) / 2, 0, 0, {2} - {4} / 2, "
      "{3} - {5} / 2]",
      (to_height - 1) / 2, (to_width - 1) / 2, to_height / 2, to_width / 2, height, width);
}

/// Attributes that are the same on both sides.
std::string common_attributes(const TasoOp& op) {
  const int axis = op.parameter(taso_key::kAxis, 0);
  switch (op.type) {
    case taso_op::kConcat:
    case taso_op::kSoftmax:
      return fmt::format("; axis = {}", axis);
    case taso_op::kMatMul:
      return "; " + activation_of(op);
    case taso_op::kMaxPool:
    case taso_op::kAvgPool:
      return pool_attributes(op);
    case taso_op::kTranspose:
      return fmt::format("; perm = [{}]", fmt::join(permutation_of(op), ", "));
    case taso_op::kReduceSum:
      return fmt::format("; axes = [{}], keepdims = {}", axis, drops_dimension(op) ? 0 : 1);
    default:
      return "";
  }
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

/// The first tensor that each Concat of the source joins, with each other one.
std::vector<std::pair<TasoTensor, TasoTensor>> joined_inputs(const TasoRule& rule) {
  std::vector<std::pair<TasoTensor, TasoTensor>> result;
  for (const TasoOp& op : rule.source)
    for (size_t i = 1; op.type == taso_op::kConcat && i < op.inputs.size(); ++i)
      if (op.inputs[i] != op.inputs[0]) result.emplace_back(op.inputs[0], op.inputs[i]);
  return result;
}

class Translator {
 public:
  Translator(const TasoRule& rule, TasoLayout layout, TasoNarrowing narrowing)
      : rule_(rule),
        layout_(std::move(layout)),
        narrowing_(narrowing),
        extents_(layout_, [this](TasoTensor tensor) { return source_name(tensor); }) {}

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

  /// A constant of the source is a variable with conditions.
  std::string source_line(int index) const {
    const TasoOp& op = rule_.source[static_cast<size_t>(index)];
    const TasoOpFacts& facts = taso_facts(op.type);
    if (facts.constant()) return "";
    std::vector<std::string> outputs, inputs;
    for (int k = 0; k < op.outputs(); ++k) outputs.push_back(source_name({index, k}));
    for (const TasoTensor& input : op.inputs) inputs.push_back(source_name(input));
    return fmt::format("  {} = {}({}{})\n", fmt::join(outputs, ", "), facts.name,
                       fmt::join(inputs, ", "), source_attributes(index));
  }

  std::string source_attributes(int index) const {
    const TasoOp& op = rule_.source[static_cast<size_t>(index)];
    if (op.type == taso_op::kSplit)
      return fmt::format("; axis = {}", op.parameter(taso_key::kAxis, 0));
    if (op.type == taso_op::kEnlarge) return "; mode = \"constant\", value = 0.0";
    if (op.type != taso_op::kConv) return common_attributes(op);
    check_window(op);
    const bool open = !is_ungrouped(narrowing_) && !op.parameters.contains(taso_key::kGroup);
    const int groups = op.parameter(taso_key::kGroup, 1);
    return fmt::format("; strides = [1, 1], dilations = [1, 1], {}{}",
                       open ? "" : fmt::format("group = {}, ", groups), activation_of(op));
  }

  std::vector<std::string> conditions() const {
    std::vector<std::string> result;
    for (const auto& [input, rank] : layout_.fixed_ranks)
      if (in_source(input))
        result.push_back(fmt::format("rank({}) == {}", source_name({input, 0}), rank));
    if (narrowing_ == TasoNarrowing::kMatrices)
      for (const auto& entry : layout_.inputs)
        if (in_source(entry.first) && !layout_.fixed_ranks.contains(entry.first))
          result.push_back(fmt::format("rank({}) == 2", source_name({entry.first, 0})));
    for (int i = 0; i < static_cast<int>(rule_.source.size()); ++i) add_conditions(i, result);
    const auto filters = filters_of(rule_);
    if (has_equal_filters(narrowing_))
      for (size_t i = 1; i < filters.size(); ++i)
        result.push_back(fmt::format("shape({}) == shape({})", source_name(filters[0]),
                                     source_name(filters[i])));
    if (narrowing_ == TasoNarrowing::kEqualParts)
      for (const auto& [first, other] : joined_inputs(rule_))
        result.push_back(
            fmt::format("shape({}) == shape({})", source_name(first), source_name(other)));
    for (const std::string& condition : extents_.conditions()) result.push_back(condition);
    add_division(result);
    return result;
  }

  /// Quotients of integers are cut off.
  void add_division(std::vector<std::string>& result) const {
    const auto divides = [](const TasoOp& op) { return op.type == taso_op::kDiv; };
    if (std::ranges::none_of(rule_.source, divides) && std::ranges::none_of(rule_.target, divides))
      return;
    for (auto input = layout_.inputs.rbegin(); input != layout_.inputs.rend(); ++input)
      if (in_source(input->first))
        return result.push_back(fmt::format("is_float({})", source_name({input->first, 0})));
  }

  void add_conditions(int index, std::vector<std::string>& result) const {
    const TasoOp& op = rule_.source[static_cast<size_t>(index)];
    const TasoOpFacts& facts = taso_facts(op.type);
    const std::string self = source_name({index, 0});
    if (facts.constant()) return result.push_back(constant_condition(op, self));
    const std::string a = source_name(op.inputs[0]);
    const std::string b = source_name(op.inputs.back());
    if (facts.elementwise && a != b) result.push_back(fmt::format("shape({}) == shape({})", a, b));
    if (op.type == taso_op::kReshape)
      result.push_back(fmt::format("shape({}) == {}", self, merged_shape(op)));
    if (op.type == taso_op::kEnlarge)
      result.push_back(fmt::format(
          "{}.pads == {}", self,
          enlarging_pads(op, fmt::format("dim({}, 2)", a), fmt::format("dim({}, 3)", a))));
    if (op.type == taso_op::kMatMul && !is_matrix(op.inputs[0]) && a != b) {
      result.push_back(fmt::format("rank({0}) >= 2, rank({0}) == rank({1})", a, b));
      result.push_back(fmt::format("slice(shape({}), 0, -2) == slice(shape({}), 0, -2)", a, b));
    }
    if (op.type == taso_op::kConv)
      result.push_back(
          fmt::format("{0}.pads == [(dim({1}, 2) - 1) / 2, (dim({1}, 3) - 1) / 2, "
                      "dim({1}, 2) / 2, dim({1}, 3) / 2]",
                      self, b));
    for (int k = 0; k < op.outputs(); ++k) {
      const int uses = uses_of({index, k});
      if (uses > 0 && !replaced({index, k}))
        result.push_back(fmt::format("uses({}) == {}", source_name({index, k}), uses));
    }
  }

  static std::string constant_condition(const TasoOp& op, const std::string& name) {
    if (op.type == taso_op::kOne) return fmt::format("is_const({0}), splat({0}) == 1", name);
    if (op.type == taso_op::kIdentityMatrix)
      return fmt::format("is_identity({0}), rank({0}) == 2", name);
    const auto [height, width] = kernel_of(op);
    if (op.type == taso_op::kIdentityConv)
      return fmt::format("is_identity({0}), slice(shape({0}), 2, 4) == [{1}, {2}]", name, height,
                         width);
    // A mean of float32 weights is not one of doubles.
    return fmt::format(
        "slice(shape({0}), 1, 4) == [1, {1}, {2}], splat({0}) * {3} > 0.999999, "
        "splat({0}) * {3} < 1.000001",
        name, height, width, height * width);
  }

  /// With dimension kAxis and the next made one, in terms of the source.
  std::string merged_shape(const TasoOp& op) const {
    const auto k = static_cast<size_t>(op.parameter(taso_key::kAxis, 0));
    const auto& in = layout_.source_tensor(op.inputs[0]);
    std::vector<std::string> extents;
    const std::string name = source_name(op.inputs[0]);
    for (size_t axis = 0; axis < in.shape.size(); ++axis) {
      if (axis == k + 1)
        extents.back() += fmt::format(" * dim({}, {})", name, axis);
      else
        extents.push_back(fmt::format("dim({}, {})", name, axis));
    }
    return fmt::format("[{}]", fmt::join(extents, ", "));
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
    const TasoOpFacts& facts = taso_facts(op.type);
    if (facts.constant()) return fmt::format("  {} = {}\n", outputs[0], made_constant(index));
    return fmt::format("  {} = {}({}{})\n", fmt::join(outputs, ", "), facts.name,
                       fmt::join(inputs, ", "), target_attributes(index));
  }

  std::string shape_text(const TasoLayout::Tensor& tensor) const {
    std::vector<std::string> extents;
    for (const TasoExtent& extent : tensor.shape) extents.push_back(extents_.text(extent));
    return fmt::format("[{}]", fmt::join(extents, ", "));
  }

  std::string made_constant(int index) const {
    const TasoOp& op = rule_.target[static_cast<size_t>(index)];
    const std::string shape = shape_text(layout_.target_tensor({index, 0}));
    const std::string type = fmt::format("dtype({})", source_name(first_input()));
    if (op.type == taso_op::kOne) return fmt::format("fill(1, {}, {})", shape, type);
    if (op.type == taso_op::kPoolKernel)
      return fmt::format("fill(1.0 / {}, {}, {})", kernel_of(op)[0] * kernel_of(op)[1], shape,
                         type);
    return fmt::format("identity({}, {})", shape, type);
  }

  /// Some input of the source; all are of one type.
  TasoTensor first_input() const {
    for (const TasoOp& op : rule_.source)
      for (const TasoTensor& input : op.inputs)
        if (input.op < 0) return input;
    throw InputError("the source reads nothing");
  }

  std::string target_attributes(int index) const {
    const TasoOp& op = rule_.target[static_cast<size_t>(index)];
    switch (op.type) {
      case taso_op::kSplit: {
        const auto axis = static_cast<size_t>(op.parameter(taso_key::kAxis, 0));
        std::vector<std::string> sizes;
        for (const TasoExtent& piece : layout_.target_tensor(op.inputs[0]).pieces[axis])
          sizes.push_back(extents_.text(piece));
        return fmt::format("; axis = {}, split = [{}]", axis, fmt::join(sizes, ", "));
      }
      case taso_op::kConv:
        return convolution_attributes(op);
      case taso_op::kReshape:
        return fmt::format("; shape = {}", shape_text(layout_.target_tensor({index, 0})));
      case taso_op::kEnlarge: {
        const auto& in = layout_.target_tensor(op.inputs[0]);
        return fmt::format(
            "; pads = {}, mode = \"constant\", value = 0.0",
            enlarging_pads(op, extents_.text(in.shape[2]), extents_.text(in.shape[3])));
      }
      default:
        return common_attributes(op);
    }
  }

  std::string convolution_attributes(const TasoOp& op) const {
    check_window(op);
    const auto& x = layout_.target_tensor(op.inputs[0]);
    const auto& w = layout_.target_tensor(op.inputs[1]);
    const std::string height = extents_.text(w.shape[2]);
    const std::string width = extents_.text(w.shape[3]);
    const auto stated = op.parameters.find(taso_key::kGroup);
    const std::string groups =
        stated != op.parameters.end()
            ? std::to_string(stated->second)
            : fmt::format("({}) / ({})", extents_.text(x.shape[1]), extents_.text(w.shape[1]));
    return fmt::format(
        "; strides = [1, 1], dilations = [1, 1], pads = [({0} - 1) / 2, ({1} - 1) / 2, "
        "{0} / 2, {1} / 2], group = {2}, {3}",
        height, width, groups, activation_of(op));
  }

  const TasoRule& rule_;
  TasoLayout layout_;
  TasoNarrowing narrowing_;
  TasoExtents extents_;
  std::map<TasoTensor, std::string> target_names_;
  std::vector<std::pair<TasoTensor, TasoTensor>> copies_;
};

}  // namespace

bool is_ungrouped(TasoNarrowing narrowing) {
  return narrowing == TasoNarrowing::kUngrouped || narrowing == TasoNarrowing::kBoth;
}

std::string text_of(TasoNarrowing narrowing) {
  switch (narrowing) {
    case TasoNarrowing::kUngrouped:
      return "convolutions of one group";
    case TasoNarrowing::kEqualFilters:
      return "filters of equal shape";
    case TasoNarrowing::kBoth:
      return "convolutions of one group with filters of equal shape";
    case TasoNarrowing::kMatrices:
      return "tensors of two dimensions";
    case TasoNarrowing::kEqualParts:
      return "joined tensors of equal shape";
    case TasoNarrowing::kNone:
      break;
  }
  return "";
}

TasoLayout narrowed(TasoLayout layout, const TasoRule& rule, TasoNarrowing narrowing) {
  for (const auto& convolution : layout.convolutions)
    if (convolution.open && is_ungrouped(narrowing))
      layout.equations.emplace_back(convolution.channels, convolution.filter_channels);
  const auto equate = [&](TasoTensor a, TasoTensor b) {
    for (size_t axis = 0; axis < layout.source_tensor(a).shape.size(); ++axis)
      layout.equations.emplace_back(layout.source_tensor(a).shape[axis],
                                    layout.source_tensor(b).shape[axis]);
  };
  const auto filters = filters_of(rule);
  for (size_t i = 1; has_equal_filters(narrowing) && i < filters.size(); ++i)
    equate(filters[0], filters[i]);
  if (narrowing == TasoNarrowing::kEqualParts)
    for (const auto& [first, other] : joined_inputs(rule)) equate(first, other);
  return layout;
}

std::string translate(const TasoRule& rule, const TasoLayout& layout, const std::string& name,
                      TasoNarrowing narrowing, const std::vector<std::string>& remarks,
                      const std::vector<std::string>& examples) {
  return Translator(rule, narrowed(layout, rule, narrowing), narrowing)
      .run(name, remarks, examples);
}

}  // namespace reverie::taso
