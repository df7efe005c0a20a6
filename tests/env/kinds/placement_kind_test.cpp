#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "env/kind.h"
#include "env/placement/placement_solver.h"
#include "env/placement/placement_task.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

class PlacementKindTest : public ::testing::Test {
 protected:
  PlacementKindTest() {
    write_file(graph_, R"({"format": "placement-graph/1", "name": "two", "nodes": [
      {"id": 0, "name": "a", "op": "x", "cost_us": {"v100": 10}},
      {"id": 1, "name": "b", "op": "x", "cost_us": {"v100": 10}}], "edges": []})");
    config_.kind = "placement";
    config_.inputs = {graph_};
  }
  std::string error() const {
    try {
      make_environment(config_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  std::unique_ptr<Tasks> tasks() const {
    return environment_kind("placement").tasks(config_, {}, {});
  }
  static Result run(const Task& task, const Solver& solver, int64_t budget) {
    return solver.run(task, {.budget = budget, .seed = 1}, SolverSettings("placement"));
  }

  TemporaryDirectory directory_;
  std::string graph_ = directory_.path() + "/two.json";
  EnvironmentConfig config_;
};

TEST_F(PlacementKindTest, TakesGraphsFromFilesAndSyntheticOnes) {
  config_.inputs.push_back("generate:layers:200:1");
  const MadeEnvironment made = make_environment(config_);
  ASSERT_EQ(made.environment->spec().start_states(), 2);
  EXPECT_EQ(made.environment->spec().starts[0].name, "two");
  made.environment->reset(1);
  EXPECT_LE(made.environment->mask().entities, config_.of<PlacementConfig>().max_groups + 1);
}

TEST_F(PlacementKindTest, SaysWhichInputIsWrong) {
  config_.inputs = {};
  EXPECT_THAT(error(), HasSubstr("no graph"));
  config_.inputs = {"graph.txt"};
  EXPECT_THAT(error(), HasSubstr("graph.txt: is no graph to place"));
  config_.inputs = {graph_};
  config_.of<PlacementConfig>().devices = "8xh100";
  EXPECT_THAT(error(), HasSubstr("no costs on devices of kind 'h100'"));
}

TEST_F(PlacementKindTest, ComparesWithItsMethodsAndWritesPlacements) {
  const auto all = tasks();
  ASSERT_EQ(all->tasks().size(), 1u);
  const Task& one = *all->tasks().front();
  std::vector<Solved> solved;
  for (const auto& [solver, budget] : chosen_solvers(all->usual_solvers(), "placement")) {
    ASSERT_EQ(solver->unsuited(one), "");
    EXPECT_EQ(budget > 0, solver->draws()) << "none goes on for ever";
    const Result result = run(one, *solver, budget);
    const std::string name = solver->name();
    const bool fills_one = name == "one_device" || name == "m_topo";
    EXPECT_DOUBLE_EQ(result.best, fills_one ? 0.02 : 0.01) << name;
    EXPECT_EQ(result.best, result.metrics.front()) << name;
    EXPECT_LE(result.candidates, std::max<int64_t>(budget, 10)) << name;
    const Artifact artifact = one.write(*result.solution, name, directory_.path());
    EXPECT_THAT(read_file(directory_.path() + "/" + artifact.file), HasSubstr("placement/1"));
    solved.push_back({name, result.solution, artifact});
  }
  ASSERT_EQ(solved.size(), place_methods().size());
  const TaskDescription said = one.describe(solved);
  ASSERT_EQ(said.columns.front().second.size(), solved.size());
  EXPECT_EQ(said.columns.front().second.front(), "2.000") << "makespan over the bound";
  EXPECT_THAT(said.plots.front().svg, HasSubstr("<svg"));
}

TEST_F(PlacementKindTest, AnEpisodesBestIsASolution) {
  const auto all = tasks();
  const Task& one = *all->tasks().front();
  const auto environment = one.environment();
  environment->reset(0);
  environment->step({0, 1, 0});
  environment->step({1, 2, 0});
  const auto solution = one.solution(*environment);
  EXPECT_EQ(dynamic_cast<const PlacementSolution&>(*solution).placement.device,
            (std::vector<int>{0, 1}));
  EXPECT_TRUE(one.equal(*solution, *one.solution(*environment)));
}

TEST_F(PlacementKindTest, OnCoresPlacementsAreRunAndSolutionsMeasured) {
  const std::string model = directory_.path() + "/m.onnx";
  export_onnx(build_model("nasrnn", {.layers = 1, .hidden = 8}), {}, model);
  config_.inputs = {model};
  config_.of<PlacementConfig>().devices = "cores:1";
  EXPECT_EQ(environment_kind("placement").measured_on(config_, ""), "cores:1");
  EXPECT_EQ(make_environment(config_).environment->spec(),
            make_environment(config_).environment->spec())
      << "though costs are measured each time";
  const auto all = tasks();
  EXPECT_TRUE(all->spec().measurable);
  const Task& one = *all->tasks().front();
  EXPECT_THAT(solver_named("exact", "placement").unsuited(one),
              HasSubstr("by the simulator alone"));
  const Result result = run(one, solver_named("random", "placement"), 2);
  EXPECT_GT(result.best, 0);
  EXPECT_EQ(result.work.measurements, 2);
  const std::vector<std::shared_ptr<const Solution>> solutions{result.solution, result.solution};
  const Measurements measured = one.measure(solutions, 6);
  ASSERT_EQ(measured.results.size(), 2u);
  EXPECT_EQ(measured.results[0].gain_percent, 0);
  EXPECT_GT(measured.results[1].median, 0);
  EXPECT_EQ(measured.results[1].rounds, 6);
}

TEST_F(PlacementKindTest, WithFusionAllAreJudgedFused) {
  config_.inputs = {"generate:layers:100:1"};
  std::vector<double> best;
  for (const bool fusion : {false, true}) {
    config_.of<PlacementConfig>().environment.fusion = fusion;
    const auto all = tasks();
    best.push_back(run(*all->tasks().front(), solver_named("heft", "placement"), 5).best);
  }
  ASSERT_EQ(best.size(), 2u);
  EXPECT_LT(best[1], best[0]);
}

TEST_F(PlacementKindTest, ASolutionHoldsWhatAnEpisodeFused) {
  config_.inputs = {"generate:layers:100:1"};
  config_.of<PlacementConfig>().environment.fusion = true;
  config_.of<PlacementConfig>().environment.form = PlacementForm::kImproving;
  const auto all = tasks();
  const Task& one = *all->tasks().front();
  const auto environment = one.environment();
  environment->reset(0);
  const int fuse = environment->spec().no_op() - 1;
  while (environment->mask().total(fuse) > 0) {
    const ActionMask mask = environment->mask();
    int entity = 1;
    while (mask.at(fuse, entity) == 0) ++entity;
    environment->step({fuse, entity, 0});
  }
  const auto solution = one.solution(*environment);
  const Artifact artifact = one.write(*solution, "C", directory_.path());
  const TaskDescription said = one.describe(std::vector{Solved{"C", solution, artifact}});
  EXPECT_NEAR(said.details.front().at("makespan_ms").get<double>(), environment->info().best, 1e-9);
  const std::string json = read_file(directory_.path() + "/" + artifact.file);
  EXPECT_THAT(json, HasSubstr("+1\"")) << "the name of a fused node";
}

}  // namespace
}  // namespace reverie
