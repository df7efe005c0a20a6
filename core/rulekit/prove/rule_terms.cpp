#include "core/rulekit/prove/rule_terms.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/rulekit/prove/operators.h"
#include "core/rules/example.h"

namespace reverie::prove {
namespace {

using Values = std::vector<OptionalTensor>;

/// Attributes whose values are part of what an operator is.
bool is_structural(const std::string& name) {
  static const std::set<std::string, std::less<>> kNames = {
      "axis",   "axes",   "perm", "keepdims",  "activation",
      "transA", "transB", "mode", "ceil_mode", "count_include_pad"};
  return kNames.contains(name);
}

class Translator {
 public:
  Translator(z3::context& context, const RulePattern& pattern, const RuleForm& form)
      : context_(context),
        pattern_(pattern),
        form_(form),
        operators_(context),
        values_(pattern.values.size()),
        made_(static_cast<size_t>(pattern.target_values)),
        attributes_(pattern.source.size()),
        built_(pattern.source.size(), false),
        variables_(pattern.variables.size()),
        scope_{context, pattern, values_, attributes_, variables_} {}

  RuleTerms run() {
    for (size_t i = 0; i < values_.size(); ++i)
      if (pattern_.values[i].producer < 0) add_variable(i);
    for (size_t op = 0; op < pattern_.source.size(); ++op) add_source(op);
    for (const Condition& condition : pattern_.conditions) add_condition(condition);
    for (const TargetStep& step : pattern_.target) add_step(step);
    for (const MappedOutput& output : pattern_.outputs) add_output(output);
    terms_.conditions.insert(terms_.conditions.end(), operators_.demands.begin(),
                             operators_.demands.end());
    terms_.facts.insert(terms_.facts.end(), operators_.facts.begin(), operators_.facts.end());
    return std::move(terms_);
  }

 private:
  void add_variable(size_t value) {
    for (size_t i = 0; i < form_.ranks[value].size(); ++i) {
      if (form_.ranks[value][i] < 0) {
        values_[value].emplace_back();
        continue;
      }
      const TensorTerm term = operators_.variable(
          fmt::format("{}_{}", pattern_.values[value].name, i), form_.ranks[value][i]);
      for (const z3::expr& extent : term.extents) terms_.facts.push_back(extent >= 1);
      terms_.variables.push_back(term.term);
      values_[value].emplace_back(term);
    }
  }

  z3::expr number(const std::string& name, bool real) {
    z3::expr result = real ? context_.real_const(name.c_str()) : context_.int_const(name.c_str());
    terms_.variables.push_back(result);
    return result;
  }

  SymbolicValue attribute(size_t op, const std::string& name, const AttrValue& value) {
    const auto& fixed = pattern_.source[op].attributes;
    const bool is_fixed = std::any_of(fixed.begin(), fixed.end(),
                                      [&](const auto& entry) { return entry.first == name; });
    const std::string text = fmt::format("{}.{}", op, name);
    if (is_fixed || is_structural(name)) return symbolic(context_, value);
    if (std::holds_alternative<int64_t>(value)) return number(text, false);
    if (std::holds_alternative<double>(value)) return number(text, true);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      std::vector<z3::expr> numbers;
      for (size_t i = 0; i < list->size(); ++i)
        numbers.push_back(number(fmt::format("{}.{}", text, i), false));
      return numbers;
    }
    return symbolic(context_, value);
  }

  void add_source(size_t index) {
    if (built_[index]) return;
    built_[index] = true;
    const SourceOp& op = pattern_.source[index];
    for (const auto& [name, value] : form_.attributes[index].entries())
      attributes_[index].emplace(name, attribute(index, name, value));
    Values inputs;
    for (const int value : op.inputs) {
      const int producer = pattern_.values[static_cast<size_t>(value)].producer;
      if (producer >= 0) add_source(static_cast<size_t>(producer));
      const Values& tensors = values_[static_cast<size_t>(value)];
      inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    }
    if (op.op->is("Split") && inputs[0]) end_split(attributes_[index], *inputs[0]);
    const bool sequence = pattern_.values[static_cast<size_t>(op.outputs[0])].sequence;
    if (sequence && op.outputs.size() > 1) throw InputError("sequences among several outputs");
    const size_t count = sequence ? parts_of(attributes_[index]) : op.outputs.size();
    const auto outputs = operators_.make(*op.op, inputs, attributes_[index], count);
    for (size_t i = 0; i < outputs.size(); ++i)
      values_[static_cast<size_t>(op.outputs[sequence ? 0 : i])].emplace_back(outputs[i]);
  }

