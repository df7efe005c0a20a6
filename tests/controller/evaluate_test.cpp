#include "controller/evaluate/evaluate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "controller/evaluate/policy_solver.h"
#include "controller/evaluate/report.h"
#include "controller/train/trainer_config.h"
#include "core/base/files.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/untrained_world.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TrainedPolicy untrained(const EnvSpec& spec) {
  const testing::UntrainedWorld world(spec);
  torch::manual_seed(3);
  TrainerConfig config;
  config.policy.width = 8;
  const std::shared_ptr<Trainer> trainer = make_trainer(world.world->spec(), config, 1);
  return {world.encoder, world.world, {trainer, &trainer->policy()}};
}

EvaluationConfig quick() {
  EvaluationConfig config;
  config.seeds = 2;
  config.samples = 20;
  config.rounds = 3;
  return config;
}

StartReport evaluated(const Task& start, const TrainedPolicy& policy,
                      const std::vector<ChosenSolver>& others,
                      const EvaluationConfig& config = quick()) {
  const std::string environment = start.environment()->spec().name;
  const EvaluationInputs inputs{policy, "", 3, SolverSettings(environment),
                                [](const std::string&) {}};
  return evaluate_start(start, others, inputs, config);
}

std::unique_ptr<Environment> environment_named(const std::string& name) {
  if (name == "toy")
    return std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 2, .start_states = 4});
  return std::make_unique<KnapsackEnvironment>(KnapsackConfig{.items = 4, .start_states = 3});
}

/// The untrained policy in environments of which the evaluation knows nothing.
class EvaluateTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Tasks> tasks_ = plain_tasks(environment_named(GetParam()), {});
  TrainedPolicy policy_ = untrained(tasks_->spec());
  const std::vector<ChosenSolver> others_ =
      chosen_solvers({"random", "greedy", "beam:7", "mcts"}, tasks_->spec().name);
};

TEST_P(EvaluateTest, EveryMethodRunsWithItsSeeds) {
  const std::vector<std::string> methods = {
      "no-op", "policy (greedy)", "policy (sampled)", "random", "greedy", "beam", "mcts"};
  const std::set<std::string> drawn = {"policy (sampled)", "random", "mcts"};
  for (const auto& start : tasks_->tasks()) {
    const StartReport report = evaluated(*start, policy_, others_);
    std::map<std::string, int> runs;
    for (const MethodRun& run : report.runs) ++runs[run.method];
    ASSERT_THAT(report.best, SizeIs(methods.size()));
    for (size_t i = 0; i < methods.size(); ++i) {
      EXPECT_EQ(report.best[i].method, methods[i]);
      EXPECT_EQ(runs[methods[i]], drawn.contains(methods[i]) ? 2 : 1) << methods[i];
    }
  }
}

TEST_P(EvaluateTest, TheBestIsByTheObjectiveAndFeasible) {
  const EnvSpec& spec = tasks_->spec();
  for (const auto& start : tasks_->tasks()) {
    const StartReport report = evaluated(*start, policy_, others_);
    EXPECT_EQ(report.initial, report.metrics.at(static_cast<size_t>(spec.objective)));
    for (const MethodBest& best : report.best) {
      EXPECT_FALSE(spec.better(report.initial, best.best)) << best.method;
      EXPECT_EQ(best.metrics.at(static_cast<size_t>(spec.objective)), best.best) << best.method;
      if (spec.name == "knapsack") {
        EXPECT_EQ(best.metrics.at(1), 0) << "overloaded: " << best.method;
      }
      for (const MethodRun& run : report.runs) {
        if (run.method != best.method) continue;
        EXPECT_FALSE(spec.better(run.best, best.best)) << run.method;
        if (run.method != "no-op") {
          EXPECT_GT(run.steps + run.candidates, 0) << run.method;
          EXPECT_EQ(run.trace.back().best, run.best);
        }
      }
    }
  }
}

TEST_P(EvaluateTest, SampledEpisodesFindWhatTheGreedyOneDoesNot) {
  const EnvSpec& spec = tasks_->spec();
  int better = 0;
  for (const auto& start : tasks_->tasks()) {
    const StartReport report = evaluated(*start, policy_, others_);
    better += spec.better(report.best[2].best, report.best[1].best);
    EXPECT_EQ(report.runs[2].method, "policy (sampled)");
    EXPECT_GE(report.runs[2].steps, quick().samples) << "so many episodes, a step at least";
  }
  EXPECT_GT(better, 0);
}

TEST_P(EvaluateTest, ThePolicyRunsAreTheirSeeds) {
  const auto& start = *tasks_->tasks()[1];
  const StartReport one = evaluated(start, policy_, others_),
                    two = evaluated(start, policy_, others_);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(one.runs[i].best, two.runs[i].best);
    EXPECT_EQ(one.runs[i].steps, two.runs[i].steps);
  }
}

