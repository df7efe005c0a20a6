#include "core/rulekit/taso/export.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "core/rulekit/taso/operators.h"
#include "core/rulekit/taso/translate.h"
#include "core/rules/parser.h"
#include "core/rules/pattern.h"

namespace reverie {
namespace {

/// Of operators that stand for one type each; Mul is the elementwise one.
int type_of(const OpSchema& op) {
  const TasoOpFacts* facts = taso_facts_named(op.name);
  if (facts == nullptr || facts->type == taso_op::kEnlarge || facts->type == taso_op::kReshape)
    throw InputError("{} is not exported", op.name);
  return facts->type;
}

/// Names by which the parts of two patterns are compared.
struct PartNames {
  std::vector<std::string> values;
  std::vector<std::string> operators;
};

std::string show(const Expr& expr, const PartNames& names) {
  switch (expr.kind) {
    case Expr::Kind::kLiteral:
      return to_string(expr.literal);
    case Expr::Kind::kVariable:
      throw InputError("it has variables for attributes");
    case Expr::Kind::kAttribute:
      return fmt::format("{}.{}", names.operators[static_cast<size_t>(expr.index)], expr.name);
    case Expr::Kind::kTensor:
      return names.values[static_cast<size_t>(expr.index)];
    case Expr::Kind::kCall:
      break;
  }
  std::vector<std::string> args;
  for (const Expr& arg : expr.args) args.push_back(show(arg, names));
  return fmt::format("{}({})", expr.function->name, fmt::join(args, ", "));
}

/// All that a pattern demands, one text each.
std::set<std::string> demands(const RulePattern& pattern, const PartNames& names) {
  std::set<std::string> result;
  for (size_t i = 0; i < pattern.source.size(); ++i)
    for (const auto& [name, value] : pattern.source[i].attributes)
      result.insert(fmt::format("{}.{} == {}", names.operators[i], name, to_string(value)));
  for (const Condition& condition : pattern.conditions) {
    if (condition.variable >= 0) throw InputError("it has variables for attributes");
    result.insert(show(condition.expr, names));
  }
  return result;
}

/// Attributes of a target operator, those that `like` takes over included.
std::map<std::string, std::string> attributes_of(const RulePattern& pattern, const TargetStep& step,
                                                 const PartNames& names) {
  std::map<std::string, std::string> result;
  if (step.like >= 0) {
    const SourceOp& like = pattern.source[static_cast<size_t>(step.like)];
    if (like.attributes.size() != like.op->attributes.size())
      throw InputError("{} in its target takes over attributes that are left open", step.op->name);
    for (const auto& [name, value] : like.attributes) result[name] = to_string(value);
  }
  for (const auto& [name, expr] : step.attributes) result[name] = show(expr, names);
  if (step.op->is("MatMul")) result.emplace("activation", "\"none\"");
  return result;
}

class Exporter {
 public:
  explicit Exporter(const RulePattern& pattern) : pattern_(pattern) {}

  TasoRule run() {
    check_plain();
    number_inputs();
    order_source();
    for (const int op : order_) add_source(op);
    for (const TargetStep& step : pattern_.target) add_target(step);
    for (const MappedOutput& output : pattern_.outputs)
      rule_.outputs.push_back(
          {tensors_[static_cast<size_t>(output.source)], target(output.target)});
    compare_with_import();
    return std::move(rule_);
  }

 private:
  void check_plain() const {
    for (const PatternValue& value : pattern_.values)
      if (value.sequence || value.optional)
        throw InputError("'{}' is {}", value.name, value.sequence ? "a sequence" : "optional");
    for (const TargetStep& step : pattern_.target)
      if (step.kind != TargetStep::Kind::kOperator || step.map || step.sequence_output)
        throw InputError("its target holds more than plain operators");
    for (const SourceOp& op : pattern_.source) type_of(*op.op);
    for (const TargetStep& step : pattern_.target) type_of(*step.op);
  }

