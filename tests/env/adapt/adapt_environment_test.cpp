#include "env/adapt/adapt_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "env/adapt/features.h"
#include "env/selected_starts.h"
#include "env/translated.h"
#include "tests/env/adapt/tables.h"
#include "tests/env/conformance.h"
#include "tests/support/renamed_environment.h"

namespace reverie::testing {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<AdaptEnvironment> made_up(const std::vector<MadeUpTraining>& trainings,
                                          AdaptReward reward = AdaptReward::kAccuracy,
                                          int final_epochs = 3) {
  std::vector<AdaptStart> starts;
  for (const MadeUpTraining& training : trainings)
    starts.push_back({table_source(made_up_table(training)), final_epochs});
  return std::make_unique<AdaptEnvironment>(std::move(starts), reward);
}

const MadeUpTraining kSmall{.scenario = "small"};
const MadeUpTraining kTwoRates{.rates = {0.001, 0.01}, .runs = 2};
const MadeUpTraining kResidual{
    .network = residual_network(), .rates = {0.001, 0.01}, .scenario = "residual"};
const MadeUpTraining kLong{.decisions = 3, .runs = 2, .scenario = "long"};

const MadeUpTraining kShort{.decisions = 3, .scenario = "short", .cost = 1e-4};

std::unique_ptr<Environment> translation(std::unique_ptr<Environment> environment) {
  const EnvSpec known = reversed(environment->spec());
  return translated(std::move(environment), known);
}

/// Jobs end by themselves, before the horizon truncates them.
EnvironmentCase ends_by_itself(const std::string& name,
                               std::function<std::unique_ptr<Environment>()> make) {
  return {name, std::move(make), 20, false};
}

INSTANTIATE_TEST_SUITE_P(
    Adapt, EnvironmentConformance,
    ::testing::Values(ends_by_itself("adapt", [] { return made_up({kSmall}); }),
                      ends_by_itself("adapt_of_two_scenarios",
                                     [] {
                                       return made_up({kTwoRates, kResidual});
                                     }),
                      ends_by_itself("adapt_of_published_reward",
                                     [] { return made_up({kLong}, AdaptReward::kPublished); }),
                      ends_by_itself("adapt_whose_budget_may_end_early",
                                     [] {
                                       return made_up({kShort, kSmall});
                                     }),
                      ends_by_itself("adapt_from_some_starts",
                                     [] {
                                       return select_starts(made_up({kSmall, kLong}), {1});
                                     }),
                      ends_by_itself("adapt_translated",
                                     [] {
                                       return translation(made_up({kTwoRates, kResidual}));
                                     })),
    environment_case_name);

enum Primary { kGoOn, kDeepen, kWiden, kNoOp };  // with one rate

double column(const Observation& observation, const EnvSpec& spec, int node,
              const std::string& name) {
  const auto at = std::ranges::find(spec.node_features, name) - spec.node_features.begin();
  return observation.graph.nodes.at(static_cast<size_t>(node) * spec.node_features.size() +
                                    static_cast<size_t>(at));
}

TEST(AdaptEnvironment, ActionsAreNamedByRates) {
  EXPECT_THAT(made_up({kSmall})->spec().actions, ElementsAre("go on", "deepen", "widen", "NO-OP"));
  EXPECT_THAT(made_up({kTwoRates})->spec().actions,
              ElementsAre("go on", "deepen at low rate", "deepen at high rate", "widen at low rate",
                          "widen at high rate", "NO-OP"));
  EXPECT_THROW(made_up({kSmall, kTwoRates}), InputError);
}

TEST(AdaptEnvironment, EachScenarioIsAStartState) {
  const auto env = made_up({kSmall, kLong, kSmall});
  ASSERT_EQ(env->spec().start_states(), 3);
  EXPECT_EQ(env->spec().starts[1].name, "long");
  EXPECT_EQ(env->spec().starts[2].name, "small-2");
  EXPECT_EQ(env->spec().horizon, 3);
  EXPECT_EQ(env->spec().source, "table");
  EXPECT_THROW(
      AdaptEnvironment({{table_source(made_up_table(kLong)), 1}}, AdaptReward::kAccuracy, 2),
      InputError);
  EXPECT_THROW(AdaptEnvironment({}, AdaptReward::kAccuracy), InputError);
}

TEST(AdaptEnvironment, TheMaskOffersWhatTheNetworkAllows) {
  const auto env = made_up({kResidual});
  env->reset(0);
  const ActionMask mask = env->mask();
  EXPECT_EQ(mask.entities, 8);
  EXPECT_THAT(mask.of(kGoOn), ElementsAre(1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(mask.of(1), ElementsAre(0, 1, 0, 1, 1, 1, 0, 0)) << "deepen";
  EXPECT_THAT(mask.of(2), ElementsAre(0, 1, 0, 1, 1, 1, 0, 0));
  EXPECT_THAT(mask.of(3), ElementsAre(0, 1, 0, 1, 0, 1, 0, 0))
      << "widen: 'outer' is tied to 'stem'";
  EXPECT_THAT(mask.of(4), ElementsAre(0, 1, 0, 1, 0, 1, 0, 0));
}

/// A table's jobs, with every change on offer.
class OffersAll : public JobSource {
 public:
  std::string name() const override { return table_->name(); }
  std::string scenario() const override { return table_->scenario(); }
  uint64_t fingerprint() const override { return table_->fingerprint(); }
  int decisions() const override { return table_->decisions(); }
  bool offers(const JobState&, const ChangeAtRate&) const override { return true; }
  const std::vector<double>& rates() const override { return table_->rates(); }
  bool deterministic() const override { return table_->deterministic(); }
  std::unique_ptr<TrainingJob> start(uint64_t seed) const override { return table_->start(seed); }

 private:
  std::unique_ptr<JobSource> table_ = table_source(made_up_table(kSmall));
};

TEST(AdaptEnvironment, NoMaskOffersWhatTheNetworkForbids) {
  AdaptEnvironment env({{std::make_shared<OffersAll>(), 3}}, AdaptReward::kAccuracy);
  env.reset(0);
  EXPECT_EQ(env.mask(), [] {
    const auto usual = made_up({kSmall});
    usual->reset(0);
    return usual->mask();
  }());
}

TEST(AdaptEnvironment, AnActionChangesTheBlockOfItsEntity) {
  const auto env = made_up({kTwoRates});
  env->reset(0);
  const Action action{4, 3, 0};
  EXPECT_EQ(env->decision_of(action), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  env->step(action);
  EXPECT_EQ(env->job().network.blocks[2].width, 6);
  EXPECT_EQ(env->mask().entities, 6);
  env->step({1, 1, 0});
  EXPECT_EQ(env->job().network.blocks[1].name, "first+1");
  EXPECT_EQ(env->mask().entities, 6) << "the new block belongs to the one that was deepened";
  EXPECT_EQ(env->observe().graph.node_entities, (std::vector<int32_t>{0, 1, 1, 2, 3, 4, 5}));
  EXPECT_EQ(env->job().decisions.back()->rate, 0.001);
}

TEST(AdaptEnvironment, OnlyTheEndIsAResultAndRewarded) {
  const auto env = made_up({kSmall}, AdaptReward::kAccuracy, 2);
  env->reset(0);
  const double before = env->info().metrics[0];
  const std::vector<EpochRecord> first = env->job().curve;
  EXPECT_DOUBLE_EQ(before, 50 * (first[1].accuracy + first[2].accuracy));
  EXPECT_FALSE(env->info().feasible);
  const StepResult step = env->step({kDeepen, 1, 0});
  EXPECT_EQ(step.reward, 0);
  EXPECT_FALSE(step.terminated);
  EXPECT_EQ(step.info.metrics[0], before);
  EXPECT_EQ(step.info.best, env->spec().worst());
  EXPECT_EQ(step.info.metrics[1], static_cast<double>(env->job().network.parameters()));
  EXPECT_EQ(step.info.metrics[2], 5);
  const StepResult end = env->step({kGoOn, 0, 0});
  const std::vector<EpochRecord>& curve = env->job().curve;
  EXPECT_TRUE(end.terminated);
  EXPECT_TRUE(end.info.feasible);
  EXPECT_DOUBLE_EQ(end.info.best, 50 * (curve[7].accuracy + curve[8].accuracy));
  EXPECT_DOUBLE_EQ(end.reward, end.info.best - before);
  EXPECT_EQ(end.info.metrics[2], 9);
  EXPECT_EQ(env->counters().measurements, 6) << "epochs";
}

TEST(AdaptEnvironment, ThePublishedRewardIsATangent) {
  const auto env = made_up({kSmall}, AdaptReward::kPublished, 1);
  env->reset(0);
  const StepResult end = env->step({kNoOp, 0, 0});
  EXPECT_DOUBLE_EQ(end.reward,
                   100 * std::tan(env->job().curve.back().accuracy * std::numbers::pi / 2));
  AdaptTable perfect = made_up_table(kSmall);
  for (RecordedSequence& sequence : perfect.sequences) sequence.runs[0].curve.back().accuracy = 1;
  AdaptEnvironment best({{table_source(perfect), 1}}, AdaptReward::kPublished);
  best.reset(0);
  EXPECT_NEAR(best.step({kNoOp, 0, 0}).reward, 6365.67, 0.01);
}

TEST(AdaptEnvironment, NoOpTrainsToTheEndWithoutAChange) {
  const auto env = made_up({kLong}), other = made_up({kLong});
  env->reset(3);
  other->reset(3);
  env->step({kDeepen, 1, 0});
  other->step({kDeepen, 1, 0});
  const Observation before = env->observe();
  const StepResult end = env->step({kNoOp, 0, 0});
  EXPECT_EQ(env->observe(), before);
  EXPECT_TRUE(env->job().over);
  other->step({kGoOn, 0, 0});
  const StepResult same = other->step({kGoOn, 0, 0});
  EXPECT_EQ(end.reward, same.reward);
  EXPECT_EQ(end.info, same.info);
}

TEST(AdaptEnvironment, TheSeedPicksTheScenarioAndThenTheRun) {
  const auto env = made_up({kLong, kSmall});
  const auto source = table_source(made_up_table(kLong));
  std::set<double> starts, ends;
  for (uint64_t seed = 0; seed < 20; seed += 2) {
    env->reset(seed);
    starts.insert(env->info().metrics[0]);
    env->step({kDeepen, 1, 0});
    ends.insert(env->step({kNoOp, 0, 0}).info.best);
    const auto job = source->start(seed / 2);
    job->decide(env->job().decisions[0]);
    while (!job->state().over) job->decide(std::nullopt);
    EXPECT_EQ(env->job(), job->state());
  }
  EXPECT_EQ(starts.size(), 1u);
  EXPECT_EQ(ends.size(), 2u);
}

TEST(AdaptEnvironment, TheImageShowsTheJob) {
  const auto env = made_up({kSmall});
  env->reset(0);
  const EnvSpec& spec = env->spec();
  const Observation start = env->observe();
  const JobState& job = env->job();
  EXPECT_FLOAT_EQ(column(start, spec, 0, "budget left"), 1 - job.spent);
  EXPECT_FLOAT_EQ(column(start, spec, 0, "budget since change"), job.spent);
  EXPECT_FLOAT_EQ(column(start, spec, 0, "accuracy"), job.curve.back().accuracy);
  EXPECT_FLOAT_EQ(column(start, spec, 0, "log all multiply-adds"),
                  std::log1p(job.network.multiply_adds()));
  EXPECT_EQ(column(start, spec, 1, "accuracy"), 0) << "blocks show themselves";
  const double spent = job.spent;
  env->step({kWiden, 3, 0});
  const Observation next = env->observe();
  EXPECT_FLOAT_EQ(column(next, spec, 0, "decision"), 0.5);
  EXPECT_FLOAT_EQ(column(next, spec, 0, "budget since change"), env->job().spent - spent);
  const auto other = made_up({kSmall});
  other->reset(0);
  other->step({kGoOn, 0, 0});
  EXPECT_FLOAT_EQ(column(other->observe(), spec, 0, "budget since change"), other->job().spent)
      << "no change yet";
  EXPECT_EQ(column(next, spec, 3, "age"), 0);
  EXPECT_EQ(column(next, spec, 1, "age"), 1);
  const size_t columns = spec.node_features.size(), of_job = next.graph.graph_targets.size();
  EXPECT_THAT(next.graph.graph_targets,
              ::testing::ElementsAreArray(
                  next.graph.nodes.begin() + static_cast<ptrdiff_t>(columns - of_job),
                  next.graph.nodes.begin() + static_cast<ptrdiff_t>(columns)));
}

TEST(AdaptEnvironment, EdgesAreWhatBlocksReadAddAndTheJob) {
  const auto env = made_up({kResidual});
  env->reset(0);
  const GraphFeatures graph = env->observe().graph;
  int reads = 0, adds = 0, job = 0;
  for (int edge = 0; edge < graph.edge_count(); ++edge) {
    const float* row = &graph.edges[3 * static_cast<size_t>(edge)];
    reads += row[0] == 1;
    job += row[2] == 1;
    if (row[1] != 1) continue;
    ++adds;
    EXPECT_EQ(graph.senders[static_cast<size_t>(edge)], 2);
    EXPECT_EQ(graph.receivers[static_cast<size_t>(edge)], 4);
  }
  EXPECT_EQ(reads, 7);
  EXPECT_EQ(adds, 1);
  EXPECT_EQ(job, 7);
}

TEST(AdaptEnvironment, ActionsShowWhatTheyCost) {
  const auto env = made_up({kTwoRates});
  env->reset(0);
  const Observation observation = env->observe();
  const Network& network = env->job().network;
  const Network wider = adapt::changed(network, {ChangeKind::kWiden, 2});
  const auto ratio =
      static_cast<double>(wider.multiply_adds()) / static_cast<double>(network.multiply_adds());
  const size_t cell = 3 * (4 * static_cast<size_t>(observation.mask.entities) + 3);
  EXPECT_FLOAT_EQ(observation.action_features[cell], std::log(ratio));
  EXPECT_FLOAT_EQ(observation.action_features[cell + 2], -2);
}

TEST(AdaptFeatures, MeansAreOfTheEpochsThatAreThere) {
  const std::vector<EpochRecord> curve = {{.accuracy = 0.1}, {.accuracy = 0.2}, {.accuracy = 0.6}};
  EXPECT_DOUBLE_EQ(mean_accuracy(curve, 2), 0.4);
  EXPECT_DOUBLE_EQ(mean_accuracy(curve, 5), 0.3);
  EXPECT_EQ(mean_accuracy({}, 3), 0);
}

}  // namespace
}  // namespace reverie::testing
