#include "core/rules/instance.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/ir/constant_inputs.h"
#include "core/rules/known_constant.h"
#include "core/rules/value_policy.h"

namespace reverie {
namespace {

using Variables = std::vector<std::optional<AttrValue>>;

/// Evaluates definitions, and conditions on uses or all others, in order. False as soon as one
/// fails.
bool conditions_hold(const RulePattern& pattern, const ExprScope& scope, Variables& variables,
                     bool about_uses) {
  for (const Condition& condition : pattern.conditions) {
    if (condition.variable < 0) {
      if (reads_uses(condition.expr) == about_uses && !holds(condition.expr, scope)) return false;
      continue;
    }
    auto value = evaluate(condition.expr, scope);
    if (!value) return false;
    variables[static_cast<size_t>(condition.variable)] = std::move(*value);
  }
  return true;
}

/// How many samples of extents tell the operators and values of a match apart.
size_t samples_of(const Graph& graph, const Binding& binding) {
  size_t samples = 1;
  for (const NodeId node : binding.nodes)
    samples = std::max(samples, graph.attributes(node).samples());
  for (const ValueId value : binding.values)
    if (value.valid()) samples = std::max(samples, graph.type(value).samples());
  return samples;
}

class Instantiator {
 public:
  Instantiator(const RulePattern& pattern, const Graph& graph, const Binding& binding,
               CostModel& cost_model)
      : pattern_(pattern),
        graph_(graph),
        binding_(binding),
        cost_model_(cost_model),
        variables_(samples_of(graph, binding), Variables(pattern.variables.size())),
        made_(static_cast<size_t>(pattern.target_values)) {
    for (const Variables& variables : variables_)
      scopes_.push_back({graph, binding, variables, scopes_.size()});
  }

  std::shared_ptr<const Instance> run() {
    for (const ExprScope& scope : scopes_)
      if (!conditions_hold(pattern_, scope, variables_[scope.sample], false)) return nullptr;
    try {
      for (const TargetStep& step : pattern_.target)
        if (!make(step)) return nullptr;
    } catch (const InputError&) {
      return nullptr;  // shape inference refuses the replacement
    }
    if (!map_outputs()) return nullptr;
    if (!keeps_values(instance_, graph_, binding_)) return nullptr;
    note_dropped_inputs();
    instance_.narrow = computes_narrow_weights(instance_, graph_, binding_);
    for (const auto& [node, signature] : to_price_)
      instance_.nodes[node].cost = cost_model_.cost(signature);
    return std::make_shared<const Instance>(std::move(instance_));
  }

 private:
  using Operands = std::vector<Operand>;

  Operands resolve(const TargetValue& value) const {
    if (!value.source) return made_[static_cast<size_t>(value.index)];
    Operands result;
    const auto i = static_cast<size_t>(value.index);
    for (int32_t at = binding_.offsets[i]; at < binding_.offsets[i + 1]; ++at)
      result.push_back(binding_.values[static_cast<size_t>(at)].valid() ? Operand{-1, at}
                                                                        : Operand{});
    return result;
  }

  ValueId existing(const Operand& operand) const {
    return binding_.values[static_cast<size_t>(operand.index)];
  }
  const TensorType& type(const Operand& operand) const {
    if (operand.node < 0) return graph_.type(existing(operand));
    return instance_.nodes[static_cast<size_t>(operand.node)]
        .types[static_cast<size_t>(operand.index)];
  }
  bool constant(const Operand& operand) const {
    return operand.node < 0 ? graph_.is_constant(existing(operand))
                            : instance_.nodes[static_cast<size_t>(operand.node)].constant;
  }

  bool make(const TargetStep& step) {
    switch (step.kind) {
      case TargetStep::Kind::kElse: {
        Operands first = resolve(step.inputs[0]);
        const bool absent = std::all_of(first.begin(), first.end(),
                                        [](const Operand& operand) { return operand.absent(); });
        result(step, 0) = absent ? resolve(step.inputs[1]) : std::move(first);
        return true;
      }
      case TargetStep::Kind::kFill:
      case TargetStep::Kind::kIdentity:
        return make_constant(step);
      case TargetStep::Kind::kOperator:
        break;
    }
    std::vector<Operands> inputs;
    for (const TargetValue& input : step.inputs) inputs.push_back(resolve(input));
    return step.map ? make_each(step, inputs) : make_one(step, inputs);
  }

  Operands& result(const TargetStep& step, size_t output) {
    return made_[static_cast<size_t>(step.outputs[output])];
  }

  bool is_sequence(const TargetValue& value) const {
    return value.source ? pattern_.values[static_cast<size_t>(value.index)].sequence
                        : resolve(value).size() != 1;
  }

