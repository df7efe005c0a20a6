#include "env/rewrite/rewrite_task.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/cost/table.h"
#include "core/ir/text.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "core/onnx/symbols.h"
#include "env/kind.h"
#include "env/solver.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RewriteTaskTest : public ::testing::Test {
 protected:
  RewriteTaskTest() {
    ModelOptions options;
    options.image = 32;
    options.width = 0.125;
    create_directory(directory_ / "other");
    for (const std::string& path : {directory_ / "tiny.onnx", directory_ / "other/tiny.onnx"}) {
      export_onnx(build_model("squeezenet1_1", options), {}, path);
      config_.inputs.push_back(path);
    }
    how_.of<RewriteTaskConfig>().verify_inputs = 1;
  }
  std::unique_ptr<Tasks> tasks(const TaskPlan& plan = {}) const {
    return environment_kind("rewrite").tasks(config_, how_, plan);
  }
  static Result run(const Task& one, const std::string& name) {
    return solver_named(name, "rewrite").run(one, {.seed = 1}, SolverSettings("rewrite"));
  }

  TemporaryDirectory directory_;
  EnvironmentConfig config_;
  TaskConfig how_;
};

TEST_F(RewriteTaskTest, IsThereForEachModelUnderANameOfItsOwn) {
  const auto all = tasks();
  ASSERT_THAT(all->tasks(), SizeIs(2));
  EXPECT_EQ(all->spec().starts[0].name, "tiny");
  EXPECT_EQ(all->spec().starts[1].name, "tiny-2");
  EXPECT_EQ(all->tasks()[1]->environment()->spec().starts, std::vector{all->spec().starts[1]});
  EXPECT_THAT(all->usual_solvers(),
              ElementsAre("random", "greedy", "rulelist", "taso", "saturation_ilp"));
  EXPECT_THAT(all->sentences(), ::testing::Contains("Estimated costs are by roofline:t4."));
}

TEST_F(RewriteTaskTest, AnEpisodesBestGraphIsItsSolution) {
  const auto all = tasks();
  const Task& one = *all->tasks()[0];
  const auto environment = one.environment();
  environment->reset(0);
  const auto start = one.solution(*environment);
  const EnvSpec& spec = environment->spec();
  for (bool over = false; !over;) {
    const ActionMask mask = environment->mask();
    int primary = 0;
    while (mask.total(primary) == 0) ++primary;
    const StepResult step = environment->step(mask.choice(primary, 0));
    over = step.terminated || step.truncated;
  }
  const auto best = std::dynamic_pointer_cast<const RewriteSolution>(one.solution(*environment));
  EXPECT_EQ(best->cost.runtime.milliseconds(), environment->info().best);
  EXPECT_EQ(one.equal(*best, *start),
            environment->info().best == run(one, "greedy").trace.front().best);
  EXPECT_EQ(spec.objective_metric().unit, "ms");
}

TEST_F(RewriteTaskTest, AResultIsComparedAndWritten) {
  const auto all = tasks();
  const Task& one = *all->tasks()[1];
  const Result greedy = run(one, "greedy");
  const Artifact artifact = one.write(*greedy.solution, "policy (greedy)", directory_.path());
  EXPECT_EQ(artifact.file, "models/tiny-2.policy-greedy.onnx");
  EXPECT_TRUE(file_exists(directory_ / artifact.file));
  EXPECT_EQ(artifact.verified.at("inputs").get<int>(), 1);
  const TaskDescription said =
      one.describe(std::vector<Solved>{{"greedy", greedy.solution, artifact}});
  const auto& rewritten = dynamic_cast<const RewriteSolution&>(*greedy.solution);
  EXPECT_EQ(said.columns[0].second.at(0), std::to_string(rewritten.rewrites.size()));
  EXPECT_EQ(said.details[0].at("cost_ms_along").array().size(), rewritten.rewrites.size() + 1);
  EXPECT_DOUBLE_EQ(said.details[0].at("cost_ms_along").array().back().get<double>(), greedy.best);
}

TEST_F(RewriteTaskTest, CostsOfWhatRunsAreSaidWhereTheSourceFuses) {
  const auto sentences = [&] {
    const auto all = tasks();
    const Result greedy = run(*all->tasks()[0], "greedy");
    return all->tasks()[0]
        ->describe(std::vector<Solved>{{"greedy", greedy.solution, {}}})
        .sentences;
  };
  CostTable table{.device = "some", .library = "some", .driver = "", .profile = "h200"};
  const auto says_it =
      ::testing::Contains(HasSubstr("As the machine runs them, fused, the original"));
  for (const bool fuses : {false, true}) {
    if (fuses) table.entries["Pointwise(float32 8) {program=\"y = Relu(x0)\"}"].runtime = {1000};
    write_cost_table(directory_ / "costs.h5", table);
    config_.of<RewriteConfig>().cost = "table:" + (directory_ / "costs.h5");
    if (fuses)
      EXPECT_THAT(sentences(), says_it);
    else
      EXPECT_THAT(sentences(), ::testing::Not(says_it));
  }
}

TEST_F(RewriteTaskTest, AWrongResultIsRefused) {
  const auto all = tasks();
  const Task& one = *all->tasks()[0];
  const Graph other = parse_graph("x = Input : float32 4\ny = Relu(x)\noutput y = y\n");
  try {
    one.write(RewriteSolution(other, {}, {}), "greedy", directory_.path());
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tiny.onnx: what greedy made of it disagrees"));
  }
  EXPECT_FALSE(file_exists(directory_ / "models/tiny.greedy.onnx"));
}

