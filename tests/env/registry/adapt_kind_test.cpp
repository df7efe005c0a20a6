#include "env/registry/adapt_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/registry/adapt_evaluation.h"
#include "tests/env/adapt/tables.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class AdaptKindTest : public ::testing::Test {
 protected:
  AdaptKindTest() {
    config_.kind = "adapt";
    write("one", {.rates = {0.001, 0.01}, .runs = 2, .scenario = "one"});
    write("two", {.network = residual_network(), .rates = {0.002, 0.02}, .scenario = "two"});
  }
  void write(const std::string& name, const MadeUpTraining& training) {
    write_table(directory_ / (name + ".json"), made_up_table(training));
    config_.inputs.push_back(directory_ / (name + ".json"));
  }
  std::unique_ptr<EvaluationCases> cases() const {
    return environment_kind("adapt").evaluation(config_, how_, {});
  }
  MethodResult run(const EvaluationCase& one, const std::string& name, uint64_t seed = 1) const {
    for (const EvaluationMethod& method : one.baselines())
      if (method.name == name) return method.run({seed, 0});
    throw InternalError("no baseline of this name");
  }
  static const JobState& job(const MethodResult& result) {
    return dynamic_cast<const AdaptSolution&>(*result.solution).job;
  }
  std::string error() const {
    try {
      make_environment(config_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryDirectory directory_;
  EnvironmentConfig config_;
  KindEvaluationConfig how_;
};

TEST_F(AdaptKindTest, ATableIsAScenario) {
  const auto environment = make_environment(config_).environment;
  ASSERT_EQ(environment->spec().start_states(), 2);
  EXPECT_EQ(environment->spec().starts[1].name, "two");
  EXPECT_EQ(environment->spec().actions.size(), 6u);
  EXPECT_EQ(environment->spec().source, "table");
}

TEST_F(AdaptKindTest, TheConfigurationSaysHowManyEpochsCount) {
  const auto accuracy = [&] {
    const auto environment = make_environment(config_).environment;
    environment->reset(0);
    return environment->info().metrics[0];
  };
  const double usual = accuracy();
  config_.adapt.final_epochs = 3;
  EXPECT_EQ(accuracy(), usual);
  config_.adapt.final_epochs = 1;
  EXPECT_GT(accuracy(), usual) << "the accuracy rises";
}

TEST_F(AdaptKindTest, SaysWhatIsWrongWithAnInput) {
  config_.inputs = {};
  EXPECT_EQ(error(),
            "no scenario: name at least one network (NAME.yaml, NAME.onnx) or table (NAME.json)");
  config_.inputs = {"model.pt"};
  EXPECT_EQ(error(),
            "model.pt: `adapt` takes networks (NAME.yaml, NAME.onnx) and tables (NAME.json)");
  config_.inputs = {directory_ / "none.json"};
  EXPECT_THAT(error(), HasSubstr("none.json"));
}

TEST_F(AdaptKindTest, EachScenarioHasBaselines) {
  how_.adapt.fixed = {"deepen at low rate: first"};
  const auto all = cases();
  ASSERT_THAT(all->cases(), SizeIs(2));
  std::vector<std::string> names;
  for (const EvaluationMethod& method : all->cases()[0]->baselines()) names.push_back(method.name);
  EXPECT_THAT(names, ElementsAre("random", "nothing", "early", "fixed", "exhaustive"));
  EXPECT_EQ(all->cases()[1]->make()->spec().starts, std::vector{all->spec().starts[1]});
}

TEST_F(AdaptKindTest, BaselinesAreWhatTheySay) {
  how_.adapt.fixed = {"go on", "widen at high rate: second"};
  const auto all = cases();
  const EvaluationCase& one = *all->cases()[0];
  const MethodResult nothing = run(one, "nothing");
  EXPECT_EQ(job(nothing).decisions, Decisions(2));
  EXPECT_EQ(nothing.work.measurements, 6);
  EXPECT_THAT(job(run(one, "early")).decisions,
              ElementsAre(ChangeAtRate{ChangeKind::kDeepen, 0, 0.001},
                          ChangeAtRate{ChangeKind::kWiden, 0, 0.001}));
  EXPECT_THAT(job(run(one, "fixed")).decisions,
              ElementsAre(std::nullopt, ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  std::set<double> drawn;
  for (uint64_t seed = 0; seed < 10; ++seed) drawn.insert(run(one, "random", seed).best);
  EXPECT_GT(drawn.size(), 5u);
}

TEST_F(AdaptKindTest, ExhaustiveSearchTriesEverySequenceAndFindsTheBest) {
  const auto all = cases();
  const AdaptTable table = read_table(config_.inputs[1]);
  const MethodResult best = run(*all->cases()[1], "exhaustive", 0);
  EXPECT_EQ(best.candidates, static_cast<int64_t>(table.sequences.size()));
  double most = 0;
  for (const RecordedSequence& sequence : table.sequences) {
    const std::vector<EpochRecord>& curve = sequence.runs[0].curve;
    double mean = 0;
    for (size_t i = curve.size() - 3; i < curve.size(); ++i) mean += 100 * curve[i].accuracy / 3;
    most = std::max(most, mean);
  }
  EXPECT_NEAR(best.best, most, 1e-9);
  EXPECT_EQ(best.metrics[0], best.best);
}

TEST_F(AdaptKindTest, FixedSequencesAreChecked) {
  const auto refusal = [&](const std::string& decision) {
    how_.adapt.fixed = {decision};
    try {
      run(*cases()->cases()[0], "fixed");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal("deepen"),
            "'deepen' is no decision; give 'go on', or 'deepen' or 'widen' with a block, and a "
            "rate of 0.001, 0.01 "
            "where it shall not be the lowest: 'deepen conv1 at 0.01'");
  EXPECT_THAT(refusal("deepen first at 0.002"),
              HasSubstr("'deepen first at 0.002' is no decision"));
  EXPECT_THAT(refusal("shrink first"), HasSubstr("is no decision"));
  EXPECT_THAT(refusal("NO-OP"), HasSubstr("is no decision"));
  EXPECT_THAT(refusal("go on: first"), HasSubstr("is no decision"));
  EXPECT_EQ(refusal("widen at low rate: output"),
            "one: 'widen at low rate: output' is not offered at decision 1");
  EXPECT_THAT(refusal("widen at low rate: nowhere"), HasSubstr("is not offered"));
}

TEST_F(AdaptKindTest, FixedSequencesAreNamedAsRunsPrintThem) {
  const auto decided = [&](const std::string& decision) {
    how_.adapt.fixed = {decision};
    return job(run(*cases()->cases()[0], "fixed")).decisions[0];
  };
  EXPECT_EQ(decided("widen second at 0.01"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  EXPECT_EQ(decided("widen second at 1e-2"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  EXPECT_EQ(decided("widen second at high rate"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  EXPECT_EQ(decided("widen second"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.001}))
      << "the lowest rate";
  EXPECT_EQ(decided("widen: second"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.001}));
}

TEST_F(AdaptKindTest, ResultsAreNetworks) {
  const auto all = cases();
  const EvaluationCase& one = *all->cases()[0];
  const MethodResult early = run(one, "early"), nothing = run(one, "nothing");
  EXPECT_FALSE(one.equal(*early.solution, *nothing.solution));
  EXPECT_TRUE(one.equal(*early.solution, *run(one, "early").solution));
  const Artifact artifact = one.write(*early.solution, "policy (greedy)", directory_.path());
  EXPECT_EQ(artifact.file, "networks/one.policy-greedy.yaml");
  EXPECT_EQ(load_network(directory_ / artifact.file), job(early).network);
  const CaseDescription said = one.describe(std::vector<FinishedMethod>{
      {"early", early.solution, artifact}, {"nothing", nothing.solution, {}}});
  EXPECT_THAT(said.columns[0].second,
              ElementsAre("deepen first at 0.001, widen first at 0.001", "go on, go on"));
  EXPECT_THAT(said.plots, SizeIs(1));
  EXPECT_THAT(said.sentences[0], HasSubstr("one: 3 epochs"));
}

}  // namespace
}  // namespace reverie::testing