  /// The last part is what the others leave.
  void end_split(SymbolicAttributes& attributes, const TensorTerm& x) {
    auto& sizes = std::get<std::vector<z3::expr>>(attributes.at("split"));
    const auto axis = as_number(std::get<z3::expr>(attributes.at("axis")));
    z3::expr rest = x.extents.at(static_cast<size_t>(axis.value()));
    for (size_t i = 0; i + 1 < sizes.size(); ++i) rest = rest - sizes[i];
    std::erase_if(terms_.variables, [&](const z3::expr& v) { return z3::eq(v, sizes.back()); });
    sizes.back() = rest;
  }

  static size_t parts_of(const SymbolicAttributes& attributes) {
    const auto at = attributes.find("split");
    if (at == attributes.end()) throw InputError("a sequence of outputs of no Split");
    return std::get<std::vector<z3::expr>>(at->second).size();
  }

  // --- Conditions -------------------------------------------------------------------------------

  const TensorTerm* constant_of(const Expr& expr, std::string_view function) const {
    if (expr.kind != Expr::Kind::kCall || expr.function->name != function) return nullptr;
    const Values& tensors = values_[static_cast<size_t>(expr.args[0].index)];
    return tensors.size() == 1 && tensors[0] ? &*tensors[0] : nullptr;
  }

  /// splat(c) and is_identity(c) say what c is.
  bool add_constant(const Expr& expr) {
    if (const TensorTerm* c = constant_of(expr, "is_identity")) {
      terms_.conditions.push_back(c->term == operators_.identity(c->extents).term);
      return true;
    }
    if (expr.kind != Expr::Kind::kCall || expr.function->name != "==") return false;
    const TensorTerm* c = constant_of(expr.args[0], "splat");
    const auto value = c == nullptr ? std::nullopt : symbolic(expr.args[1], scope_);
    if (!value || !std::holds_alternative<z3::expr>(*value)) return false;
    terms_.conditions.push_back(c->term ==
                                operators_.filled(std::get<z3::expr>(*value), c->extents).term);
    return true;
  }

  void add_condition(const Condition& condition) {
    if (condition.variable >= 0) {
      auto& variable = variables_[static_cast<size_t>(condition.variable)];
      if (const TensorTerm* c = constant_of(condition.expr, "splat")) {
        const z3::expr value = number(fmt::format("splat{}", condition.variable), true);
        terms_.conditions.push_back(c->term == operators_.filled(value, c->extents).term);
        variable = value;
      } else {
        variable = symbolic(condition.expr, scope_);
      }
      return;
    }
    if (add_constant(condition.expr)) return;
    if (const auto truth = symbolic_condition(condition.expr, scope_))
      terms_.conditions.push_back(*truth);
    else
      terms_.left_out.push_back(
          condition.expr.kind == Expr::Kind::kCall ? condition.expr.function->name : "a variable");
  }

  // --- Target -----------------------------------------------------------------------------------

  const Values& resolve(const TargetValue& value) const {
    return value.source ? values_[static_cast<size_t>(value.index)]
                        : made_[static_cast<size_t>(value.index)];
  }

  SymbolicValue value_of(const Expr& expr) const {
    const auto value = symbolic(expr, scope_);
    if (!value) throw InputError("an attribute of the target has no term");
    return *value;
  }

  void add_step(const TargetStep& step) {
    Values& result = made_[static_cast<size_t>(step.outputs[0])];
    if (step.kind == TargetStep::Kind::kElse) {
      const Values& first = resolve(step.inputs[0]);
      const bool absent =
          std::none_of(first.begin(), first.end(),
                       [](const OptionalTensor& tensor) { return tensor.has_value(); });
      result = absent ? resolve(step.inputs[1]) : first;
    } else if (step.kind == TargetStep::Kind::kOperator) {
      add_operator(step);
    } else {
      const SymbolicValue shape = value_of(step.arguments.end()[-2]);
      if (!std::holds_alternative<std::vector<z3::expr>>(shape))
        throw InputError("the shape of a constant has no term");
      const auto& extents = std::get<std::vector<z3::expr>>(shape);
      if (step.kind == TargetStep::Kind::kIdentity) {
        result = {operators_.identity(extents)};
        return;
      }
      const SymbolicValue value = value_of(step.arguments[0]);
      if (!std::holds_alternative<z3::expr>(value)) throw InputError("a constant has no term");
      result = {operators_.filled(std::get<z3::expr>(value), extents)};
    }
  }

  SymbolicAttributes attributes_of(const TargetStep& step) const {
    SymbolicAttributes attributes;
    if (step.like >= 0) attributes = attributes_[static_cast<size_t>(step.like)];
    for (const auto& [name, expr] : step.attributes)
      attributes.insert_or_assign(name, value_of(expr));
    return attributes;
  }