  /// x7 keeps its number where all inputs are named so; otherwise they are numbered as they come.
  void number_inputs() {
    tensors_.resize(pattern_.values.size());
    bool numbered = true;
    for (const PatternValue& value : pattern_.values)
      if (value.producer < 0) numbered = numbered && number_in(value.name).has_value();
    int next = 0;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (const PatternValue& value = pattern_.values[i]; value.producer < 0)
        tensors_[i] = {-(numbered ? *number_in(value.name) : ++next), 0};
  }

  static std::optional<int> number_in(const std::string& name) {
    int number = 0;
    const char* end = name.data() + name.size();
    if (name.size() < 2 || name[0] != 'x' || name[1] == '0') return {};
    const auto [at, error] = std::from_chars(name.data() + 1, end, number);
    return error == std::errc{} && at == end ? std::optional(number) : std::nullopt;
  }

  void order_source() {
    std::vector<bool> placed(pattern_.source.size(), false);
    const auto place = [&](const auto& self, int op) -> void {
      if (placed[static_cast<size_t>(op)]) return;
      placed[static_cast<size_t>(op)] = true;
      for (const int input : pattern_.source[static_cast<size_t>(op)].inputs)
        if (const int producer = pattern_.values[static_cast<size_t>(input)].producer;
            producer >= 0)
          self(self, producer);
      const auto& outputs = pattern_.source[static_cast<size_t>(op)].outputs;
      for (size_t k = 0; k < outputs.size(); ++k)
        tensors_[static_cast<size_t>(outputs[k])] = {static_cast<int>(order_.size()),
                                                     static_cast<int>(k)};
      order_.push_back(op);
    };
    for (int op = 0; op < static_cast<int>(pattern_.source.size()); ++op) place(place, op);
    names_.operators.resize(pattern_.source.size());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const int producer = pattern_.values[i].producer;
      size_t outputs = 1;
      if (producer >= 0) outputs = pattern_.source[static_cast<size_t>(producer)].outputs.size();
      names_.values.push_back(taso_name('s', tensors_[i], static_cast<int>(outputs)));
      if (producer >= 0 && tensors_[i].output == 0)
        names_.operators[static_cast<size_t>(producer)] = names_.values.back();
    }
  }

  void add_source(int index) {
    const SourceOp& source = pattern_.source[static_cast<size_t>(index)];
    std::map<std::string, std::string> attributes;
    for (const auto& [name, value] : source.attributes) attributes[name] = to_string(value);
    TasoOp op{type_of(*source.op), {}, {}};
    for (const int input : source.inputs) op.inputs.push_back(tensors_[static_cast<size_t>(input)]);
    make_scale(op, rule_.source);
    fill_parameters(op, attributes, source.outputs.size(), rule_.source);
    rule_.source.push_back(std::move(op));
  }

  void add_target(const TargetStep& step) {
    TasoOp op{type_of(*step.op), {}, {}};
    for (const TargetValue& input : step.inputs) op.inputs.push_back(target(input));
    make_scale(op, rule_.target);
    fill_parameters(op, attributes_of(pattern_, step, names_), step.outputs.size(), rule_.target);
    for (size_t k = 0; k < step.outputs.size(); ++k)
      made_[step.outputs[k]] = {static_cast<int>(rule_.target.size()), static_cast<int>(k)};
    rule_.target.push_back(std::move(op));
  }

  TasoTensor target(const TargetValue& value) const {
    if (!value.source) return made_.at(value.index);
    const TasoTensor tensor = tensors_[static_cast<size_t>(value.index)];
    if (tensor.op >= 0) throw InputError("its target keeps an operator of the source");
    return tensor;
  }

