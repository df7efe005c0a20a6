#include "datasets/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/metrics.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/counting_environment.h"
#include "tests/support/files_of.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::CountingEnvironment;
using testing::files_of;

CollectConfig small(int episodes = 23) {
  CollectConfig config;
  config.episodes = episodes;
  config.shard_episodes = 5;
  config.no_op = 0.1;
  return config;
}

CollectRun run_in(const std::string& directory, int workers = 1) {
  CollectRun run;
  run.directory = directory;
  run.seed = 17;
  run.config = "collect: {}\n";
  run.workers = workers;
  return run;
}

/// What a state says of its step and of the action that led there.
void check_state(const Observation& state, int step, const Action& last, int start) {
  const auto number = [](int value) { return static_cast<float>(value); };
  EXPECT_EQ(state.graph.graph_targets,
            (std::vector<float>{number(step), number(last.primary), number(last.entity),
                                number(last.index), number(start)}));
  EXPECT_EQ(state.graph.nodes[0], number(step));
  ASSERT_EQ(state.mask.entities, CountingEnvironment::entities_of(start));
  for (int primary = 0; primary < 3; ++primary)
    for (int entity = 0; entity < state.mask.entities; ++entity)
      EXPECT_EQ(state.mask.at(primary, entity),
                CountingEnvironment::choices_of(step, primary, entity));
  const auto third = static_cast<size_t>(2 * state.mask.entities);
  EXPECT_EQ(state.action_features[third], 10 * step + 2);
}

/// Every field of a record tells which step it belongs to.
void check_alignment(const Rollouts& rollouts) {
  for (const Episode& episode : rollouts.episodes()) {
    Action last{-1, -1, -1};
    for (size_t t = 0; t <= episode.steps.size(); ++t) {
      const bool end = t == episode.steps.size();
      const bool stayed = end && t > 0 && episode.steps.back().terminated;
      const auto step = static_cast<int>(stayed ? t - 1 : t);
      const Observation state = rollouts.state(end ? episode.final_state : episode.steps[t].state);
      check_state(state, step, last, episode.start_graph);
      EXPECT_EQ(episode.objective[t], 1000.0 - step);
      if (end) break;
      const Transition& taken = episode.steps[t];
      EXPECT_TRUE(state.mask.allows(taken.action));
      const bool no_op = taken.action.primary == 3;
      EXPECT_EQ(taken.terminated, no_op);
      EXPECT_EQ(taken.reward,
                no_op ? 0 : CountingEnvironment::reward_of(static_cast<int>(t) + 1, taken.action));
      EXPECT_EQ(taken.terminated || taken.truncated, t + 1 == episode.steps.size());
      if (!no_op) last = taken.action;
    }
  }
}

TEST(Collect, EveryPartOfARecordBelongsToItsStep) {
  const TemporaryDirectory directory;
  const CountingEnvironment env(9);
  collect(env, *make_random_agent(small()), small(), run_in(directory.path(), 2));
  const Rollouts rollouts = Rollouts::open(directory.path());
  EXPECT_EQ(rollouts.episodes().size(), 23u);
  check_alignment(rollouts);
}

TEST(Collect, ObjectiveAndFeasibilityAreThoseOfTheStates) {
  const TemporaryDirectory directory;
  KnapsackEnvironment env({.items = 4, .start_states = 3});
  const CollectResult result =
      collect(env, *make_random_agent(small(40)), small(40), run_in(directory.path()));
  const Rollouts rollouts = Rollouts::open(directory.path());
  int infeasible = 0;
  for (const Episode& episode : rollouts.episodes()) {
    env.reset(episode.seed);
    double best = env.info().best;
    for (size_t t = 0; t < episode.objective.size(); ++t) {
      if (t > 0) best = env.step(episode.steps[t - 1].action).info.best;
      EXPECT_EQ(episode.objective[t], env.info().metrics[0]);
      EXPECT_EQ(episode.feasible[t], env.info().feasible);
      infeasible += !env.info().feasible;
    }
    const double start = episode.objective.front();
    EXPECT_DOUBLE_EQ(episode.improvement_percent(env.spec()), 100 * (best - start) / start);
  }
  EXPECT_GT(infeasible, 0);
  EXPECT_GT(result.best_improvement_percent, 0);
}

TEST(Collect, BytesDoNotDependOnTheNumberOfWorkers) {
  const ToyEnvironment env({.blocks = 4, .start_states = 3, .horizon = 0});
  std::map<std::string, std::string> first;
  for (const int workers : {1, 2, 4}) {
    const TemporaryDirectory directory;
    collect(env, *make_mixed_agent(small()), small(), run_in(directory.path(), workers));
    const auto files = files_of(directory.path(), ".h5");
    EXPECT_EQ(files.size(), 5u);
    if (first.empty()) first = files;
    EXPECT_EQ(files, first) << workers << " workers";
  }
}

