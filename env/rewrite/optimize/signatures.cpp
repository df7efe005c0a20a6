#include "env/rewrite/optimize/signatures.h"

#include "core/cost/recording_costs.h"
#include "core/cost/roofline.h"
#include "core/exec/device/fuse.h"
#include "env/rewrite/optimize/written_costs.h"
#include "env/rewrite/search/search.h"

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
  RewriteSearchOptions within;
  within.seed = options.seed;
  within.budget = options.budget;
  within.stop = options.stop;
  search::Saturation saturation;
  saturation.rounds = 1;
  saturation.iterations = saturation.multi_iterations = options.depth;
  saturation.node_limit = options.node_limit;
  const RewriteState start(model.graph, std::move(rules), costs);
  for (const Search& search :
       {Search(saturation), Search(search::Taso()), Search(search::RuleLists())})
    if (!options.stop.requested()) record(search_rewrites(start, within, search).best);
  return recorder->signatures();
}

}  // namespace reverie
