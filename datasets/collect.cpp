#include "datasets/collect.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/metrics.h"
#include "core/base/parallel.h"
#include "core/base/shuffle.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

constexpr int kSplitBlock = 10;
constexpr size_t kEpisodesAhead = 2;  // per worker
enum Stream : uint64_t { kSeeds, kActions, kSplits, kTestGraphs };

/// The place of `item` in a permutation of 0 .. n - 1 drawn by `rng`.
int shuffled_rank(int item, int n, Rng rng) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), rng);
  return order[static_cast<size_t>(item)];
}

/// How many episodes of a block have the split of that share, so that they add up to it over the
/// blocks; `begun` is the part of one that a graph begins with, so that they add up over the graphs
/// too.
int count_in_block(double share, int block, double begun) {
  const auto of_first = [&](int blocks) {
    return static_cast<int>(std::floor(share * kSplitBlock * blocks + begun));
  };
  return of_first(block + 1) - of_first(block);
}

Metrics episode_metrics(const EnvSpec& spec, const Episode& episode) {
  double total = 0;
  for (const Transition& step : episode.steps) total += step.reward;
  return {{"charts/return", total},
          {"charts/improvement_percent", episode.improvement_percent(spec)},
          {"charts/length", static_cast<double>(episode.steps.size())}};
}

/// How many of the writer's episodes from its first on are found and have their line of metrics.
int recorded_before(const RolloutWriter& writer, const std::string& metrics) {
  int next = writer.episodes().first;
  const std::string path = metrics + "/metrics.jsonl";
  if (!file_exists(path)) return next;
  for (const MetricsRow& row : read_metrics(path))
    if (row.step == next + 1 && writer.found().contains(next)) ++next;
  return next;
}

/// What is told of episodes, always in their order.
class Record {
 public:
  Record(const EnvSpec& spec, const RolloutWriter& writer, const std::string& metrics)
      : spec_(spec),
        found_(writer.found()),
        next_(writer.episodes().first),
        first_line_(recorded_before(writer, metrics)),
        metrics_(metrics, first_line_ == next_ ? 0 : first_line_) {
    result.episodes = writer.episodes().second - next_;
    result.resumed = static_cast<int>(found_.size());
  }

  void add_found_before(int episode) {
    while (next_ < episode) add(next_, found_.at(next_));
  }
  void add(int number, const Episode& episode) {
    add_found_before(number);
    const double improvement = episode.improvement_percent(spec_);
    result.steps += static_cast<int64_t>(episode.steps.size());
    result.mean_improvement_percent += improvement / result.episodes;
    result.best_improvement_percent = std::max(result.best_improvement_percent, improvement);
    next_ = number + 1;
    if (number >= first_line_) metrics_.write(next_, episode_metrics(spec_, episode));
  }

  CollectResult result;

 private:
  const EnvSpec& spec_;
  const std::map<int, Episode>& found_;
  int next_;
  int first_line_;
  MetricsWriter metrics_;
};

void record(const EnvSpec& spec, const StepInfo& info, Episode& episode) {
  episode.objective.push_back(info.objective(spec));
  if (spec.may_be_infeasible) episode.feasible.push_back(info.feasible);
}

bool is_test_graph(const CollectConfig& config, uint64_t seed, int graph, int start_states) {
  return shuffled_rank(graph, start_states, Rng(seed).fork(kTestGraphs)) < config.test_graphs;
}

void check_config(const CollectConfig& config, uint64_t seed, const EnvSpec& spec) {
  graphs_to_train_on(config, seed, spec.start_states());
  if (config.epsilons.empty())
    throw InputError("collect.epsilons is empty; give at least one share");
}

}  // namespace

uint64_t episode_seed(uint64_t seed, int episode, int start_states) {
  const auto n = static_cast<uint64_t>(start_states);
  const uint64_t drawn = Rng(seed).fork(kSeeds).fork(static_cast<uint64_t>(episode)).bits() >> 1;
  return drawn - drawn % n + static_cast<uint64_t>(episode) % n;
}

Split split_of(const CollectConfig& config, uint64_t seed, int episode, int start_states) {
  const int graph = episode % start_states, turn = episode / start_states;
  if (is_test_graph(config, seed, graph, start_states)) return Split::kTest;
  const Rng stream = Rng(seed)
                         .fork(kSplits)
                         .fork(static_cast<uint64_t>(graph))
                         .fork(static_cast<uint64_t>(turn / kSplitBlock));
  const int rank = shuffled_rank(turn % kSplitBlock, kSplitBlock, stream);
  const double begun = (graph + 0.5) / start_states;
  const auto of_block = [&](double share) {
    return count_in_block(share, turn / kSplitBlock, begun);
  };
  const int validation = of_block(config.validation);
  if (rank < validation) return Split::kValidation;
  return rank < validation + of_block(config.test) ? Split::kTest : Split::kTrain;
}