TEST(Collect, AKilledRunGoesOnToTheSameBytes) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  const TemporaryDirectory whole;
  const CollectResult at_once =
      collect(env, *make_mixed_agent(small()), small(), run_in(whole.path()));
  struct Killed {};
  for (const int stop : {0, 4, 5, 11, 22}) {
    const TemporaryDirectory directory;
    CollectRun run = run_in(directory.path(), 2);
    run.after_episode = [&](int episode) {
      if (episode == stop) throw Killed();
    };
    EXPECT_THROW(collect(env, *make_mixed_agent(small()), small(), run), Killed);
    write_file(directory / "shard-00001.h5.5-5.part", "what a killed writer leaves");
    run.after_episode = {};
    const CollectResult result = collect(env, *make_mixed_agent(small()), small(), run);
    EXPECT_EQ(result.resumed, stop == 22 ? 23 : (stop + 1) / 5 * 5);
    EXPECT_EQ(result.steps, at_once.steps);
    EXPECT_EQ(result.mean_improvement_percent, at_once.mean_improvement_percent);
    EXPECT_EQ(result.best_improvement_percent, at_once.best_improvement_percent);
    EXPECT_EQ(result.counters.resets, 23 - result.resumed);
    EXPECT_EQ(files_of(directory.path(), ".h5"), files_of(whole.path(), ".h5"));
    EXPECT_TRUE(files_of(directory.path(), ".part").empty());
    EXPECT_EQ(files_of(directory.path(), ".jsonl"), files_of(whole.path(), ".jsonl"));
  }
}

/// All parts, then the whole, which makes what is missing.
void collect_in_parts(const Environment& env, const std::string& directory,
                      std::vector<int> numbers, int of) {
  for (const int number : numbers) {
    const TemporaryDirectory own;
    CollectRun run = run_in(directory);
    run.part = {number, of};
    run.metrics = own.path();
    const CollectResult part = collect(env, *make_mixed_agent(small()), small(), run);
    EXPECT_EQ(part.resumed, 0);
    EXPECT_EQ(part.counters.resets, part.episodes);
    EXPECT_EQ(read_metrics(own / "metrics.jsonl").size(), static_cast<size_t>(part.episodes));
  }
}

TEST(Collect, PartsTogetherAreTheBytesOfTheWhole) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  const TemporaryDirectory whole;
  const CollectResult at_once =
      collect(env, *make_mixed_agent(small()), small(), run_in(whole.path()));
  const std::vector<std::pair<std::vector<int>, int>> orders = {
      {{1, 2}, 2}, {{3, 1, 2}, 3}, {{5, 4, 3, 2, 1}, 5}, {{2}, 2}, {{1, 3}, 3}, {{4, 2}, 5}};
  for (const auto& [numbers, of] : orders) {
    const TemporaryDirectory parts;
    collect_in_parts(env, parts.path(), numbers, of);
    if (numbers.size() == static_cast<size_t>(of)) {
      EXPECT_EQ(files_of(parts.path(), ".h5"), files_of(whole.path(), ".h5"));
    }
    const CollectResult rest =
        collect(env, *make_mixed_agent(small()), small(), run_in(parts.path(), 2));
    EXPECT_EQ(rest.counters.resets, 23 - rest.resumed);
    EXPECT_EQ(rest.steps, at_once.steps);
    EXPECT_EQ(rest.mean_improvement_percent, at_once.mean_improvement_percent);
    EXPECT_EQ(files_of(parts.path(), ".h5"), files_of(whole.path(), ".h5"));
    EXPECT_EQ(files_of(parts.path(), ".jsonl"), files_of(whole.path(), ".jsonl"));
  }
}

TEST(Collect, AShardByItselfIsThatOfTheWhole) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  const TemporaryDirectory whole;
  const auto agent = make_mixed_agent(small());
  collect(env, *agent, small(), run_in(whole.path()));
  ASSERT_EQ(shards_of(small()), 5);
  for (int shard = 4; shard >= 0; --shard)
    EXPECT_EQ(collect_shard(env, *agent, small(), run_in("nowhere"), shard),
              read_file(whole / fmt::format("shard-{:05}.h5", shard)));
}

TEST(Collect, APartLeavesAloneWhatAnotherIsWriting) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  const TemporaryDirectory directory;
  write_file(directory / "shard-00004.h5.5-5.part", "half a shard of the last part");
  write_file(directory / "shard-00000.h5.5-5.part", "what a killed writer left");
  collect_in_parts(env, directory.path(), {1}, 5);
  EXPECT_THAT(files_of(directory.path(), ".part"),
              ::testing::ElementsAre(::testing::Key("shard-00004.h5.5-5.part")));
}