  void add_operator(const TargetStep& step) {
    const SymbolicAttributes attributes = attributes_of(step);
    if (step.map) return add_each(step, attributes);
    Values inputs;
    for (const TargetValue& input : step.inputs) {
      const Values& tensors = resolve(input);
      inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    }
    while (!inputs.empty() && !inputs.back()) inputs.pop_back();
    const size_t required = step.op->max_inputs == OpSchema::kVariadic
                                ? inputs.size()
                                : static_cast<size_t>(step.op->min_inputs);
    const bool complete =
        inputs.size() >= std::max<size_t>(required, 1) &&
        std::all_of(inputs.begin(), inputs.begin() + static_cast<int64_t>(required),
                    [](const OptionalTensor& x) { return x.has_value(); });
    if (!complete) {
      for (const int output : step.outputs) made_[static_cast<size_t>(output)] = {OptionalTensor{}};
      return;
    }
    const size_t count = step.sequence_output ? parts_of(attributes) : step.outputs.size();
    const auto outputs = operators_.make(*step.op, inputs, attributes, count);
    for (size_t i = 0; i < outputs.size(); ++i)
      made_[static_cast<size_t>(step.outputs[step.sequence_output ? 0 : i])].emplace_back(
          outputs[i]);
  }

  void add_each(const TargetStep& step, const SymbolicAttributes& attributes) {
    size_t count = 1;
    for (const TargetValue& input : step.inputs) count = std::max(count, resolve(input).size());
    for (size_t i = 0; i < count; ++i) {
      Values inputs;
      for (const TargetValue& input : step.inputs) {
        const Values& tensors = resolve(input);
        if (tensors.size() != 1 && tensors.size() != count)
          throw InputError("sequences of unequal lengths");
        inputs.push_back(tensors[tensors.size() == 1 ? 0 : i]);
      }
      made_[static_cast<size_t>(step.outputs[0])].emplace_back(
          operators_.make(*step.op, inputs, attributes, 1).at(0));
    }
  }

  void add_output(const MappedOutput& output) {
    const Values& from = values_[static_cast<size_t>(output.source)];
    const Values& to = resolve(output.target);
    if (from.size() != to.size()) throw InputError("an output has no counterpart");
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i] || !to[i] || from[i]->rank() != to[i]->rank())
        throw InputError("an output has no counterpart");
      terms_.outputs.emplace_back(from[i]->term, to[i]->term);
      for (size_t axis = 0; axis < from[i]->extents.size(); ++axis)
        terms_.conditions.push_back(from[i]->extents[axis] == to[i]->extents[axis]);
    }
  }

  z3::context& context_;
  const RulePattern& pattern_;
  const RuleForm& form_;
  OperatorTerms operators_;
  std::vector<Values> values_;
  std::vector<Values> made_;
  std::vector<SymbolicAttributes> attributes_;
  std::vector<bool> built_;
  std::vector<std::optional<SymbolicValue>> variables_;
  SymbolicScope scope_;
  RuleTerms terms_;
};

}  // namespace

std::string RuleForm::key() const {
  std::string text;
  for (const std::vector<int>& value : ranks) text += fmt::format("{};", fmt::join(value, ","));
  for (const Attributes& attributes : this->attributes)
    for (const auto& [name, value] : attributes.entries()) {
      const auto* list = std::get_if<std::vector<int64_t>>(&value);
      if (is_structural(name))
        text += fmt::format("{}={};", name, to_string(value));
      else if (list != nullptr)
        text += fmt::format("{}:{};", name, list->size());
    }
  return text;
}

RuleForm form_of(const RulePattern& pattern, const RuleExample& example) {
  RuleForm form;
  ExampleParts parts;
  const Graph graph = build_example(pattern, example, 1, &parts);
  for (size_t value = 0; value < pattern.values.size(); ++value) {
    std::vector<int>& ranks = form.ranks.emplace_back();
    const auto at = example.tensors.find(static_cast<int>(value));
    if (at == example.tensors.end())
      ranks.push_back(-1);
    else
      for (const ExampleTensor& tensor : at->second) ranks.push_back(tensor.type.rank());
  }
  for (const NodeId node : parts.nodes) form.attributes.push_back(graph.attributes(node));
  const auto root =
      static_cast<size_t>(pattern.values[static_cast<size_t>(pattern.outputs[0].source)].producer);
  form.root_rank = graph.type(graph.output(parts.nodes[root])).rank();
  return form;
}

RuleTerms terms_of(z3::context& context, const RulePattern& pattern, const RuleForm& form) {
  return Translator(context, pattern, form).run();
}

}  // namespace reverie::prove
