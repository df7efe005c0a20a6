#include "datasets/rollout_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace reverie {
namespace {

/// Keeps the sum in `mean` until `finish`.
void include(Spread& spread, double value, int64_t already) {
  spread.least = already == 0 ? value : std::min(spread.least, value);
  spread.most = already == 0 ? value : std::max(spread.most, value);
  spread.mean += value;
}

void finish(Spread& spread, int64_t count) {
  if (count > 0) spread.mean /= static_cast<double>(count);
}

void include(EpisodeGroup& group, const EnvSpec& spec, const Episode& episode, double total) {
  const double improvement = episode.improvement_percent(spec);
  ++group.episodes;
  group.steps += static_cast<int64_t>(episode.steps.size());
  group.mean_return += total;
  group.mean_improvement_percent += improvement;
  group.best_improvement_percent =
      group.episodes == 1 ? improvement : std::max(group.best_improvement_percent, improvement);
}

void finish(EpisodeGroup& group) {
  const int count = std::max(group.episodes, 1);
  group.mean_return /= count;
  group.mean_improvement_percent /= count;
}

void include_end(RolloutSummary& summary, const Episode& episode, int no_op) {
  if (episode.steps.empty()) return;
  const Transition& last = episode.steps.back();
  if (last.truncated)
    ++summary.horizon_ends;
  else if (last.action.primary == no_op)
    ++summary.no_op_ends;
  else
    ++summary.finished_ends;
}

std::string heading(const char* what) {
  return fmt::format("\n{:<24} {:>8} {:>9} {:>11} {:>12} {:>9}\n", what, "episodes", "steps",
                     "mean return", "improvement", "best");
}

std::string row(const std::string& name, const EpisodeGroup& group) {
  return fmt::format("  {:<22} {:>8} {:>9} {:>11.3f} {:>11.2f}% {:>8.2f}%\n", name, group.episodes,
                     group.steps, group.mean_return, group.mean_improvement_percent,
                     group.best_improvement_percent);
}

std::string show(const char* name, const Spread& spread) {
  return fmt::format("{:<10}{:.3f} to {:.3f}, on average {:.3f}\n", name, spread.least, spread.most,
                     spread.mean);
}

std::string show_actions(const EnvSpec& spec, const RolloutSummary& summary) {
  std::vector<size_t> order(summary.actions.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return summary.actions[a] > summary.actions[b]; });
  std::string text = fmt::format("\n{:<38} {:>9} {:>8}\n", "action", "taken", "share");
  int64_t never = 0;
  for (const size_t action : order) {
    const int64_t taken = summary.actions[action];
    if (taken == 0)
      ++never;
    else
      text += fmt::format("  {:<36} {:>9} {:>7.2f}%\n", spec.actions[action], taken,
                          100.0 * static_cast<double>(taken) / static_cast<double>(summary.steps));
  }
  return text + fmt::format("  {} of {} actions were never taken\n", never, order.size());
}

}  // namespace

RolloutSummary summarize(const Rollouts& rollouts) {
  const EnvSpec& spec = rollouts.info().spec;
  RolloutSummary summary;
  summary.states = rollouts.state_count();
  summary.actions.resize(spec.actions.size());
  summary.graphs.resize(static_cast<size_t>(spec.start_states()));
  const auto& episodes = rollouts.episodes();
  for (size_t e = 0; e < episodes.size(); ++e) {
    const Episode& episode = episodes[e];
    double total = 0;
    for (const Transition& step : episode.steps) {
      include(summary.reward, step.reward, summary.steps++);
      ++summary.actions[static_cast<size_t>(step.action.primary)];
      total += step.reward;
    }
    const auto before = static_cast<int64_t>(e);
    include(summary.length, static_cast<double>(episode.steps.size()), before);
    include(summary.episode_return, total, before);
    include_end(summary, episode, spec.no_op());
    include(summary.agents[episode.agent], spec, episode, total);
    include(summary.graphs[static_cast<size_t>(episode.start_graph)], spec, episode, total);
    ++summary.splits[static_cast<size_t>(rollouts.split(static_cast<int>(e)))];
  }
  const auto count = static_cast<int64_t>(episodes.size());
  finish(summary.length, count);
  finish(summary.episode_return, count);
  finish(summary.reward, summary.steps);
  for (auto& [name, group] : summary.agents) finish(group);
  for (EpisodeGroup& group : summary.graphs) finish(group);
  return summary;
}

std::string describe(const RolloutInfo& info, const RolloutSummary& summary) {
  const int episodes = summary.splits[0] + summary.splits[1] + summary.splits[2];
  std::string text = fmt::format(
      "environment {}, {} actions, horizon {}, {} by {}, seed {}\n"
      "episodes  {} of {} planned: {} for training, {} for validation, {} for testing\n"
      "ends      {} by NO-OP, {} with nothing left to do, {} at the horizon\n"
      "steps     {}; {} distinct states\n",
      info.spec.name, info.spec.actions.size(), info.spec.horizon,
      info.spec.objective_metric().name, info.spec.source, info.seed, episodes,
      info.planned_episodes, summary.splits[0], summary.splits[1], summary.splits[2],
      summary.no_op_ends, summary.finished_ends, summary.horizon_ends, summary.steps,
      summary.states);
  text += show("length", summary.length) + show("reward", summary.reward) +
          show("return", summary.episode_return);
  text += heading("agent");
  for (const auto& [name, group] : summary.agents) text += row(name, group);
  text += heading("start state");
  for (size_t g = 0; g < summary.graphs.size(); ++g)
    text += row(info.spec.starts[g].name, summary.graphs[g]);
  return text + show_actions(info.spec, summary);
}

}  // namespace reverie
