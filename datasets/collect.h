#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/base/part.h"
#include "core/base/progress.h"
#include "core/base/random.h"
#include "datasets/rollout_writer.h"
#include "env/environment.h"

namespace reverie {

struct CollectConfig {
  std::string agent = "mixed";
  int episodes = 200;
  int shard_episodes = 32;
  double no_op = 0.01;
  std::vector<double> epsilons = {0.05, 0.15, 0.3, 0.6};
  double temperature = 0.2;
  double lists = 0.5;
  double validation = 0.1;
  double test = 0.1;
  int test_graphs = 0;

  template <class V>
  void fields(V& v) {
    v.field("agent", agent, "Who acts: random, mixed, ppo or FILE.pt, an agent in TorchScript");
    v.field("episodes", episodes, "Episodes to collect", at_least(1));
    v.field("shard_episodes", shard_episodes, "Episodes in one file", at_least(1));
    v.field("no_op", no_op, "Probability of ending the episode at a step", between(0, 1));
    v.field("epsilons", epsilons, "mixed: shares of random steps, one drawn for each episode",
            between(0, 1));
    v.field("temperature", temperature,
            "mixed: of the softmax on cost changes, relative to the largest", above(0));
    v.field("lists", lists, "mixed: share of the episodes that follow a random list of actions",
            between(0, 1));
    v.field("validation", validation, "Share of the episodes of a start graph for validation",
            between(0, 0.5));
    v.field("test", test, "Share of the episodes of a start graph for testing", between(0, 0.5));
    v.field("test_graphs", test_graphs, "Start graphs of which every episode is for testing",
            at_least(0));
  }
};

/// Who acts while rollouts are collected. Each worker has a fork of its own; what an agent does may
/// depend on the environment and on `rng` alone, never on earlier episodes.
class CollectAgent {
 public:
  virtual ~CollectAgent() = default;
  /// Begins an episode. Returns the name that is recorded with it: "random", "mixed:0.15".
  virtual std::string begin(const Environment& env, Rng& rng) = 0;
  virtual Action act(const Environment& env, const Observation& observation, Rng& rng) = 0;
  virtual std::unique_ptr<CollectAgent> fork() const = 0;
};

/// Uniform over the valid primary actions, then over their secondary choices; NO-OP with the
/// configured probability, or when nothing else is left.
std::unique_ptr<CollectAgent> make_random_agent(const CollectConfig& config);
/// A share epsilon of random steps; otherwise a softmax over all valid actions on what they gain.
/// Random where the environment cannot tell gains. Episodes that follow a random list take each
/// primary action, in the list's order, wherever it gains, a quarter of them wherever they can; all
/// of them, and once, where gains cannot be told.
std::unique_ptr<CollectAgent> make_mixed_agent(const CollectConfig& config);
/// By the configured name; InputError lists the names.
std::unique_ptr<CollectAgent> make_collect_agent(const CollectConfig& config);

/// Plays one episode and records it.
RecordedEpisode record_episode(Environment& env, CollectAgent& agent, uint64_t seed, Rng rng);

/// The seed of an episode: its start state is `episode` modulo the number of start states.
uint64_t episode_seed(uint64_t seed, int episode, int start_states);
/// By graph (`test_graphs` of them, drawn by the seed), then by episode: of each ten episodes of a
/// graph the configured shares, drawn by the seed; where a share of ten is no whole number, so many
/// that it holds over graphs and tens together. A function of these numbers alone.
Split split_of(const CollectConfig& config, uint64_t seed, int episode, int start_states);
/// The start graphs whose episodes are not all for testing, ascending; one at least, InputError
/// otherwise.
std::vector<int> graphs_to_train_on(const CollectConfig& config, uint64_t seed, int start_states);

/// InputError where there are more parts than shards.
void check_part(const CollectConfig& config, Part part);

/// How many files the episodes fill.
int shards_of(const CollectConfig& config);

struct CollectRun {
  std::string directory;     ///< of the rollouts
  Part part = {};            ///< of their shards
  std::string metrics = "";  ///< where metrics go; empty: `directory`
  uint64_t seed = 0;
  std::string config;  ///< resolved, as YAML; kept with the data
  int workers = 1;     ///< does not change what is written
  ProgressStyle progress = ProgressStyle::kQuiet;
  /// Called after each episode on disk or on its way there.
  std::function<void(int episode)> after_episode = {};
};

struct CollectResult {
  int episodes = 0;                     ///< of the part
  int resumed = 0;                      ///< of these, found in the directory
  int64_t steps = 0;                    ///< of all these, as are improvements
  int64_t bytes = 0;                    ///< written now
  double seconds = 0;                   ///< now
  double mean_improvement_percent = 0;  ///< best feasible state against the first
  double best_improvement_percent = std::numeric_limits<double>::lowest();
  EnvCounters counters;  ///< work done now; files do not tell of look-ups and measurements
};

/// The bytes of one shard, as `collect` writes it: a function of its arguments alone, so that any
/// machine can make it. Of `run` only seed and config count.
std::string collect_shard(const Environment& prototype, const CollectAgent& agent,
                          const CollectConfig& config, const CollectRun& run, int shard);

/// Collects the episodes of the part that are not yet in the directory. Equal environment, agent,
/// configuration and seed give equal files for any number of workers, parts and interruptions,
/// where the environment is deterministic. InputError as by RolloutWriter.
CollectResult collect(const Environment& prototype, const CollectAgent& agent,
                      const CollectConfig& config, const CollectRun& run);

}  // namespace reverie