  bool make_each(const TargetStep& step, const std::vector<Operands>& inputs) {
    size_t count = 1;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (is_sequence(step.inputs[i])) count = inputs[i].size();
    for (size_t element = 0; element < count; ++element) {
      Operands arguments;
      for (const Operands& input : inputs) {
        if (input.size() != 1 && input.size() != count) return false;
        arguments.push_back(input[input.size() == 1 ? 0 : element]);
      }
      const int node = add(step, std::move(arguments));
      if (node < 0) return false;
      result(step, 0).push_back({node, 0});
    }
    return true;
  }

  bool make_one(const TargetStep& step, const std::vector<Operands>& inputs) {
    Operands arguments;
    for (const Operands& input : inputs)
      arguments.insert(arguments.end(), input.begin(), input.end());
    while (!arguments.empty() && arguments.back().absent()) arguments.pop_back();
    const auto required = step.op->max_inputs == OpSchema::kVariadic
                              ? static_cast<int>(arguments.size())
                              : step.op->min_inputs;
    bool complete = static_cast<int>(arguments.size()) >= std::max(required, 1);
    for (int i = 0; complete && i < required; ++i)
      complete = !arguments[static_cast<size_t>(i)].absent();
    if (!complete) {
      for (size_t i = 0; i < step.outputs.size(); ++i)
        result(step, i) = step.sequence_output ? Operands{} : Operands{Operand{}};
      return true;
    }
    const int node = add(step, std::move(arguments));
    if (node < 0) return false;
    const auto outputs = static_cast<int32_t>(instance_.nodes.back().types.size());
    if (step.sequence_output) {
      for (int32_t i = 0; i < outputs; ++i) result(step, 0).push_back({node, i});
      return true;
    }
    if (outputs != static_cast<int32_t>(step.outputs.size())) return false;
    for (int32_t i = 0; i < outputs; ++i) result(step, static_cast<size_t>(i)) = {{node, i}};
    return true;
  }

  /// Nothing where one has no value.
  std::optional<Attributes> attributes_of(const TargetStep& step) const {
    std::vector<Attributes> samples;
    for (const ExprScope& scope : scopes_) {
      Attributes attributes;
      if (step.like >= 0)
        attributes =
            graph_.attributes(binding_.nodes[static_cast<size_t>(step.like)]).at(scope.sample);
      for (const auto& [name, expr] : step.attributes) {
        auto value = evaluate(expr, scope);
        if (!value) return {};
        attributes.set(name, std::move(*value));
      }
      samples.push_back(std::move(attributes));
    }
    return Attributes::of_samples(samples);
  }

  /// The number of the new node; -1 when an attribute has no value.
  int add(const TargetStep& step, Operands inputs) {
    NewNode node;
    node.op = step.op;
    std::optional<Attributes> attributes = attributes_of(step);
    if (!attributes || static_cast<int>(inputs.size()) > step.op->max_inputs) return -1;
    OpSignature signature;
    signature.op = step.op;
    node.constant = !step.op->keeps_constants;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool known = !inputs[i].absent();
      signature.inputs.push_back(known ? type(inputs[i]) : TensorType{});
      const bool is_constant = known && constant(inputs[i]);
      if (is_constant) signature.constant_inputs |= constant_input(i);
      node.constant = node.constant && (is_constant || !known);
    }
    signature.attributes = node.attributes = std::make_shared<const Attributes>(
        step.op->resolve(std::move(*attributes), signature.inputs));
    node.types = step.op->infer({signature.inputs, {}, *node.attributes});
    signature.outputs = node.types;
    signature.take_first_sample();
    if (!node.constant) to_price_.emplace_back(instance_.nodes.size(), std::move(signature));
    node.inputs = std::move(inputs);
    return append(std::move(node));
  }

  /// Nothing where it depends on symbolic extents: a constant cannot.
  std::optional<AttrValue> evaluate_fixed(const Expr& expr) const {
    const auto value = evaluate(expr, scopes_[0]);
    const auto same = [&](const ExprScope& scope) { return evaluate(expr, scope) == value; };
    return std::all_of(scopes_.begin() + 1, scopes_.end(), same) ? value : std::nullopt;
  }

  /// Shape and element type from the last two arguments; nothing when they have no fitting values.
  std::optional<TensorType> constant_type(const TargetStep& step) const {
    constexpr int64_t kMostElements = int64_t{1} << 24;
    const auto extents = evaluate_fixed(step.arguments.end()[-2]);
    const auto dtype = evaluate_fixed(step.arguments.back());
    if (!extents || !dtype || !std::holds_alternative<Shape>(*extents) ||
        !std::holds_alternative<std::string>(*dtype))
      return {};
    TensorType type{dtype_named(std::get<std::string>(*dtype)), std::get<Shape>(*extents)};
    int64_t elements = 1;
    for (const int64_t extent : type.shape) {
      if (extent < 0 || extent > kMostElements) return {};
      elements *= std::max<int64_t>(extent, 1);
      if (elements > kMostElements) return {};
    }
    return type.rank() > 8 ? std::nullopt : std::optional(std::move(type));
  }

