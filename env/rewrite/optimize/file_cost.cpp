#include "env/rewrite/optimize/file_cost.h"

#include <algorithm>

#include "core/ir/structural_hash.h"
#include "core/onnx/lower.h"
#include "core/rules/example.h"
#include "core/rules/no_cost.h"
#include "core/rules/rewrite_state.h"
#include "env/rewrite/search/search.h"

namespace reverie {
namespace {

bool shows_nothing(const Rule& rule, const RuleExample& example) {
  const Graph before = build_example(rule.pattern(), example, 1);
  auto alone = std::make_shared<RuleSet>();
  alone->add(rule);
  RewriteState state(before, alone, std::make_shared<NoCost>());
  if (state.location_count(0) == 0) return false;
  state.commit(state.propose(state.location(0, 0)));
  return same_in_a_file(before, state.graph());
}

}  // namespace

bool same_in_a_file(const Graph& a, const Graph& b) {
  constexpr bool kFold = false;  // equal expressions on constants are equal constants
  return isomorphic(lower(a, kFold), lower(b, kFold));
}

int64_t written_nodes(const Graph& graph) {
  int64_t nodes = 0;
  for (const auto& [op, count] : written_operators(graph)) nodes += count;
  return nodes;
}

std::string operator_name(const Graph& graph, NodeId node) {
  if (&graph.op(node) != &opaque_op()) return graph.op(node).name;
  const Attributes& attributes = graph.attributes(node);
  const std::string domain = attributes.text("domain");
  const bool is_standard = domain.empty() || domain == "ai.onnx";
  return (is_standard ? "" : domain + "::") + attributes.text("op");
}

std::map<std::string, int64_t> written_operators(const Graph& graph) {
  const Graph lowered = lower(graph, false);
  std::map<std::string, int64_t> operators;
  for (const NodeId node : lowered.nodes())
    if (lowered.is_work(node)) ++operators[operator_name(lowered, node)];
  return operators;
}

RuleSet fusions_among(const RuleSet& rules) {
  RuleSet fusions;
  for (int i = 0; i < rules.size(); ++i) {
    const auto& examples = rules[i].pattern().examples;
    const bool is_fusion =
        !examples.empty() && std::ranges::all_of(examples, [&](const auto& example) {
          return shows_nothing(rules[i], example);
        });
    if (is_fusion) fusions.add(rules[i]);
  }
  return fusions;
}

FileCosts::FileCosts(const RuleSet& rules, std::shared_ptr<CostModel> cost)
    : fusions_(std::make_shared<const RuleSet>(fusions_among(rules))), cost_(std::move(cost)) {}

Cost FileCosts::of(const Graph& graph) const {
  const SearchResult found =
      search_rewrites({lower(graph, false), fusions_, cost_}, {}, search::Greedy());
  return cost_->fuses() ? running_cost(*cost_, found.best) : found.best_cost;
}

}  // namespace reverie
