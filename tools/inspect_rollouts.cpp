#include <fmt/format.h>

#include "core/base/json.h"
#include "datasets/rollout_summary.h"
#include "tools/inspect.h"

namespace reverie {
namespace {

Json to_json(const Spread& spread) {
  return {{"least", spread.least}, {"mean", spread.mean}, {"most", spread.most}};
}

Json to_json(const EpisodeGroup& group) {
  return {{"episodes", group.episodes},
          {"steps", group.steps},
          {"mean_return", group.mean_return},
          {"mean_improvement_percent", group.mean_improvement_percent},
          {"best_improvement_percent", group.best_improvement_percent}};
}

Json to_json(const std::string& directory, const RolloutInfo& info, const RolloutSummary& summary) {
  Json agents = Json::Object(), graphs = Json::Object(), actions = Json::Object();
  for (const auto& [name, group] : summary.agents) agents[name] = to_json(group);
  for (size_t g = 0; g < summary.graphs.size(); ++g)
    graphs[info.spec.starts[g].name] = to_json(summary.graphs[g]);
  for (size_t a = 0; a < summary.actions.size(); ++a)
    actions[info.spec.actions[a]] = summary.actions[a];
  return {{"kind", "rollouts"},
          {"directory", directory},
          {"environment", info.spec.name},
          {"source", info.spec.source},
          {"seed", info.seed},
          {"horizon", info.spec.horizon},
          {"planned_episodes", info.planned_episodes},
          {"episodes",
           {{"train", summary.splits[0]},
            {"validation", summary.splits[1]},
            {"test", summary.splits[2]}}},
          {"ends",
           {{"no_op", summary.no_op_ends},
            {"nothing_left", summary.finished_ends},
            {"horizon", summary.horizon_ends}}},
          {"steps", summary.steps},
          {"states", summary.states},
          {"length", to_json(summary.length)},
          {"reward", to_json(summary.reward)},
          {"return", to_json(summary.episode_return)},
          {"agents", agents},
          {"graphs", graphs},
          {"actions", actions}};
}

}  // namespace

std::string inspect_rollouts(const std::string& directory, bool json) {
  const Rollouts rollouts = Rollouts::open(directory);
  const RolloutSummary summary = summarize(rollouts);
  if (json) return to_json(directory, rollouts.info(), summary).dump() + "\n";
  return fmt::format("{}: rollouts\n{}", directory, describe(rollouts.info(), summary));
}

}  // namespace reverie