  void fill_parameters(TasoOp& op, const std::map<std::string, std::string>& attributes,
                       size_t outputs, const std::vector<TasoOp>& side) const {
    if (op.type == taso_op::kMaxPool || op.type == taso_op::kAvgPool) fill_pool(op, attributes);
    if (op.type == taso_op::kTranspose) fill_permutation(op, attributes, side);
    if (op.type == taso_op::kReduceSum) fill_sum(op, attributes, side);
    if (op.type == taso_op::kConv)
      op.parameters = {{taso_key::kKernelHeight, 3},
                       {taso_key::kKernelWidth, 3},
                       {taso_key::kStrideHeight, 1},
                       {taso_key::kStrideWidth, 1},
                       {taso_key::kPadding, 0}};
    if (const auto groups = number(attributes, "group"); groups && op.type == taso_op::kConv)
      op.parameters[taso_key::kGroup] = *groups;
    if (op.type == taso_op::kConv || op.type == taso_op::kMatMul)
      op.parameters[taso_key::kActivation] = activation(attributes);
    if (op.type == taso_op::kConcat) {
      op.parameters[taso_key::kInputs] = static_cast<int>(op.inputs.size());
      op.parameters[taso_key::kRank] = rank(op.inputs.at(0), side);
    }
    if (op.type == taso_op::kSplit) op.parameters[taso_key::kOutputs] = static_cast<int>(outputs);
    if (op.type == taso_op::kConcat || op.type == taso_op::kSplit || op.type == taso_op::kSoftmax) {
      const auto axis = number(attributes, "axis");
      if (!axis) throw InputError("an axis is not a plain number");
      op.parameters[taso_key::kAxis] = *axis;
    }
  }

  /// Mul by what the rule says has no dimensions.
  void make_scale(TasoOp& op, const std::vector<TasoOp>& side) const {
    if (op.type != taso_op::kMul) return;
    const auto scalar = [&](TasoTensor tensor) { return stated_rank(tensor, side) == 0; };
    if (scalar(op.inputs[0]) && !scalar(op.inputs[1])) std::swap(op.inputs[0], op.inputs[1]);
    if (scalar(op.inputs[1])) op.type = taso_op::kScale;
  }

  void fill_pool(TasoOp& op, const std::map<std::string, std::string>& attributes) const {
    const auto kernel = attributes.find("kernel_shape");
    for (int extent = 1; kernel != attributes.end() && extent <= 16; ++extent)
      if (kernel->second == fmt::format("[{0}, {0}]", extent))
        op.parameters = {{taso_key::kKernelHeight, extent}, {taso_key::kKernelWidth, extent},
                         {taso_key::kStrideHeight, 1},      {taso_key::kStrideWidth, 1},
                         {taso_key::kPadding, 0},           {taso_key::kActivation, 0}};
    if (op.parameters.empty()) throw InputError("a pool's kernel is not a plain square");
  }

  void fill_permutation(TasoOp& op, const std::map<std::string, std::string>& attributes,
                        const std::vector<TasoOp>& side) const {
    const int rank = this->rank(op.inputs.at(0), side);
    std::vector<int> permutation(static_cast<size_t>(rank));
    std::iota(permutation.begin(), permutation.end(), 0);
    const auto stated = attributes.find("perm");
    do {
      if (stated == attributes.end() ||
          stated->second != fmt::format("[{}]", fmt::join(permutation, ", ")))
        continue;
      int code = 0;
      for (const int axis : permutation) code = code * rank + axis;
      op.parameters = {{taso_key::kRank, rank}, {taso_key::kPermutation, code}};
      return;
    } while (std::next_permutation(permutation.begin(), permutation.end()));
    throw InputError("a permutation is left open");
  }

  void fill_sum(TasoOp& op, const std::map<std::string, std::string>& attributes,
                const std::vector<TasoOp>& side) const {
    const int rank = this->rank(op.inputs.at(0), side);
    const auto keep = number(attributes, "keepdims");
    const auto axes = attributes.find("axes");
    for (int axis = 0; keep && axes != attributes.end() && axis < rank; ++axis)
      if (axes->second == fmt::format("[{}]", axis))
        op.parameters = {
            {taso_key::kAxis, axis}, {taso_key::kRank, rank}, {taso_key::kKeepDims, *keep}};
    if (op.parameters.empty()) throw InputError("a sum is not over one stated dimension");
  }

