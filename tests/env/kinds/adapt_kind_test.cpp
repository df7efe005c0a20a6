#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/adapt/adapt_task.h"
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
  std::unique_ptr<Tasks> tasks() const { return environment_kind("adapt").tasks(config_, {}, {}); }
  Result run(const Task& one, const std::string& name, uint64_t seed = 1) const {
    return solver_named(name, "adapt").run(one, {.seed = seed}, settings_);
  }
  /// What the solver "fixed" decides.
  void fix(const std::string& decisions) {
    ConfigFields(settings_).set_value("fixed.decisions", decisions);
  }
  static const JobState& job(const Result& result) {
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
  SolverSettings settings_{"adapt"};
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
  config_.of<AdaptConfig>().final_epochs = 3;
  EXPECT_EQ(accuracy(), usual);
  config_.of<AdaptConfig>().final_epochs = 1;
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

TEST_F(AdaptKindTest, EachScenarioIsATaskWithSolversOfItsOwn) {
  const auto all = tasks();
  ASSERT_THAT(all->tasks(), SizeIs(2));
  EXPECT_EQ(all->tasks()[1]->environment()->spec().starts, std::vector{all->spec().starts[1]});
  EXPECT_THAT(all->usual_solvers(), ElementsAre("random", "nothing", "early", "exhaustive"));
  for (const char* name : {"random", "nothing", "early", "fixed", "exhaustive", "random_best",
                           "halving", "thompson"}) {
    EXPECT_EQ(solver_named(name, "adapt").environment(), "adapt") << name;
    EXPECT_EQ(solver_named(name, "adapt").unsuited(*all->tasks()[0]), "") << name;
  }
}

TEST_F(AdaptKindTest, SearchesSayWhyTheyDoNotSuit) {
  const auto all = tasks();
  const Task& one = *all->tasks()[0];
  EXPECT_FALSE(one.has_problem());
  for (const char* name : {"greedy", "beam", "mcts", "taso", "annealing"}) {
    EXPECT_THAT(solver_named(name, "adapt").unsuited(one), HasSubstr("needs an environment"))
        << name;
    EXPECT_THROW(run(one, name), InputError) << name;
  }
}

TEST_F(AdaptKindTest, SearchesLearnFromSoManyJobsAndPlayTheLast) {
  const auto all = tasks();
  const Task& one = *all->tasks()[0];
  for (const char* name : {"random_best", "halving", "thompson"}) {
    const Solver& solver = solver_named(name, "adapt");
    EXPECT_EQ(solver.budget_unit(), "episodes");
    const Result result = solver.run(one, {.budget = 40, .seed = 1}, settings_);
    EXPECT_EQ(result.candidates, 40) << name;
    EXPECT_EQ(job(result).decisions.size(), 2u) << name;
    EXPECT_GE(result.best, run(one, "nothing").best) << name;
    EXPECT_LE(result.best, run(one, "exhaustive").best + 1e-9) << name;
    EXPECT_EQ(result.metrics.front(), result.best);
  }
}

TEST_F(AdaptKindTest, SolversAreWhatTheySay) {
  fix("go on,widen at high rate: second");
  const auto all = tasks();
  const Task& one = *all->tasks()[0];
  const Result nothing = run(one, "nothing");
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
  const auto all = tasks();
  const AdaptTable table = read_table(config_.inputs[1]);
  const Result best = run(*all->tasks()[1], "exhaustive", 0);
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
    fix(decision);
    const auto all = tasks();
    try {
      run(*all->tasks()[0], "fixed");
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
  fix("shrink first");
  EXPECT_THROW(solver_named("fixed", "adapt").check(*tasks()->tasks()[0], settings_), InputError)
      << "before anything is trained";
  EXPECT_EQ(refusal("widen at low rate: output"),
            "one: 'widen at low rate: output' is not offered at decision 1");
  EXPECT_THAT(refusal("widen at low rate: nowhere"), HasSubstr("is not offered"));
}

TEST_F(AdaptKindTest, FixedSequencesAreNamedAsRunsPrintThem) {
  const auto decided = [&](const std::string& decision) {
    fix(decision);
    return job(run(*tasks()->tasks()[0], "fixed")).decisions[0];
  };
  EXPECT_EQ(decided("widen second at 0.01"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  EXPECT_EQ(decided("widen second at 1e-2"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  EXPECT_EQ(decided("widen second at high rate"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.01}));
  EXPECT_EQ(decided("widen second"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.001}))
      << "the lowest rate";
  EXPECT_EQ(decided("widen: second"), (ChangeAtRate{ChangeKind::kWiden, 2, 0.001}));
}

TEST_F(AdaptKindTest, ResultsAreNetworks) {
  const auto all = tasks();
  const Task& one = *all->tasks()[0];
  const Result early = run(one, "early"), nothing = run(one, "nothing");
  EXPECT_FALSE(one.equal(*early.solution, *nothing.solution));
  EXPECT_TRUE(one.equal(*early.solution, *run(one, "early").solution));
  const Artifact artifact = one.write(*early.solution, "policy (greedy)", directory_.path());
  EXPECT_EQ(artifact.file, "networks/one.policy-greedy.yaml");
  EXPECT_EQ(load_network(directory_ / artifact.file), job(early).network);
  const TaskDescription said = one.describe(
      std::vector<Solved>{{"early", early.solution, artifact}, {"nothing", nothing.solution, {}}});
  EXPECT_THAT(said.columns[0].second,
              ElementsAre("deepen first at 0.001, widen first at 0.001", "go on, go on"));
  EXPECT_THAT(said.plots, SizeIs(1));
  EXPECT_THAT(said.sentences[0], HasSubstr("one: 3 epochs"));
}

}  // namespace
}  // namespace reverie::testing