TEST_P(EvaluateTest, AnySolverCanStandBesideThePolicy) {
  const PolicySolver again(policy_, /*greedy=*/true);
  const StartReport report = evaluated(*tasks_->tasks()[0], policy_, {{&again, 0}});
  ASSERT_THAT(report.best, SizeIs(4));
  EXPECT_EQ(report.best[3].method, "policy (greedy)");
  EXPECT_EQ(report.best[3].best, report.best[1].best);
  EXPECT_EQ(report.best[3].budget, "");
}

TEST_P(EvaluateTest, BudgetsAreSaidInTheSolversOwnUnits) {
  const StartReport report = evaluated(*tasks_->tasks()[0], policy_, others_);
  std::vector<std::string> budgets;
  for (const MethodBest& best : report.best) budgets.push_back(best.budget);
  EXPECT_THAT(budgets,
              ::testing::ElementsAre("", "", "20 episodes", "as long as the sampled policy", "",
                                     "7 expansions", "100 rollouts"));
}

TEST_P(EvaluateTest, TheReportIsWritten) {
  const TemporaryDirectory directory;
  EvaluationReport report;
  report.spec = tasks_->spec();
  report.config = quick();
  for (const auto& start : tasks_->tasks())
    report.starts.push_back(evaluated(*start, policy_, others_));
  write_report(report, directory.path());
  EXPECT_EQ(read_file(directory / "report.json"), report_json(report));
  EXPECT_EQ(read_file(directory / "report.md"), report_markdown(report));
  EXPECT_EQ(read_file(directory / "report.html"), report_html(report));
  EXPECT_THAT(report_markdown(report), HasSubstr("By " + report.spec.objective_metric().name));
}

/// It does nothing but tell what it may do.
class Listener : public Solver {
 public:
  explicit Listener(std::string unit, std::string unsuited = "")
      : unit_(std::move(unit)), unsuited_(std::move(unsuited)) {}
  std::string name() const override { return "listener"; }
  std::string what() const override { return "nothing"; }
  std::string budget_unit() const override { return unit_; }
  std::string unsuited(const Task&) const override { return unsuited_; }
  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    told.push_back(limits);
    Result result;
    result.best = task.environment()->spec().worst();
    return result;
  }
  mutable std::vector<SearchOptions> told;

 private:
  std::string unit_, unsuited_;
};

TEST_P(EvaluateTest, SolversWithoutAnEndGetTheTimeOfTheSampledPolicy) {
  const Listener listener("tries");
  const StartReport report = evaluated(*tasks_->tasks()[0], policy_, {{&listener, 0}});
  ASSERT_THAT(listener.told, SizeIs(1));
  double longest = 0;
  for (const MethodRun& run : report.runs)
    if (run.method == "policy (sampled)") longest = std::max(longest, run.seconds);
  EXPECT_EQ(listener.told[0].time_limit, std::max(1e-3, longest));
  EXPECT_GT(listener.told[0].budget, int64_t{1} << 30);
  EXPECT_EQ(listener.told[0].seed, 3u);
  EXPECT_EQ(report.best.back().budget, "as long as the sampled policy");
}

TEST_P(EvaluateTest, SolversWithABudgetAreNotTimed) {
  const Listener counts("tries"), ends("");
  const StartReport report = evaluated(*tasks_->tasks()[0], policy_, {{&counts, 9}, {&ends, 0}});
  EXPECT_EQ(counts.told.at(0).time_limit, 0);
  EXPECT_EQ(counts.told.at(0).budget, 9);
  EXPECT_EQ(ends.told.at(0).time_limit, 0);
  EXPECT_EQ(report.best[3].budget, "9 tries");
  EXPECT_EQ(report.best[4].budget, "");
}

TEST_P(EvaluateTest, SolversThatDoNotSuitArePassedOver) {
  const Listener never("tries", "needs something else"), suits("tries");
  const StartReport report = evaluated(*tasks_->tasks()[0], policy_, {{&never, 1}, {&suits, 1}});
  EXPECT_THAT(never.told, SizeIs(0));
  EXPECT_THAT(suits.told, SizeIs(1));
  ASSERT_THAT(report.best, SizeIs(4));
  EXPECT_EQ(report.best.back().method, "listener");
}

INSTANTIATE_TEST_SUITE_P(Environments, EvaluateTest, ::testing::Values("toy", "knapsack"),
                         [](const auto& info) { return std::string(info.param); });

/// The bag's content is a solution; what was done with it is written down.
struct Bag : Solution {
  double value = 0;
};

