#include "controller/evaluate/evaluate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

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

StartReport evaluated(const EvaluationCase& start, const TrainedPolicy& policy,
                      const EvaluationConfig& config = quick(),
                      const std::vector<EvaluationMethod>& further = {}) {
  const EvaluationInputs inputs{policy, "", 3, [](const std::string&) {}};
  return evaluate_start(start, further, inputs, config);
}

std::unique_ptr<Environment> environment_named(const std::string& name) {
  if (name == "toy")
    return std::make_unique<ToyEnvironment>(ToyConfig{.blocks = 2, .start_states = 4});
  return std::make_unique<KnapsackEnvironment>(KnapsackConfig{.items = 4, .start_states = 3});
}

/// The untrained policy in environments of which the evaluation knows nothing.
class EvaluateTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<EvaluationCases> cases_ = plain_cases(environment_named(GetParam()), {});
  TrainedPolicy policy_ = untrained(cases_->spec());
};

TEST_P(EvaluateTest, EveryMethodRunsWithItsSeeds) {
  const std::vector<std::string> methods = {"no-op", "policy (greedy)", "policy (sampled)",
                                            "random", "greedy"};
  for (const auto& start : cases_->cases()) {
    const StartReport report = evaluated(*start, policy_);
    std::map<std::string, int> runs;
    for (const MethodRun& run : report.runs) ++runs[run.method];
    ASSERT_THAT(report.best, SizeIs(methods.size()));
    for (size_t i = 0; i < methods.size(); ++i) {
      EXPECT_EQ(report.best[i].method, methods[i]);
      const bool draws = methods[i] == "policy (sampled)" || methods[i] == "random";
      EXPECT_EQ(runs[methods[i]], draws ? 2 : 1) << methods[i];
    }
  }
}

TEST_P(EvaluateTest, TheBestIsByTheObjectiveAndFeasible) {
  const EnvSpec& spec = cases_->spec();
  for (const auto& start : cases_->cases()) {
    const StartReport report = evaluated(*start, policy_);
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
          EXPECT_GT(run.steps, 0) << run.method;
          EXPECT_EQ(run.trace.back().best, run.best);
        }
      }
    }
  }
}

TEST_P(EvaluateTest, SampledEpisodesFindWhatTheGreedyOneDoesNot) {
  const EnvSpec& spec = cases_->spec();
  int better = 0;
  for (const auto& start : cases_->cases()) {
    const StartReport report = evaluated(*start, policy_);
    better += spec.better(report.best[2].best, report.best[1].best);
    EXPECT_EQ(report.runs[2].method, "policy (sampled)");
    EXPECT_GE(report.runs[2].steps, quick().samples) << "so many episodes, a step at least";
  }
  EXPECT_GT(better, 0);
}

TEST_P(EvaluateTest, ThePolicyRunsAreTheirSeeds) {
  const auto& start = *cases_->cases()[1];
  const StartReport one = evaluated(start, policy_), two = evaluated(start, policy_);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(one.runs[i].best, two.runs[i].best);
    EXPECT_EQ(one.runs[i].steps, two.runs[i].steps);
  }
}

TEST_P(EvaluateTest, FurtherMethodsStandBehindThePolicy) {
  EvaluationMethod method = policy_episodes(*cases_->cases()[0], policy_, true, 1);
  method.name = "policy guided";
  const StartReport report = evaluated(*cases_->cases()[0], policy_, quick(), {method});
  ASSERT_THAT(report.best, SizeIs(6));
  EXPECT_EQ(report.best[3].method, "policy guided");
  EXPECT_EQ(report.best[3].best, report.best[1].best);
}

TEST_P(EvaluateTest, TheReportIsWritten) {
  const TemporaryDirectory directory;
  EvaluationReport report;
  report.spec = cases_->spec();
  report.config = quick();
  for (const auto& start : cases_->cases()) report.starts.push_back(evaluated(*start, policy_));
  write_report(report, directory.path());
  EXPECT_EQ(read_file(directory / "report.json"), report_json(report));
  EXPECT_EQ(read_file(directory / "report.md"), report_markdown(report));
  EXPECT_EQ(read_file(directory / "report.html"), report_html(report));
  EXPECT_THAT(report_markdown(report), HasSubstr("By " + report.spec.objective_metric().name));
}

