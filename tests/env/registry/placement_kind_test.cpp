#include "env/registry/placement_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "env/registry/placement_evaluation.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

class PlacementRegistry : public ::testing::Test {
 protected:
  PlacementRegistry() {
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

  TemporaryDirectory directory_;
  std::string graph_ = directory_.path() + "/two.json";
  EnvironmentConfig config_;
};

TEST_F(PlacementRegistry, TakesGraphsFromFilesAndSyntheticOnes) {
  config_.inputs.push_back("generate:layers:200:1");
  const MadeEnvironment made = make_environment(config_);
  ASSERT_EQ(made.environment->spec().start_states(), 2);
  EXPECT_EQ(made.environment->spec().starts[0].name, "two");
  made.environment->reset(1);
  EXPECT_LE(made.environment->mask().entities, config_.placement.max_groups + 1);
}

TEST_F(PlacementRegistry, SaysWhichInputIsWrong) {
  config_.inputs = {};
  EXPECT_THAT(error(), HasSubstr("no graph"));
  config_.inputs = {"graph.txt"};
  EXPECT_THAT(error(), HasSubstr("graph.txt: is no graph to place"));
  config_.inputs = {graph_};
  config_.placement.devices = "8xh100";
  EXPECT_THAT(error(), HasSubstr("no costs on devices of kind 'h100'"));
}

TEST_F(PlacementRegistry, ComparesWithAllMethodsAndWritesPlacements) {
  const auto cases = placement_kind().evaluation(config_, {}, {});
  ASSERT_EQ(cases->cases().size(), 1u);
  const EvaluationCase& one = *cases->cases().front();
  std::vector<FinishedMethod> finished;
  for (const EvaluationMethod& method : one.baselines()) {
    const MethodResult result = method.run({.seed = 1});
    const bool fills_one = method.name == "one_device" || method.name == "m_topo";
    EXPECT_DOUBLE_EQ(result.best, fills_one ? 0.02 : 0.01) << method.name;
    EXPECT_LE(result.candidates, PlacementEvaluationConfig().evaluations);
    const Artifact artifact = one.write(*result.solution, method.name, directory_.path());
    EXPECT_THAT(read_file(directory_.path() + "/" + artifact.file), HasSubstr("placement/1"));
    finished.push_back({method.name, result.solution, artifact});
  }
  const CaseDescription said = one.describe(finished);
  ASSERT_EQ(said.columns.front().second.size(), finished.size());
  EXPECT_EQ(said.columns.front().second.front(), "2.000") << "makespan over the bound";
  EXPECT_THAT(said.plots.front(), HasSubstr("<svg"));
}

TEST_F(PlacementRegistry, AnEpisodesBestIsASolution) {
  const auto cases = placement_kind().evaluation(config_, {}, {});
  const EvaluationCase& one = *cases->cases().front();
  const auto environment = one.make();
  environment->reset(0);
  environment->step({0, 1, 0});
  environment->step({1, 2, 0});
  const auto solution = one.solution(*environment);
  EXPECT_EQ(dynamic_cast<const PlacementSolution&>(*solution).placement.device,
            (std::vector<int>{0, 1}));
  EXPECT_TRUE(one.equal(*solution, *one.solution(*environment)));
}

TEST_F(PlacementRegistry, OnCoresPlacementsAreRunAndSolutionsMeasured) {
  const std::string model = directory_.path() + "/m.onnx";
  export_onnx(build_model("nasrnn", {.layers = 1, .hidden = 8}), {}, model);
  config_.inputs = {model};
  config_.placement.devices = "cores:1";
  EXPECT_EQ(placement_kind().measured_on(config_, ""), "cores:1");
  EXPECT_EQ(make_environment(config_).environment->spec(),
            make_environment(config_).environment->spec())
      << "though costs are measured each time";
  KindEvaluationConfig how;
  how.placement.evaluations = 2;
  const auto cases = placement_kind().evaluation(config_, how, {});
  EXPECT_TRUE(cases->spec().measurable);
  const EvaluationCase& one = *cases->cases().front();
  std::vector<std::shared_ptr<const Solution>> solutions;
  for (const EvaluationMethod& method : one.baselines()) {
    EXPECT_NE(method.name, "exact");
    if (method.name != "random") continue;
    const MethodResult result = method.run({.seed = 1});
    EXPECT_GT(result.best, 0);
    EXPECT_EQ(result.work.measurements, 2);
    solutions = {result.solution, result.solution};
  }
  const Measurements measured = one.measure(solutions, 6);
  ASSERT_EQ(measured.results.size(), 2u);
  EXPECT_EQ(measured.results[0].gain_percent, 0);
  EXPECT_GT(measured.results[1].median, 0);
  EXPECT_EQ(measured.results[1].rounds, 6);
}

TEST_F(PlacementRegistry, WithFusionAllAreJudgedFused) {
  config_.inputs = {"generate:layers:100:1"};
  KindEvaluationConfig how;
  how.placement.evaluations = 5;
  std::vector<double> best;
  for (const bool fusion : {false, true}) {
    config_.placement.environment.fusion = fusion;
    const auto cases = placement_kind().evaluation(config_, how, {});
    for (const EvaluationMethod& method : cases->cases().front()->baselines())
      if (method.name == "heft") best.push_back(method.run({.seed = 1}).best);
  }
  ASSERT_EQ(best.size(), 2u);
  EXPECT_LT(best[1], best[0]);
}

TEST_F(PlacementRegistry, ASolutionHoldsWhatAnEpisodeFused) {
  config_.inputs = {"generate:layers:100:1"};
  config_.placement.environment.fusion = true;
  config_.placement.environment.form = PlacementForm::kImproving;
  const auto cases = placement_kind().evaluation(config_, {}, {});
  const EvaluationCase& one = *cases->cases().front();
  const auto environment = one.make();
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
  const CaseDescription said = one.describe(std::vector{FinishedMethod{"C", solution, artifact}});
  EXPECT_NEAR(said.details.front().at("makespan_ms").get<double>(), environment->info().best, 1e-9);
  const std::string json = read_file(directory_.path() + "/" + artifact.file);
  EXPECT_THAT(json, HasSubstr("+1\"")) << "the name of a fused node";
}

}  // namespace
}  // namespace reverie
