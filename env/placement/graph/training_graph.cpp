#include "env/placement/graph/training_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/error.h"
#include "env/placement/graph/gradient_step.h"

namespace reverie {
namespace {

class TrainingGraph {
 public:
  TrainingGraph(const Graph& graph, std::vector<std::string> kinds)
      : graph_(graph), builder_(std::move(kinds)), nodes_(graph, builder_) {
    for (const NodeId id : nodes_.operators()) {
      const std::vector<bool> needed = needed_inputs(id);
      if (std::ranges::find(needed, true) == needed.end()) continue;
      for (const ValueId output : graph.outputs(id))
        if (is_floating(graph.type(output).dtype)) depends_.insert(output);
    }
  }

  CostGraph finish(const std::string& name) {
    add_losses();
    if (gradients_.empty())
      throw InputError("no output depends on a weight, so nothing is trained");
    for (auto id = nodes_.operators().rbegin(); id != nodes_.operators().rend(); ++id) go_back(*id);
    for (const ValueId weight : weights_) add_update(weight);
    return builder_.finish(name);
  }

 private:
  bool is_weight(ValueId value) const {
    return graph_.is_constant(value) && graph_.type(value).elements() > 1;
  }

  std::vector<bool> needed_inputs(NodeId id) const {
    std::vector<bool> needed;
    for (size_t i = 0; i < graph_.inputs(id).size(); ++i) {
      const bool can = placement::is_differentiable(graph_, id, i);
      const ValueId value = can ? nodes_.source(graph_.inputs(id)[i]) : ValueId{};
      needed.push_back(can && (is_weight(value) || depends_.contains(value)));
    }
    return needed;
  }

  int add_node(const std::string& name, const std::string& op,
               const std::vector<placement::Operand>& reads, const OpSignature& work) {
    const int node = builder_.add_node(name, op, &work);
    for (const placement::Operand& read : reads)
      if (read.tensor >= 0) builder_.read(node, read.tensor);
    return node;
  }

  void add_losses() {
    for (const GraphOutput& output : graph_.outputs()) {
      const ValueId value = nodes_.source(output.value);
      if (!depends_.contains(value)) continue;
      const TensorType& type = graph_.type(value);
      const int node = add_node(output.name + "/loss", "LossGrad", {{type, nodes_.tensor(value)}},
                                placement::elementwise_work({type}, type));
      gradients_[value].push_back({type, builder_.add_tensor(node, type.bytes())});
    }
  }

  /// The sum of the gradients that came for a value, made beside a node.
  std::optional<placement::Operand> gradient_of(ValueId value, int beside) {
    const auto found = gradients_.find(value);
    if (found == gradients_.end()) return std::nullopt;
    const std::vector<placement::Operand>& parts = found->second;
    const TensorType& type = graph_.type(value);  // that of a part may be that of a view
    if (parts.size() == 1) return placement::Operand{type, parts[0].tensor};
    std::vector<TensorType> types;
    for (const placement::Operand& part : parts) types.push_back(part.type);
    const int node = add_node(builder_.node_name(beside) + "/total", "Sum", parts,
                              placement::elementwise_work(std::move(types), type));
    builder_.keep_together(beside, node);
    return placement::Operand{type, builder_.add_tensor(node, type.bytes())};
  }

  void go_back(NodeId id) {
    std::vector<std::optional<placement::Operand>> dys;
    bool any = false;
    for (const ValueId output : graph_.outputs(id)) {
      dys.push_back(gradient_of(output, nodes_.node(id)));
      any = any || dys.back().has_value();
    }
    if (!any) return;
    placement::GradientStep step(graph_, nodes_, builder_, id, std::move(dys), needed_inputs(id));
    with_context(builder_.node_name(nodes_.node(id)),
                 [&] { placement::differentiate(graph_.op(id).name, step); });
    for (size_t input = 0; input < step.inputs(); ++input) {
      if (!step.results()[input] || !step.needs(input)) continue;
      const ValueId value = nodes_.source(graph_.inputs(id)[input]);
      std::vector<placement::Operand>& gradients = gradients_[value];
      if (gradients.empty() && is_weight(value)) weights_.push_back(value);
      gradients.push_back(*step.results()[input]);
    }
  }

  /// weight - rate * gradient.
  void add_update(ValueId weight) {
    const int holder = nodes_.holder(weight);
    const placement::Operand gradient = *gradient_of(weight, holder);
    const TensorType& type = graph_.type(weight);
    const WeightPtr& named = graph_.weight(graph_.producer(weight));
    const std::string name =
        named != nullptr && !named->name().empty() ? named->name() : builder_.node_name(holder);
    const int node = add_node(name + "/update", "Update", {gradient},
                              placement::elementwise_work({type, gradient.type}, type));
    builder_.keep_together(holder, node);
  }

  const Graph& graph_;
  CostGraphBuilder builder_;
  ModelNodes nodes_;
  std::set<ValueId> depends_;  ///< on a weight
  std::map<ValueId, std::vector<placement::Operand>> gradients_;
  std::vector<ValueId> weights_;  ///< in the order in which a gradient came first
};

}  // namespace

CostGraph training_graph_of(const Graph& graph, const Topology& topology, const std::string& name) {
  return with_context(name, [&] { return TrainingGraph(graph, kinds_of(topology)).finish(name); });
}

}  // namespace reverie