/// A model of symbolic dimensions, bound to one row, and what a method may make of it.
class SymbolicTaskTest : public RewriteTaskTest {
 protected:
  SymbolicTaskTest() {
    testing::write_message(testing::parse(R"(
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[batch,n] x) => (float[1,n] y)
        {
          axes = Constant <value = int64[1] {0}> ()
          s = ReduceSum <keepdims = 1> (x, axes)
          r = Relu(s)
          y = Relu(r)
        })"),
                           directory_ / "rows.onnx");
    config_.inputs = {directory_ / "rows.onnx"};
    config_.of<RewriteConfig>().shapes = {"x=1,4"};
  }
  /// Writes Relu of x, summed over its rows or not, as the result of greedy.
  Solved written(const Task& one, bool summed) const {
    Graph graph;
    ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4}});
    if (summed)
      x = graph.add("ReduceSum", {x},
                    {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{1}}});
    graph.add_output("y", graph.add("Relu", {x}));
    const auto solution =
        std::make_shared<RewriteSolution>(graph, Cost(), std::vector<RewriteStep>());
    return {"greedy", solution, one.write(*solution, "greedy", directory_.path())};
  }
  std::set<std::string> symbols_in(const Artifact& artifact) const {
    return symbols_of(import_onnx(directory_ / artifact.file, {.shapes = {"x=1,4"}}));
  }
};

TEST_F(SymbolicTaskTest, DimensionsStaySymbolicWhereTheResultHoldsForOthers) {
  const auto all = tasks();
  const Solved greedy = written(*all->tasks()[0], true);
  EXPECT_THAT(symbols_in(greedy.artifact), ElementsAre("batch", "n"));
  EXPECT_EQ(greedy.artifact.verified.find("fixed_dimensions"), nullptr);
  for (const std::string& sentence : all->tasks()[0]->describe(std::vector{greedy}).sentences)
    EXPECT_THAT(sentence, ::testing::Not(HasSubstr("symbolic")));
}

TEST_F(SymbolicTaskTest, DimensionsThatAreFixedAreNamed) {
  const auto all = tasks();
  const Solved greedy = written(*all->tasks()[0], false);
  EXPECT_THAT(symbols_in(greedy.artifact), ElementsAre("n"));
  EXPECT_EQ(greedy.artifact.verified.at("fixed_dimensions").dump(), "[\"batch\"]");
  EXPECT_THAT(all->tasks()[0]->describe(std::vector{greedy}).sentences,
              ::testing::Contains(
                  HasSubstr("'batch' is symbolic in the original; it is fixed to the extent "
                            "assumed for it in the files of greedy.")));
}

TEST_F(RewriteTaskTest, ByItselfItMeasuresWhereCostsOrRewardsAreMeasured) {
  const auto said = [&](Measuring measure) { return tasks({1, measure, 1})->sentences(); };
  const auto measures = ::testing::Contains(HasSubstr("end to end on"));
  const auto says_why = ::testing::Contains(
      "No graph was timed as a whole: costs by roofline:t4 are not measured on this machine.");
  EXPECT_THAT(said(Measuring::kAuto), says_why);
  EXPECT_EQ(tasks({1, Measuring::kAuto, 1})->measured_with(), "");
  EXPECT_THAT(said(Measuring::kAlways), measures);
  how_.of<RewriteTaskConfig>().machine = "cpu";
  EXPECT_THAT(said(Measuring::kAuto), measures);
  EXPECT_THAT(said(Measuring::kNever), ::testing::Not(measures));
  how_.of<RewriteTaskConfig>().machine = "";
  config_.of<RewriteConfig>().environment.reward = RewardKind::kMeasuredEveryK;
  EXPECT_THAT(said(Measuring::kAuto), measures);
  config_.of<RewriteConfig>().environment.reward = RewardKind::kRuntime;
  config_.of<RewriteConfig>().cost = "cpu";
  EXPECT_THAT(said(Measuring::kAuto), measures);
}

TEST_F(RewriteTaskTest, WhatIsNotMeasuredHereTellsWhy) {
  const auto all = tasks({1, Measuring::kAuto, 1});
  const Task& one = *all->tasks()[0];
  const auto environment = one.environment();
  environment->reset(0);
  const std::vector<std::shared_ptr<const Solution>> start{one.solution(*environment)};
  const Measurements measured = one.measure(start, 2);
  EXPECT_THAT(measured.results, SizeIs(0));
  EXPECT_THAT(measured.refused, HasSubstr("roofline:t4"));
}

TEST_F(RewriteTaskTest, ARewardThatMeasuresIsReplaced) {
  config_.of<RewriteConfig>().environment.reward = RewardKind::kMeasuredEveryK;
  const auto all = tasks();
  const auto environment = all->tasks()[0]->environment();
  EXPECT_TRUE(environment->spec().deterministic);
  EXPECT_FALSE(environment->spec().measurable);
}

TEST_F(RewriteTaskTest, SaysWhatIsWrong) {
  how_.of<RewriteTaskConfig>().machine = "nowhere";
  EXPECT_NO_THROW(tasks({1, Measuring::kNever, 1}));
  EXPECT_THROW(tasks({1, Measuring::kAuto, 1}), InputError);
  config_.inputs.clear();
  EXPECT_THROW(tasks(), InputError);
}

}  // namespace
}  // namespace reverie
