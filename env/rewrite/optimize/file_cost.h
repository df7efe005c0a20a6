#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/cost/cost_model.h"
#include "core/rules/rule.h"

namespace reverie {

/// Rules of which a written file shows nothing: both sides of each of their examples are the same
/// in ONNX's operators (core/onnx/lower.h), such as an activation that goes into a convolution.
RuleSet fusions_among(const RuleSet& rules);

/// Costs of graphs as files hold them. What ONNX cannot say is spelled out again, and then every
/// graph, the original too, gets the fusions that gain: a runtime finds them by itself, so they are
/// nobody's merit. They are running costs: of fused graphs where the source fuses.
class FileCosts {
 public:
  FileCosts(const RuleSet& rules, std::shared_ptr<CostModel> cost);
  Cost of(const Graph& graph) const;

 private:
  std::shared_ptr<const RuleSet> fusions_;
  std::shared_ptr<CostModel> cost_;
};

/// Nodes of the file that is written of the graph.
int64_t written_nodes(const Graph& graph);
/// What a file calls the operator of a node: "Conv", or "com.example::Fused" of one that is carried
/// through.
std::string operator_name(const Graph& graph, NodeId node);
/// How many of them each operator has, by names as ImportedModel::operators.
std::map<std::string, int64_t> written_operators(const Graph& graph);

/// Whether both are written as the same file, but for names.
bool same_in_a_file(const Graph& a, const Graph& b);

}  // namespace reverie
