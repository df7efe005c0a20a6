#include "controller/rounds/iterate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "controller/train/training_series.h"
#include "core/base/files.h"
#include "core/base/metrics.h"
#include "env/toy/toy_environment.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/batch/joined_episodes.h"
#include "worldmodel/memory/train_mdnrnn.h"

namespace reverie {
namespace {

constexpr int kEpisodes = 6;

/// Two rounds on a toy, from an untrained M.
struct Rounds {
  Rounds() : toy(std::make_shared<ToyEnvironment>(ToyConfig{2, 4, 8})), world(toy->spec()) {
    ToyEnvironment source(ToyConfig{2, 4, 8});
    data = std::make_shared<MemoryEpisodes>(testing::random_episodes(source, 20, 1));
    TrainMdnRnnConfig fitted;
    fitted.model = world.config;
    fitted.minibatch_episodes = 4;
    fitted.fit.learning_rate = 2e-3;
    Checkpoint checkpoint = world.checkpoint();
    checkpoint.configs["train_mdnrnn"] = dump_config(fitted);
    save_checkpoint(directory / "world.pt", checkpoint);
    step.plan = {4, 16, 2};
    step.trainer.policy.width = 16;
    step.validation.dreams = 4;
    step.validation.sampled = 1;
    config = {2, kEpisodes, 1};
  }

  /// Plays in memory, by the rules that a collection keeps to.
  CollectedRound collect(const CollectAgent& agent, int64_t episodes, const std::string& where) {
    collected.push_back(where);
    auto played = std::make_shared<MemoryEpisodes>(toy->spec());
    const auto environment = toy->fork();
    const auto player = agent.fork();
    for (int i = 0; i < episodes; ++i) add_played(*played, *environment, *player, 100 + i);
    for (const Episode& episode : played->episodes()) agents.insert(episode.agent);
    return {played, environment->counters()};
  }

  static void add_played(MemoryEpisodes& data, Environment& environment, CollectAgent& agent,
                         uint64_t seed) {
    environment.reset(seed);
    Rng rng(seed);
    Episode episode;
    episode.seed = seed;
    episode.agent = agent.begin(environment, rng);
    for (bool over = false; !over;) {
      const Observation seen = environment.observe();
      Transition step;
      step.state = data.add_state(seen);
      step.action = agent.act(environment, seen, rng);
      const StepResult result = environment.step(step.action);
      step.reward = static_cast<float>(result.reward);
      step.terminated = result.terminated;
      step.truncated = result.truncated;
      over = result.terminated || result.truncated;
      episode.steps.push_back(step);
    }
    episode.final_state = data.add_state(environment.observe());
    data.add_episode(std::move(episode), Split::kTrain);
  }

  TrainingResult run(const std::string& out, bool resume = false) {
    create_directory(directory / out);
    DreamStepRun where;
    where.world = directory / "world.pt";
    where.training = where.validation = toy;
    where.directory = directory / out;
    where.resume = resume;
    return run_iterated(data, config, step, where,
                        [this](const CollectAgent& agent, int64_t episodes, const std::string& to) {
                          return collect(agent, episodes, to);
                        });
  }

  Checkpoint file(const std::string& name, const std::string& kind) const {
    return load_checkpoint(directory / name, kind);
  }