TEST(Collect, AnotherSeedGivesOtherEpisodes) {
  const ToyEnvironment env({.blocks = 3, .start_states = 1, .horizon = 0});
  const TemporaryDirectory one, two;
  CollectRun run = run_in(one.path());
  collect(env, *make_random_agent(small()), small(), run);
  run.directory = two.path();
  run.seed = 18;
  collect(env, *make_random_agent(small()), small(), run);
  EXPECT_NE(Rollouts::open(one.path()).episodes(), Rollouts::open(two.path()).episodes());
}

/// How often each primary action comes first in 400 episodes.
std::vector<int> first_actions(const Environment& prototype, double epsilon) {
  CollectConfig config;
  config.lists = 0;
  config.epsilons = {epsilon};
  const auto agent = make_mixed_agent(config);
  std::vector<int> counts(static_cast<size_t>(prototype.spec().primary_actions()));
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const auto env = prototype.fork();
    env->reset(1);
    Rng rng(seed);
    agent->begin(*env, rng);
    ++counts[static_cast<size_t>(agent->act(*env, env->observe(), rng).primary)];
  }
  return counts;
}

TEST(Collect, TheMixedAgentFollowsGainsExceptForItsRandomShare) {
  const ToyEnvironment env({.blocks = 2, .start_states = 2, .horizon = 0});
  const auto follows = first_actions(env, 0.0), wanders = first_actions(env, 1.0);
  EXPECT_GT(follows[ToyEnvironment::kMerge], 360);
  for (const int action :
       {ToyEnvironment::kMerge, ToyEnvironment::kEnlarge, ToyEnvironment::kSwap}) {
    EXPECT_GT(wanders[static_cast<size_t>(action)], 90);
    EXPECT_LT(wanders[static_cast<size_t>(action)], 180);
  }
}

TEST(Collect, TheMixedAgentDrawsItsShareForEachEpisode) {
  const ToyEnvironment env({.blocks = 3, .start_states = 1, .horizon = 0});
  const TemporaryDirectory directory;
  collect(env, *make_mixed_agent(small(60)), small(60), run_in(directory.path()));
  std::set<std::string> agents;
  const Rollouts rollouts = Rollouts::open(directory.path());
  for (const Episode& episode : rollouts.episodes()) agents.insert(episode.agent);
  EXPECT_EQ(agents, (std::set<std::string>{"mixed:0.05", "mixed:0.15", "mixed:0.3", "mixed:0.6",
                                           "mixed:list"}));
}

/// Plays an episode that follows a list; tells what each step gained.
std::vector<double> gains_along_a_list(Environment& env, uint64_t seed) {
  CollectConfig config;
  config.lists = 1;
  const auto agent = make_mixed_agent(config);
  Rng rng(seed);
  EXPECT_EQ(agent->begin(env, rng), "mixed:list");
  std::vector<double> gained;
  for (bool over = false; !over;) {
    const Action action = agent->act(env, env.observe(), rng);
    EXPECT_TRUE(env.observe().mask.allows(action));
    const auto gains = env.gains(action.primary);
    const auto number = static_cast<size_t>(env.mask().number(action));
    const StepResult result = env.step(action);
    EXPECT_FALSE(result.truncated);
    over = result.terminated;
    if (action.primary != env.spec().no_op()) gained.push_back(gains.empty() ? 0 : gains[number]);
  }
  return gained;
}

TEST(Collect, AListIsFollowedUntilNothingGains) {
  ToyEnvironment env({.blocks = 4, .start_states = 8, .horizon = 1000});
  int forced = 0;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    env.reset(seed);
    const auto gained = gains_along_a_list(env, seed);
    forced += std::any_of(gained.begin(), gained.end(), [](double gain) { return gain <= 0; });
    for (int primary = 0; primary < env.spec().no_op(); ++primary)
      for (const double gain : env.gains(primary)) EXPECT_LE(gain, 0) << "seed " << seed;
  }
  // Of the actions that can do other than gain, enlarge and swap, one is forced in 1 - 9/16 of the
  // lists.
  EXPECT_GT(forced, 12);
  EXPECT_LT(forced, 44);
}

TEST(Collect, AListEndsWhereGainsCannotBeTold) {
  KnapsackEnvironment env({.items = 4, .start_states = 3, .horizon = 1000});
  int takes_first = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    env.reset(seed);
    const auto items = static_cast<size_t>(env.mask().entities) - 1;
    const size_t steps = gains_along_a_list(env, seed).size();  // one of the items is in the bag
    EXPECT_TRUE(steps == 2 * items - 1 || steps == items + 1) << steps;
    takes_first += steps == 2 * items - 1;
  }
  EXPECT_GT(takes_first, 0);
  EXPECT_LT(takes_first, 12);
}