std::vector<int> graphs_to_train_on(const CollectConfig& config, uint64_t seed, int start_states) {
  std::vector<int> graphs;
  for (int graph = 0; graph < start_states; ++graph)
    if (!is_test_graph(config, seed, graph, start_states)) graphs.push_back(graph);
  if (graphs.empty())
    throw InputError(
        "collect.test_graphs is {}, but there are only {} start graphs and one at least "
        "must be left for training",
        config.test_graphs, start_states);
  return graphs;
}

int shards_of(const CollectConfig& config) {
  return (config.episodes + config.shard_episodes - 1) / config.shard_episodes;
}

void check_part(const CollectConfig& config, Part part) {
  if (part.of > shards_of(config))
    throw InputError(
        "part {}: there are fewer shards ({}); give fewer parts, or a smaller "
        "collect.shard_episodes",
        part.text(), shards_of(config));
}

RecordedEpisode record_episode(Environment& env, CollectAgent& agent, uint64_t seed, Rng rng) {
  RecordedEpisode recorded;
  Episode& episode = recorded.episode;
  env.reset(seed);
  episode.seed = seed;
  episode.start_graph =
      static_cast<int32_t>(seed % static_cast<uint64_t>(env.spec().start_states()));
  episode.agent = agent.begin(env, rng);
  record(env.spec(), env.info(), episode);
  for (;;) {
    const Observation observation = env.observe();
    recorded.states.push_back(encode_state(env.spec(), observation));
    if (!episode.steps.empty() &&
        (episode.steps.back().terminated || episode.steps.back().truncated))
      return recorded;
    const Action action = agent.act(env, observation, rng);
    const StepResult result = env.step(action);
    episode.steps.push_back(
        {0, action, static_cast<float>(result.reward), result.terminated, result.truncated});
    record(env.spec(), result.info, episode);
  }
}

namespace {

RolloutInfo info_of(const EnvSpec& spec, const CollectConfig& config, const CollectRun& run) {
  return {spec, run.seed, run.config, config.episodes, config.shard_episodes};
}

/// The episode of this number.
RecordedEpisode played(Environment& env, CollectAgent& agent, const CollectConfig& config,
                       uint64_t seed, int episode) {
  const int starts = env.spec().start_states();
  const Rng rng = Rng(seed).fork(kActions).fork(static_cast<uint64_t>(episode));
  RecordedEpisode recorded = record_episode(env, agent, episode_seed(seed, episode, starts), rng);
  recorded.split = split_of(config, seed, episode, starts);
  return recorded;
}

}  // namespace

std::string collect_shard(const Environment& prototype, const CollectAgent& agent,
                          const CollectConfig& config, const CollectRun& run, int shard) {
  check_config(config, run.seed, prototype.spec());
  REVERIE_CHECK(shard >= 0 && shard < shards_of(config));
  ShardBuilder builder(info_of(prototype.spec(), config, run));
  const auto env = prototype.fork();
  const auto own = agent.fork();
  const int first = shard * config.shard_episodes;
  for (int episode = first; episode < std::min(first + config.shard_episodes, config.episodes);
       ++episode)
    builder.add(played(*env, *own, config, run.seed, episode));
  return builder.take(first);
}

CollectResult collect(const Environment& prototype, const CollectAgent& agent,
                      const CollectConfig& config, const CollectRun& run) {
  const EnvSpec& spec = prototype.spec();
  check_config(config, run.seed, spec);
  RolloutWriter writer(run.directory, info_of(spec, config, run), run.part);
  const std::vector<int>& missing = writer.missing();
  const auto [first, end] = writer.episodes();
  Record record(spec, writer, run.metrics.empty() ? run.directory : run.metrics);
  Progress progress("collect", end - first, "episodes", run.progress);
  progress.start_at(record.result.resumed);
  std::vector<std::unique_ptr<Environment>> environments;
  std::vector<std::unique_ptr<CollectAgent>> agents;
  for (int worker = 0; worker < run.workers; ++worker) {
    environments.push_back(prototype.fork());
    agents.push_back(agent.fork());
  }
  const auto produce = [&](size_t index, int worker) {
    return played(*environments[static_cast<size_t>(worker)], *agents[static_cast<size_t>(worker)],
                  config, run.seed, missing[index]);
  };
  const auto consume = [&](size_t index, RecordedEpisode recorded) {
    record.add(missing[index], recorded.episode);
    writer.append(std::move(recorded));
    progress.update(record.result.resumed + static_cast<int64_t>(index) + 1,
                    fmt::format("{} steps", record.result.steps));
    if (run.after_episode) run.after_episode(missing[index]);
  };
  const Stopwatch watch;
  ordered_parallel<RecordedEpisode>(0, missing.size(), run.workers,
                                    kEpisodesAhead * static_cast<size_t>(run.workers), produce,
                                    consume);
  record.add_found_before(end);
  record.result.seconds = watch.seconds();
  record.result.bytes = writer.bytes_written();
  for (const auto& env : environments) record.result.counters += env->counters();
  return record.result;
}

}  // namespace reverie
