#include "core/search/signatures.h"

#include "core/cost/recording_costs.h"
#include "core/cost/roofline.h"
#include "core/exec/device/fuse.h"
#include "core/search/search.h"
#include "core/search/written_costs.h"

namespace reverie {

std::map<std::string, OpSignature> reachable_signatures(const ImportedModel& model,
                                                        std::shared_ptr<const RuleSet> rules,
                                                        const std::string& roofline,
                                                        const ReachOptions& options) {
  const auto recorder = std::make_shared<RecordingCosts>(make_roofline(device_profile(roofline)));
  const auto costs = costs_as_written(recorder, newest_opset(model));
  const auto record = [&](const Graph& graph) {
    graph_cost(*costs, graph);
    if (options.fuses) graph_cost(*costs, fused(graph));
  };
  record(model.graph);
  if (options.depth == 0) return recorder->signatures();
  SearchOptions search;
  search.seed = options.seed;
  search.budget = options.budget;
  search.stop = options.stop;
  search.saturation.rounds = 1;
  search.saturation.iterations = search.saturation.multi_iterations = options.depth;
  search.saturation.node_limit = options.node_limit;
  const RewriteState start(model.graph, std::move(rules), costs);
  for (const auto method : {saturation_greedy_search, taso_search, rule_list_search})
    if (!options.stop.requested()) record(method(start, search).best);
  return recorder->signatures();
}

}  // namespace reverie