class BagTask : public Task {
 public:
  std::unique_ptr<Environment> environment() const override {
    return std::make_unique<KnapsackEnvironment>(KnapsackConfig{.items = 5, .start_states = 1});
  }
  std::shared_ptr<const Solution> solution(const Environment& played) const override {
    return bag(played.info().best);
  }
  bool equal(const Solution& a, const Solution& b) const override {
    return dynamic_cast<const Bag&>(a).value == dynamic_cast<const Bag&>(b).value;
  }
  Artifact write(const Solution& solution, const std::string& solver,
                 const std::string&) const override {
    written.push_back(dynamic_cast<const Bag&>(solution).value);
    return {solver + ".bag", Json{{"weighed", true}}};
  }
  Measurements measure(std::span<const std::shared_ptr<const Solution>> solutions,
                       int64_t rounds) const override {
    Measurements result;
    for (const auto& solution : solutions) {
      measured.push_back(dynamic_cast<const Bag&>(*solution).value);
      MeasuredResult one;
      one.median = measured.back();
      one.rounds = rounds;
      result.results.push_back(one);
    }
    return result;
  }
  std::optional<EnvCounters> shared_counters() const override {
    EnvCounters counters;
    counters.cost_lookups = lookups += 5;
    return counters;
  }
  TaskDescription describe(std::span<const Solved> solved) const override {
    TaskDescription said;
    said.columns = {{"file", {}}};
    for (const Solved& one : solved) said.columns.front().second.push_back(one.artifact.file);
    return said;
  }

  static std::shared_ptr<const Solution> bag(double value) {
    auto bag = std::make_shared<Bag>();
    bag->value = value;
    return bag;
  }

  mutable std::vector<double> written, measured;
  mutable int64_t lookups = 0;
};

/// It ends at a bag that it is given, or at none.
class BagSolver : public Solver {
 public:
  BagSolver(std::string name, std::optional<double> value)
      : name_(std::move(name)), value_(value) {}
  std::string name() const override { return name_; }
  std::string what() const override { return "a bag"; }
  std::string unsuited(const Task&) const override { return ""; }
  Result run(const Task& task, const SearchOptions&, const SolverSettings&) const override {
    Result result;
    result.best = value_.value_or(task.environment()->spec().worst());
    if (!value_) return result;
    result.metrics = {*value_, 0};
    result.solution = BagTask::bag(*value_);
    return result;
  }

 private:
  std::string name_;
  std::optional<double> value_;
};

class EvaluateSolutionsTest : public ::testing::Test {
 protected:
  StartReport evaluated_with(const BagSolver& last, const EvaluationConfig& config = quick()) {
    return evaluated(task_, untrained(task_.environment()->spec()),
                     {{&again_, 0}, {&once_more_, 0}, {&last, 0}}, config);
  }

  BagTask task_;
  const BagSolver again_{"again", 1000}, once_more_{"once more", 1000}, empty_{"nothing", 0};
};

TEST_F(EvaluateSolutionsTest, EqualOnesAreVerifiedWrittenAndMeasuredOnce) {
  const StartReport report = evaluated_with(empty_);
  for (const std::vector<double>* handled : {&task_.written, &task_.measured})
    EXPECT_EQ(std::set<double>(handled->begin(), handled->end()).size(), handled->size());
  EXPECT_EQ(task_.measured.front(), report.initial) << "the start state is the first";
  EXPECT_EQ(std::ranges::count(task_.written, report.initial), 0) << "which nobody needs to write";
  EXPECT_EQ(std::ranges::count(task_.written, 1000), 1);
  EXPECT_EQ(report.best[3].artifact.file, "again.bag");
  EXPECT_EQ(report.best[4].artifact.file, "again.bag");
  for (const MethodBest& best : report.best)
    EXPECT_EQ(best.measured.median, best.best) << best.method;
  EXPECT_EQ(report.described.columns.front().second.at(3), "again.bag");
}

TEST_F(EvaluateSolutionsTest, WithoutASolutionOfEachNothingIsMeasured) {
  const StartReport report = evaluated_with(BagSolver("nothing", std::nullopt));
  EXPECT_THAT(task_.measured, SizeIs(0));
  EXPECT_GT(task_.written.size(), 0u);
  EXPECT_EQ(report.best.back().artifact.file, "");
}

TEST_F(EvaluateSolutionsTest, NothingIsMeasuredWhereThatIsNotWanted) {
  EvaluationConfig config = quick();
  config.measure = Measuring::kNever;
  evaluated_with(empty_, config);
  EXPECT_THAT(task_.measured, SizeIs(0));
}

TEST_F(EvaluateSolutionsTest, SharedCountersCountEverySolverAlike) {
  for (const MethodRun& run : evaluated_with(empty_).runs)
    EXPECT_EQ(run.cost_lookups, 5) << run.method;
}

}  // namespace
}  // namespace reverie
