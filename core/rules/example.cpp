#include "core/rules/example.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/random.h"

namespace reverie {
namespace {

class ExampleBuilder {
 public:
  ExampleBuilder(const RulePattern& pattern, const RuleExample& example, uint64_t seed)
      : pattern_(pattern),
        example_(example),
        rng_(seed),
        values_(pattern.values.size()),
        built_(pattern.source.size(), false) {
    parts_.nodes.resize(pattern.source.size());
  }

  Graph run(ExampleParts* parts) {
    for (size_t i = 0; i < pattern_.values.size(); ++i)
      if (pattern_.values[i].producer < 0) add_variable(static_cast<int>(i));
    for (size_t op = 0; op < pattern_.source.size(); ++op) add_operator(static_cast<int>(op));
    for (const MappedOutput& output : pattern_.outputs) add_outputs(output.source, true);
    for (size_t i = 0; i < pattern_.values.size(); ++i)
      if (pattern_.values[i].producer >= 0) add_outputs(static_cast<int>(i), false);
    if (parts != nullptr) *parts = std::move(parts_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError("{}: an example of rule '{}' {}", pattern_.origin, pattern_.name, what);
  }

  /// All tensors of a pattern value, or those that nothing uses yet.
  void add_outputs(int value, bool all) {
    int index = 0;
    for (const ValueId tensor : values_[static_cast<size_t>(value)]) {
      const std::string name = fmt::format("{}{}", name_of_value(value), index++);
      if (all || graph_.use_count(tensor) == 0) graph_.add_output(name, tensor);
    }
  }

  const std::string& name_of_value(int value) const {
    return pattern_.values[static_cast<size_t>(value)].name;
  }

  void add_variable(int value) {
    std::vector<ValueId>& tensors = values_[static_cast<size_t>(value)];
    const auto at = example_.tensors.find(value);
    if (at == example_.tensors.end()) {
      if (!pattern_.values[static_cast<size_t>(value)].optional)
        fail(fmt::format("gives no shape for '{}'", name_of_value(value)));
      tensors = {ValueId{}};
      return;
    }
    for (const ExampleTensor& tensor : at->second)
      tensors.push_back(
          add_tensor(tensor, fmt::format("{}{}", name_of_value(value), tensors.size())));
  }

  ValueId add_tensor(const ExampleTensor& tensor, const std::string& name) {
    if (!tensor.constant) return graph_.add_input(name, tensor.type);
    if (tensor.filled) return graph_.add_constant(Weight::constant(tensor.type, tensor.value));
    if (tensor.identity) return graph_.add_constant(Weight::identity_kernel(tensor.type));
    Tensor data(TensorType{DType::kFloat64, tensor.type.shape});
    // Away from nought, so that quotients and roots of the drawn weights are tame.
    for (double& element : data.data<double>()) element = rng_.uniform(0.5, 1.5);
    const WeightPtr weight = Weight::dense(data.cast(tensor.type.dtype), name);
    parts_.drawn.insert(weight->identity());
    return graph_.add_constant(weight);
  }

  void add_operator(int index) {
    const auto i = static_cast<size_t>(index);
    if (built_[i]) return;
    built_[i] = true;
    const SourceOp& op = pattern_.source[i];
    std::vector<ValueId> inputs;
    for (const int value : op.inputs) {
      const int producer = pattern_.values[static_cast<size_t>(value)].producer;
      if (producer >= 0) add_operator(producer);
      const auto& tensors = values_[static_cast<size_t>(value)];
      inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    }
    Attributes attributes;
    for (const auto& [name, value] : op.attributes) attributes.set(name, value);
    if (const auto at = example_.attributes.find(index); at != example_.attributes.end())
      for (const auto& [name, value] : at->second) attributes.set(name, value);
    const NodeId node =
        with_context(fmt::format("{}: an example of rule '{}'", pattern_.origin, pattern_.name),
                     [&] { return graph_.add_node(*op.op, inputs, std::move(attributes)); });
    parts_.nodes[i] = node;
    assign_outputs(op, graph_.outputs(node));
  }

  void assign_outputs(const SourceOp& op, std::span<const ValueId> outputs) {
    const bool sequences = std::any_of(op.outputs.begin(), op.outputs.end(), [&](int value) {
      return pattern_.values[static_cast<size_t>(value)].sequence;
    });
    if (sequences && op.outputs.size() == 1) {
      values_[static_cast<size_t>(op.outputs[0])].assign(outputs.begin(), outputs.end());
      return;
    }
    // With sequences and single outputs side by side the first sequence takes what is left over.
    const size_t rest = outputs.size() + 1 - std::min(outputs.size() + 1, op.outputs.size());
    if (!sequences && outputs.size() != op.outputs.size())
      fail(fmt::format("gives {} {} outputs, and the rule has {}", op.op->name, outputs.size(),
                       op.outputs.size()));
    size_t at = 0;
    bool first = true;
    for (const int value : op.outputs) {
      const bool sequence = pattern_.values[static_cast<size_t>(value)].sequence;
      const size_t take = sequence ? (std::exchange(first, false) ? rest : 0) : 1;
      if (at + take > outputs.size()) fail(fmt::format("gives {} too few outputs", op.op->name));
      const auto from = outputs.begin() + static_cast<int64_t>(at);
      values_[static_cast<size_t>(value)].assign(from, from + static_cast<int64_t>(take));
      at += take;
    }
  }

  const RulePattern& pattern_;
  const RuleExample& example_;
  Rng rng_;
  Graph graph_;
  ExampleParts parts_;
  std::vector<std::vector<ValueId>> values_;
  std::vector<bool> built_;
};

}  // namespace

Graph build_example(const RulePattern& pattern, const RuleExample& example, uint64_t seed,
                    ExampleParts* parts) {
  return ExampleBuilder(pattern, example, seed).run(parts);
}

}  // namespace reverie