  TemporaryDirectory directory;
  std::shared_ptr<ToyEnvironment> toy;
  testing::UntrainedWorld world;
  std::shared_ptr<MemoryEpisodes> data;
  DreamStepConfig step;
  IterateConfig config;
  std::vector<std::string> collected;
  std::set<std::string> agents;
};

ValidationScore score_of(const Checkpoint& policy) {
  return {policy.scores.at("real_found"), policy.scores.at("real_score")};
}

void expect_same(const ValidationScore& one, const ValidationScore& other) {
  EXPECT_EQ(one.found, other.found);
  EXPECT_EQ(one.average, other.average);
}

TEST(IterateTest, ARoundCollectsWithThePolicyBeforeAndGoesOnWithMAndC) {
  Rounds rounds;
  const TrainingResult result = rounds.run("out");
  EXPECT_THAT(rounds.collected,
              ::testing::ElementsAre(::testing::EndsWith("out/round-2/rollouts")));
  EXPECT_EQ(result.training.resets, kEpisodes);
  EXPECT_GE(result.training.steps, kEpisodes);

  const Checkpoint first = rounds.file("out/round-1/policy.pt", "policy");
  const Checkpoint second = rounds.file("out/round-2/policy.pt", "policy");
  const ValidationScore kept = score_of(rounds.file("out/policy.pt", "policy"));
  expect_same(kept, score_of(second).above(score_of(first)) ? score_of(second) : score_of(first));
  expect_same(result.best, kept);

  const Checkpoint before = rounds.file("world.pt", "world");
  const Checkpoint after = rounds.file("out/round-2/world/world.pt", "world");
  EXPECT_NE(before.data, after.data);
  EXPECT_TRUE(get_open_loop(first).empty()) << "of the M that was given nothing is known";
  EXPECT_FALSE(get_open_loop(second).empty()) << "M's quality goes with the policy";
  EXPECT_EQ(second.scores.at("world/validation/loss"), after.scores.at("world/validation/loss"));
  bool learned = false;
  for (const auto& [name, tensor] : after.tensors) {
    const bool same = torch::equal(tensor, before.tensors.at(name));
    if (name.starts_with("encoder")) {
      EXPECT_TRUE(same) << name;
    }
    learned = learned || !same;
  }
  EXPECT_TRUE(learned);
}

TEST(IterateTest, APolicyThatPlansCollectsWithTheMBeforeAndPlansWithTheNext) {
  Rounds rounds;
  rounds.step.trainer.trainer = TrainerKind::kPlan;
  rounds.step.trainer.plan.sequences = 16;
  rounds.step.plan.updates = 0;
  const TrainingResult result = rounds.run("out");
  EXPECT_EQ(result.training.resets, kEpisodes);
  EXPECT_THAT(rounds.agents, ::testing::ElementsAre("policy"));
  const Checkpoint first = rounds.file("out/round-1/policy.pt", "policy");
  const Checkpoint second = rounds.file("out/round-2/policy.pt", "policy");
  const Checkpoint world = rounds.file("out/round-2/world/world.pt", "world");
  bool differs = false;
  for (const auto& [name, tensor] : world.tensors) {
    EXPECT_TRUE(torch::equal(tensor, second.tensors.at(name))) << name;
    differs = differs || !torch::equal(tensor, first.tensors.at(name));
  }
  EXPECT_TRUE(differs);
  const std::string kept = read_file(rounds.directory / "out/policy.pt");
  rounds.run("out", true);
  EXPECT_TRUE(read_file(rounds.directory / "out/policy.pt") == kept);
}

TEST(IterateTest, WhatIsFoundDecidesBetweenRoundsToo) {
  int disagreements = 0;
  for (uint64_t seed = 1; seed <= 40 && disagreements == 0; ++seed) {
    Rounds rounds;
    rounds.step.seed = seed;
    const TrainingResult result = rounds.run("out");
    const ValidationScore first = score_of(rounds.file("out/round-1/policy.pt", "policy"));
    const ValidationScore second = score_of(rounds.file("out/round-2/policy.pt", "policy"));
    if (second.above(first) == (second.average > first.average)) continue;
    ++disagreements;
    expect_same(result.best, second.above(first) ? second : first);
  }
  EXPECT_EQ(disagreements, 1) << "some round must score better and find less";
}

TEST(IterateTest, TheFirstRoundAloneImitates) {
  Rounds rounds;
  rounds.run("out");
  const auto imitates = [&](const std::string& round) {
    return read_file(rounds.directory / (round + "/metrics.jsonl")).find("clone/") !=
           std::string::npos;
  };
  EXPECT_TRUE(imitates("out/round-1"));
  EXPECT_FALSE(imitates("out/round-2"));
}

TEST(IterateTest, ARoundGoesOnFromTheLastPolicyAndWhereThatLostFromTheBest) {
  std::set<bool> seen;
  for (uint64_t seed = 1; seed <= 40 && seen.size() < 2; ++seed) {
    Rounds rounds;
    rounds.step.seed = seed;
    rounds.step.plan = {8, 16, 1};
    rounds.run("out");
    std::filesystem::remove_all(rounds.directory / "out/round-2");
    rounds.step.plan.updates = 0;  // the second round ends with what it begins with
    rounds.run("out", true);
    const Checkpoint first = rounds.file("out/round-1/policy.pt", "policy");
    if (first.counters.at("update") == 8) continue;
    const Checkpoint training = rounds.file("out/round-1/training.pt", "policy-training");
    const bool lost =
        score_of(first).above({training.scores.at("last_found"), training.scores.at("last_score")});
    seen.insert(lost);
    const Checkpoint to = rounds.file("out/round-2/last.pt", "policy");
    const auto goes_on_from = [&](const std::string& policy) {
      const Checkpoint from = rounds.file("out/round-1/" + policy, "policy");
      return std::all_of(from.tensors.begin(), from.tensors.end(), [&](const auto& tensor) {
        return !tensor.first.starts_with("policy") ||
               torch::equal(tensor.second, to.tensors.at(tensor.first));
      });
    };
    EXPECT_EQ(goes_on_from("last.pt"), !lost);
    EXPECT_EQ(goes_on_from("policy.pt"), lost);
  }
  EXPECT_EQ(seen.size(), 2u) << "now it lost, now it only gained nothing";
}

TEST(IterateTest, MetricsCountOnFromRoundToRound) {
  Rounds rounds;
  const TrainingResult result = rounds.run("out");
  EXPECT_EQ(result.updates, 8);
  std::vector<int64_t> steps;
  MetricsRow last;
  ValidationScore best;
  int64_t best_update = -1;
  for (const MetricsRow& row : read_metrics(rounds.directory / "out/metrics.jsonl")) {
    steps.push_back(row.step);
    EXPECT_EQ(row.values.at("round"), steps.size() > 5 ? 2 : 1);
    if (!row.values.contains("real/score")) continue;
    last = row;
    const ValidationScore score{row.values.at("real/found"), row.values.at("real/score")};
    if (!score.above(best)) continue;
    best = score;
    best_update = row.step;
  }
  EXPECT_THAT(steps, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  expect_same(result.best, best);
  EXPECT_EQ(result.best_update, best_update);
  EXPECT_EQ(last.values.at("training_steps"), result.training.steps);
  EXPECT_EQ(last.values.at("validation_steps"), result.validation.steps);
  EXPECT_EQ(last.values.at("validation_resets"), result.validation.resets);
}

TEST(IterateTest, ARoundOfSeveralPoliciesGoesOnFromTheOneItKeeps) {
  Rounds rounds;
  rounds.step.policies = 2;
  const TrainingResult result = rounds.run("out");
  EXPECT_EQ(result.updates, 16);
  MetricsRow last;
  for (const MetricsRow& row : read_metrics(rounds.directory / "out/metrics.jsonl")) {
    if (!row.values.contains("real/score")) continue;
    EXPECT_EQ(row.values.at("round"), row.step <= 8 ? 1 : 2) << row.step;
    EXPECT_EQ(row.values.at("policy"), row.step <= 4 || (row.step > 8 && row.step <= 12) ? 1 : 2)
        << row.step;
    last = row;
  }
  EXPECT_EQ(last.step, 16);
  EXPECT_EQ(last.values.at("validation_steps"), result.validation.steps);
  const auto file = [&](const std::string& name) {
    return rounds.file("out/round-1/" + name, "policy");
  };
  const bool second =
      score_of(file("policy-2/policy.pt")).above(score_of(file("policy-1/policy.pt")));
  EXPECT_EQ(read_file(rounds.directory / "out/round-1/last.pt"),
            read_file(rounds.directory /
                      (second ? "out/round-1/policy-2/last.pt" : "out/round-1/policy-1/last.pt")));
}

TEST(IterateTest, OneRoundIsTheDreamStep) {
  Rounds rounds;
  rounds.config.rounds = 1;
  rounds.run("out");
  EXPECT_TRUE(rounds.collected.empty());
  EXPECT_TRUE(file_exists(rounds.directory / "out/metrics.jsonl"));
}

TEST(IterateTest, ResumingAFinishedRunGivesTheSame) {
  Rounds rounds;
  const TrainingResult result = rounds.run("out");
  const std::string policy = read_file(rounds.directory / "out/policy.pt");
  const TrainingResult again = rounds.run("out", true);
  expect_same(again.best, result.best);
  EXPECT_EQ(again.validation.steps, result.validation.steps);
  EXPECT_EQ(again.training.steps, result.training.steps);
  EXPECT_EQ(again.best_update, result.best_update);
  EXPECT_EQ(read_file(rounds.directory / "out/policy.pt"), policy);
}

TEST(TrainingSeriesTest, ResumedItsFilesStayUntilItHasComeAsFar) {
  TemporaryDirectory directory;
  const auto part = [&](int number) { return directory / fmt::format("part-{}", number); };
  const auto add = [&](TrainingSeries& series, int number, double score) {
    TrainingResult result;
    result.best = {score, score};
    result.updates = 1;
    series.add(result, part(number));
  };
  for (int number = 1; number <= 3; ++number) {
    create_directory(part(number));
    MetricsWriter(part(number)).write(1, {{"loss", number}});
    write_file(part(number) + "/policy.pt", std::to_string(number));
  }
  const auto policy = [&] { return read_file(directory / "policy.pt"); };
  const auto rows = [&] { return read_metrics(directory / "metrics.jsonl").size(); };
  TrainingSeries series(directory.path(), "part", false);
  add(series, 1, 10);
  EXPECT_EQ(policy(), "1");
  add(series, 2, 20);
  EXPECT_EQ(policy(), "2");
  TrainingSeries again(directory.path(), "part", true);
  add(again, 1, 10);
  EXPECT_EQ(policy(), "2");
  EXPECT_EQ(rows(), 2u);
  add(again, 2, 20);
  EXPECT_EQ(policy(), "2");
  add(again, 3, 15);
  EXPECT_EQ(policy(), "2");
  EXPECT_EQ(rows(), 3u);
  EXPECT_EQ(again.best(), part(2));
}

TEST(JoinedEpisodesTest, KeepsEachStateOnceAndEveryStepWhereItWas) {
  ToyEnvironment toy(ToyConfig{2, 4, 8});
  const auto one = std::make_shared<MemoryEpisodes>(testing::random_episodes(toy, 10, 1));
  const auto two = std::make_shared<MemoryEpisodes>(testing::random_episodes(toy, 10, 50));
  const JoinedEpisodes both({one, two});
  ASSERT_EQ(both.episodes().size(), 20u);
  EXPECT_LT(both.state_count(), one->state_count() + two->state_count());
  std::set<uint64_t> keys;
  for (int i = 0; i < both.state_count(); ++i) {
    EXPECT_EQ(both.state(i).state_key, both.state_key(i));
    EXPECT_EQ(both.mask(i), both.state(i).mask);
    keys.insert(both.state_key(i));
  }
  EXPECT_EQ(static_cast<int>(keys.size()), both.state_count());
  for (size_t e = 0; e < 20; ++e) {
    const EpisodeSource& source = e < 10 ? *one : *two;
    const Episode& there = source.episodes()[e % 10];
    const Episode& here = both.episodes()[e];
    ASSERT_EQ(here.steps.size(), there.steps.size());
    EXPECT_EQ(both.split(static_cast<int>(e)), source.split(static_cast<int>(e % 10)));
    for (size_t t = 0; t < here.steps.size(); ++t) {
      EXPECT_EQ(both.state_key(here.steps[t].state), source.state_key(there.steps[t].state));
      EXPECT_EQ(here.steps[t].action, there.steps[t].action);
    }
    EXPECT_EQ(both.state_key(here.final_state), source.state_key(there.final_state));
  }
  EXPECT_NE(both.fingerprint(), one->fingerprint());
}

TEST(JoinedEpisodesTest, WhatAnEnvironmentKnowsBeforehandMakesNoDifference) {
  ToyEnvironment toy(ToyConfig{2, 4, 8});
  const auto now = std::make_shared<MemoryEpisodes>(testing::random_episodes(toy, 2, 1));
  EnvSpec spec = toy.spec();
  spec.knows_dynamics = false;
  const auto older = std::make_shared<MemoryEpisodes>(spec);
  EXPECT_NO_THROW(JoinedEpisodes({older, now}));
}

TEST(JoinedEpisodesTest, OtherEnvironmentsAreRefused) {
  ToyEnvironment toy(ToyConfig{2, 4, 8}), larger(ToyConfig{3, 4, 8});
  const auto one = std::make_shared<MemoryEpisodes>(testing::random_episodes(toy, 2, 1));
  const auto two = std::make_shared<MemoryEpisodes>(testing::random_episodes(larger, 2, 1));
  EXPECT_THROW(JoinedEpisodes({one, two}), InputError);
}

}  // namespace
}  // namespace reverie