  WeightPtr constant_weight(const TargetStep& step, const TensorType& type) const {
    if (step.kind == TargetStep::Kind::kIdentity) return Weight::identity_kernel(type);
    const auto value = evaluate_fixed(step.arguments[0]);
    if (!value) return nullptr;
    const auto* real = std::get_if<double>(&*value);
    const auto* whole = std::get_if<int64_t>(&*value);
    if (real == nullptr && whole == nullptr) return nullptr;
    const double number = real != nullptr ? *real : static_cast<double>(*whole);
    return holds_number(type.dtype, number) ? Weight::constant(type, number) : nullptr;
  }

  bool make_constant(const TargetStep& step) {
    const auto type = constant_type(step);
    if (!type) return false;
    WeightPtr weight = constant_weight(step, *type);
    if (weight == nullptr) return false;
    NewNode node;
    node.op = &constant_op();
    node.attributes = std::make_shared<const Attributes>();
    node.weight = std::move(weight);
    node.types = {*type};
    node.constant = true;
    result(step, 0) = {{append(std::move(node)), 0}};
    return true;
  }

  int append(NewNode node) {
    node.local_hash = hash_combine(hash_string(node.op->name), node.attributes->hash());
    if (node.weight) node.local_hash = hash_combine(node.local_hash, node.weight->identity());
    for (const TensorType& type : node.types)
      node.local_hash = hash_combine(node.local_hash, hash_of(type));
    instance_.nodes.push_back(std::move(node));
    return static_cast<int>(instance_.nodes.size()) - 1;
  }

  bool map_outputs() {
    for (const MappedOutput& output : pattern_.outputs) {
      const Operands from = resolve({true, output.source});
      const Operands to = resolve(output.target);
      if (from.size() != to.size()) return false;
      for (size_t i = 0; i < from.size(); ++i) {
        if (to[i].absent() || type(from[i]) != type(to[i]) || constant(from[i]) || constant(to[i]))
          return false;
        instance_.outputs.emplace_back(from[i].index, to[i]);
      }
    }
    return !instance_.outputs.empty();
  }

  void note_dropped_inputs() {
    std::vector<bool> kept(binding_.values.size(), false);
    const auto keep = [&](const Operand& operand) {
      if (operand.node < 0 && operand.index >= 0) kept[static_cast<size_t>(operand.index)] = true;
    };
    for (const NewNode& node : instance_.nodes)
      std::for_each(node.inputs.begin(), node.inputs.end(), keep);
    for (const auto& output : instance_.outputs) keep(output.second);
    for (size_t i = 0; i < pattern_.values.size(); ++i)
      for (int32_t at = binding_.offsets[i]; at < binding_.offsets[i + 1]; ++at)
        if (pattern_.values[i].producer < 0 && binding_.values[static_cast<size_t>(at)].valid() &&
            !kept[static_cast<size_t>(at)])
          instance_.drops_inputs = true;
  }

  const RulePattern& pattern_;
  const Graph& graph_;
  const Binding& binding_;
  CostModel& cost_model_;
  std::vector<Variables> variables_;  // by sample
  std::vector<ExprScope> scopes_;
  std::vector<Operands> made_;
  std::vector<std::pair<size_t, OpSignature>> to_price_;  // new nodes that cost something
  Instance instance_;
};

}  // namespace

std::shared_ptr<const Instance> instantiate(const RulePattern& pattern, const Graph& graph,
                                            const Binding& binding, CostModel& cost_model) {
  return Instantiator(pattern, graph, binding, cost_model).run();
}

bool uses_hold(const RulePattern& pattern, const Graph& graph, const Binding& binding) {
  for (size_t sample = 0; sample < samples_of(graph, binding); ++sample) {
    Variables variables(pattern.variables.size());
    if (!conditions_hold(pattern, {graph, binding, variables, sample}, variables, true))
      return false;
  }
  return true;
}

const InstanceCache::Entry* InstanceCache::find(uint64_t key) const {
  const std::shared_lock lock(mutex_);
  const auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second;
}

const InstanceCache::Entry* InstanceCache::insert(uint64_t key,
                                                  std::shared_ptr<const Instance> instance) {
  const std::unique_lock lock(mutex_);
  return &entries_.try_emplace(key, Entry{std::move(instance)}).first->second;
}

bool InstanceCache::fits(uint64_t key, const Instance& instance, const Graph& graph,
                         const Binding& binding) {
  if (!instance.narrow) return true;
  for (const ValueId value : binding.values)
    if (value.valid() && graph.is_constant(value))
      key = hash_combine(key, constant_identity(graph, value));
  {
    const std::shared_lock lock(mutex_);
    if (const auto at = fits_.find(key); at != fits_.end()) return at->second;
  }
  const bool fits = fits_narrow_types(instance, graph, binding);
  const std::unique_lock lock(mutex_);
  return fits_.try_emplace(key, fits).first->second;
}

}  // namespace reverie