INSTANTIATE_TEST_SUITE_P(Environments, EvaluateTest, ::testing::Values("toy", "knapsack"),
                         [](const auto& info) { return std::string(info.param); });

/// The bag's content is a solution; what was done with it is written down.
struct Bag : Solution {
  double value = 0;
};

class BagCase : public EvaluationCase {
 public:
  std::unique_ptr<Environment> make() const override {
    return std::make_unique<KnapsackEnvironment>(KnapsackConfig{.items = 5, .start_states = 1});
  }
  std::vector<EvaluationMethod> baselines() const override {
    EvaluationMethod again = {"again", "once more", false, false, [this](const MethodLimits&) {
                                MethodResult result;
                                result.best = found;
                                result.metrics = {found, 0};
                                result.solution = bag(found);
                                return result;
                              }};
    EvaluationMethod nothing = {"nothing", "", false, false, [this](const MethodLimits&) {
                                  MethodResult result;
                                  result.best = make()->spec().worst();
                                  result.solution = none ? nullptr : bag(0);
                                  return result;
                                }};
    return {again, again, nothing};
  }
  std::shared_ptr<const Solution> solution(const Environment& played) const override {
    return bag(played.info().best);
  }
  bool equal(const Solution& a, const Solution& b) const override {
    return dynamic_cast<const Bag&>(a).value == dynamic_cast<const Bag&>(b).value;
  }
  Artifact write(const Solution& solution, const std::string& method,
                 const std::string&) const override {
    written.push_back(dynamic_cast<const Bag&>(solution).value);
    return {method + ".bag", Json{{"weighed", true}}};
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
  CaseDescription describe(std::span<const FinishedMethod> methods) const override {
    CaseDescription said;
    said.columns = {{"file", {}}};
    for (const FinishedMethod& method : methods)
      said.columns.front().second.push_back(method.artifact.file);
    return said;
  }

  double found = 1000;
  bool none = false;
  mutable std::vector<double> written, measured;
  mutable int64_t lookups = 0;

 private:
  static std::shared_ptr<const Solution> bag(double value) {
    auto bag = std::make_shared<Bag>();
    bag->value = value;
    return bag;
  }
};

TEST(EvaluateSolutionsTest, EqualOnesAreVerifiedWrittenAndMeasuredOnce) {
  const BagCase start;
  const StartReport report = evaluated(start, untrained(start.make()->spec()));
  for (const std::vector<double>* handled : {&start.written, &start.measured})
    EXPECT_EQ(std::set<double>(handled->begin(), handled->end()).size(), handled->size());
  EXPECT_EQ(start.measured.front(), report.initial) << "the start state is the first";
  EXPECT_EQ(std::ranges::count(start.written, report.initial), 0) << "which nobody needs to write";
  EXPECT_EQ(std::ranges::count(start.written, 1000), 1);
  EXPECT_EQ(report.best[3].artifact.file, "again.bag");
  EXPECT_EQ(report.best[4].artifact.file, "again.bag");
  for (const MethodBest& best : report.best)
    if (best.method != "nothing") {
      EXPECT_EQ(best.measured.median, best.best) << best.method;
    }
  EXPECT_EQ(report.described.columns.front().second.at(3), "again.bag");
}

TEST(EvaluateSolutionsTest, WithoutASolutionOfEachNothingIsMeasured) {
  BagCase start;
  start.none = true;
  const StartReport report = evaluated(start, untrained(start.make()->spec()));
  EXPECT_THAT(start.measured, SizeIs(0));
  EXPECT_GT(start.written.size(), 0u);
  EXPECT_EQ(report.best.back().artifact.file, "");
}

TEST(EvaluateSolutionsTest, NothingIsMeasuredWhereThatIsNotWanted) {
  const BagCase start;
  EvaluationConfig config = quick();
  config.measure = false;
  evaluated(start, untrained(start.make()->spec()), config);
  EXPECT_THAT(start.measured, SizeIs(0));
}

TEST(EvaluateSolutionsTest, SharedCountersCountEveryMethodAlike) {
  const BagCase start;
  for (const MethodRun& run : evaluated(start, untrained(start.make()->spec())).runs)
    EXPECT_EQ(run.cost_lookups, 5) << run.method;
}

}  // namespace
}  // namespace reverie