TEST(Collect, CountsItsWork) {
  const ToyEnvironment env({.blocks = 3, .start_states = 1, .horizon = 0});
  const TemporaryDirectory directory;
  const auto result =
      collect(env, *make_random_agent(small()), small(), run_in(directory.path(), 3));
  int64_t steps = 0, bytes = 0;
  const Rollouts rollouts = Rollouts::open(directory.path());
  for (const Episode& episode : rollouts.episodes())
    steps += static_cast<int64_t>(episode.steps.size());
  for (const auto& [name, content] : files_of(directory.path(), ".h5"))
    bytes += static_cast<int64_t>(content.size());
  EXPECT_EQ(result.steps, steps);
  EXPECT_EQ(result.counters.steps, steps);
  EXPECT_EQ(result.counters.resets, 23);
  EXPECT_EQ(result.bytes, bytes);
  EXPECT_EQ(result.episodes, 23);
}

TEST(Collect, SplitsByEpisodeAndByGraph) {
  CollectConfig config;
  config.test_graphs = 2;
  const int graphs = 5, episodes = 500;
  std::map<int, std::map<Split, int>> counts;
  for (int e = 0; e < episodes; ++e) ++counts[e % graphs][split_of(config, 7, e, graphs)];
  int held_out = 0;
  for (const auto& [graph, splits] : counts) {
    if (splits.at(Split::kTest) == episodes / graphs) {
      ++held_out;
      continue;
    }
    EXPECT_EQ(splits.at(Split::kTest), 10);
    EXPECT_EQ(splits.at(Split::kValidation), 10);
    EXPECT_EQ(splits.at(Split::kTrain), 80);
  }
  EXPECT_EQ(held_out, 2);
}

/// What the split of each of so many episodes is, by its first letter.
std::string splits(const CollectConfig& config, int episodes, int graphs) {
  std::string letters;
  for (int e = 0; e < episodes; ++e)
    letters += "rvs"[static_cast<int>(split_of(config, 7, e, graphs))];
  return letters;
}

TEST(Collect, SharesBelowATenthHoldOverTheCollection) {
  CollectConfig config;
  for (const auto& [share, episodes, graphs, expected] : {std::tuple{0.05, 100, 1, 5},
                                                          {0.05, 20, 1, 1},
                                                          {0.15, 40, 1, 6},
                                                          {0.02, 100, 5, 2},
                                                          {0.5, 40, 2, 20}}) {
    config.validation = config.test = share;
    const std::string drawn = splits(config, episodes, graphs);
    EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 'v'), expected) << share;
    EXPECT_EQ(std::count(drawn.begin(), drawn.end(), 's'), expected) << share;
  }
}

/// As they were before shares other than tenths held: collections of a seed stay what they are.
TEST(Collect, SharesOfTenthsAreDrawnAsEver) {
  CollectConfig config;
  EXPECT_EQ(splits(config, 60, 3), "rrrvrrrssrrrrrrrrrrvrsrrrrrrrvrrrrrvrrsvrrrrrrvrrsrrrrsrrrrr");
  config.validation = 0.3;
  config.test = 0.2;
  EXPECT_EQ(splits(config, 40, 1), "svrrrvsvrrrrsvsrrvvrrvvrrrrvssssrrvvrvrr");
}

TEST(Collect, TheSeedOfAnEpisodeChoosesItsGraph) {
  std::set<uint64_t> seeds;
  for (int episode = 0; episode < 1000; ++episode) {
    seeds.insert(episode_seed(3, episode, 7));
    EXPECT_EQ(episode_seed(3, episode, 7) % 7, static_cast<uint64_t>(episode % 7));
  }
  EXPECT_EQ(seeds.size(), 1000u);
}

TEST(Collect, RefusesWhatItCannotDo) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  const TemporaryDirectory directory;
  CollectConfig config = small();
  config.test_graphs = 2;
  EXPECT_THROW(collect(env, *make_random_agent(config), config, run_in(directory.path())),
               InputError);
  config = small();
  config.agent = "nobody";
  EXPECT_THROW(make_collect_agent(config), InputError);
}

/// An agent whose every step fails.
class FailingAgent : public CollectAgent {
 public:
  std::string begin(const Environment&, Rng&) override { return "failing"; }
  Action act(const Environment&, const Observation&, Rng&) override {
    throw InputError("this agent cannot act");
  }
  std::unique_ptr<CollectAgent> fork() const override { return std::make_unique<FailingAgent>(); }
};

TEST(Collect, WhatAWorkerThrowsReachesTheCaller) {
  const ToyEnvironment env({.blocks = 3, .start_states = 2, .horizon = 0});
  for (const int workers : {1, 4}) {
    const TemporaryDirectory directory;
    EXPECT_THROW(collect(env, FailingAgent(), small(), run_in(directory.path(), workers)),
                 InputError);
    EXPECT_TRUE(files_of(directory.path(), ".h5").empty());
  }
}

}  // namespace
}  // namespace reverie