  static int activation(const std::map<std::string, std::string>& attributes) {
    static constexpr const char* kNames[] = {"\"none\"", "\"sigmoid\"", "\"relu\"", "\"tanh\""};
    const auto at = attributes.find("activation");
    for (int i = 0; at != attributes.end() && i < 4; ++i)
      if (at->second == kNames[i]) return i;
    throw InputError("an activation is left open");
  }

  /// Nothing where the attribute is not there, or no plain number.
  static std::optional<int> number(const std::map<std::string, std::string>& attributes,
                                   const std::string& name) {
    const auto at = attributes.find(name);
    if (at == attributes.end()) return {};
    int value = 0;
    const char* end = at->second.data() + at->second.size();
    const auto [stop, error] = std::from_chars(at->second.data(), end, value);
    return error == std::errc{} && stop == end && value >= 0 ? std::optional(value) : std::nullopt;
  }

  /// From a condition rank(x) == n on an input that the tensor is computed from.
  std::optional<int> stated_rank(TasoTensor tensor, const std::vector<TasoOp>& side) const {
    while (tensor.op >= 0) {
      const TasoOp& op = side[static_cast<size_t>(tensor.op)];
      if (drops_dimension(op)) return op.parameter(taso_key::kRank, 1) - 1;
      tensor = op.inputs.at(0);
    }
    const std::string name = taso_name('s', tensor, 1);
    for (const Condition& condition : pattern_.conditions)
      for (int n = 0; condition.variable < 0 && n <= 8; ++n)
        if (show(condition.expr, names_) == fmt::format("==(rank({}), {})", name, n)) return n;
    return {};
  }
  int rank(TasoTensor tensor, const std::vector<TasoOp>& side) const {
    const auto stated = stated_rank(tensor, side);
    if (!stated) throw InputError("a number of dimensions is left open");
    return *stated;
  }

  /// Everything that the rule demands and sets must come back when its export is imported.
  void compare_with_import() const {
    const TasoLayout layout = lay_out(rule_, [](int least) { return std::max(least, 2); });
    const RulePattern back =
        parse_rules(taso::translate(rule_, layout, "back", taso::TasoNarrowing::kNone, {}, {}),
                    pattern_.name)[0];
    PartNames names;
    for (const PatternValue& value : back.values) names.values.push_back(value.name);
    for (const SourceOp& op : back.source)
      names.operators.push_back(back.values[static_cast<size_t>(op.outputs[0])].name);
    const auto stated = demands(back, names);
    for (const std::string& demand : demands(pattern_, names_))
      if (!stated.contains(demand)) throw InputError("it demands {}", demand);
    for (size_t i = 0; i < pattern_.target.size(); ++i)
      if (attributes_of(pattern_, pattern_.target[i], names_) !=
          attributes_of(back, back.target[i], names))
        throw InputError("{} in its target has other attributes", pattern_.target[i].op->name);
  }

  const RulePattern& pattern_;
  TasoRule rule_;
  std::vector<int> order_;
  std::vector<TasoTensor> tensors_;  // by pattern value
  std::map<int, TasoTensor> made_;   // by target value
  PartNames names_;
};

}  // namespace

TasoExport export_taso_rules(const RuleSet& rules) {
  TasoExport result;
  for (int i = 0; i < rules.size(); ++i) {
    try {
      result.rules.push_back(Exporter(rules[i].pattern()).run());
      result.names.push_back(rules.name(i));
    } catch (const InputError& error) {
      result.left_out.emplace_back(rules.name(i), error.what());
    }
  }
  return result;
}

}  // namespace reverie
