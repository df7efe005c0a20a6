#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/cost/table.h"
#include "core/ir/text.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "core/onnx/symbols.h"
#include "env/registry/rewrite_evaluation.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Evaluation, OfEveryKindWithoutInputsHasACaseForEachStart) {
  int kinds = 0;
  for (const EnvironmentKind* kind : environment_kinds()) {
    if (!kind->inputs().empty()) continue;
    ++kinds;
    EnvironmentConfig config;
    config.kind = kind->name();
    const auto cases = kind->evaluation(config, {}, {1, true, 1});
    const auto longer = kind->evaluation(config, {}, {1, true, 2});
    ASSERT_THAT(cases->cases(), SizeIs(static_cast<size_t>(cases->spec().start_states())));
    EXPECT_EQ(longer->spec().horizon, 2 * cases->spec().horizon);
    for (size_t i = 0; i < cases->cases().size(); ++i) {
      const EvaluationCase& one = *cases->cases()[i];
      EXPECT_EQ(one.make()->spec().starts, std::vector{cases->spec().starts[i]});
      EXPECT_THAT(one.baselines(), SizeIs(2));
      EXPECT_EQ(one.solution(*one.make()), nullptr);
    }
  }
  EXPECT_GE(kinds, 2);
}

class RewriteEvaluationTest : public ::testing::Test {
 protected:
  RewriteEvaluationTest() {
    ModelOptions options;
    options.image = 32;
    options.width = 0.125;
    create_directory(directory_ / "other");
    for (const std::string& path : {directory_ / "tiny.onnx", directory_ / "other/tiny.onnx"}) {
      export_onnx(build_model("squeezenet1_1", options), {}, path);
      config_.inputs.push_back(path);
    }
    how_.rewrite.verify_inputs = 1;
  }
  std::unique_ptr<EvaluationCases> cases(const EvaluationPlan& plan = {}) const {
    return environment_kind("rewrite").evaluation(config_, how_, plan);
  }
  static MethodResult run(const EvaluationCase& one, const std::string& name) {
    for (const EvaluationMethod& method : one.baselines())
      if (method.name == name) return method.run({1, 0});
    throw InternalError("no baseline of this name");
  }

  TemporaryDirectory directory_;
  EnvironmentConfig config_;
  KindEvaluationConfig how_;
};

TEST_F(RewriteEvaluationTest, HasACaseForEachModelUnderANameOfItsOwn) {
  const auto all = cases();
  ASSERT_THAT(all->cases(), SizeIs(2));
  EXPECT_EQ(all->spec().starts[0].name, "tiny");
  EXPECT_EQ(all->spec().starts[1].name, "tiny-2");
  EXPECT_EQ(all->cases()[1]->make()->spec().starts, std::vector{all->spec().starts[1]});
  std::vector<std::string> names;
  for (const EvaluationMethod& method : all->cases()[0]->baselines()) names.push_back(method.name);
  EXPECT_THAT(names, ElementsAre("random", "greedy", "rule list", "taso"));
  EXPECT_THAT(all->sentences(), ::testing::Contains("Estimated costs are by roofline:t4."));
}

TEST_F(RewriteEvaluationTest, AnEpisodesBestGraphIsItsSolution) {
  const auto all = cases();
  const EvaluationCase& one = *all->cases()[0];
  const auto environment = one.make();
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

TEST_F(RewriteEvaluationTest, AResultIsComparedAndWritten) {
  const auto all = cases();
  const EvaluationCase& one = *all->cases()[1];
  const MethodResult greedy = run(one, "greedy");
  const Artifact artifact = one.write(*greedy.solution, "policy (greedy)", directory_.path());
  EXPECT_EQ(artifact.file, "models/tiny-2.policy-greedy.onnx");
  EXPECT_TRUE(file_exists(directory_ / artifact.file));
  EXPECT_EQ(artifact.verified.at("inputs").get<int>(), 1);
  const CaseDescription said =
      one.describe(std::vector<FinishedMethod>{{"greedy", greedy.solution, artifact}});
  const auto& rewritten = dynamic_cast<const RewriteSolution&>(*greedy.solution);
  EXPECT_EQ(said.columns[0].second.at(0), std::to_string(rewritten.rewrites.size()));
  EXPECT_EQ(said.details[0].at("cost_ms_along").array().size(), rewritten.rewrites.size() + 1);
  EXPECT_DOUBLE_EQ(said.details[0].at("cost_ms_along").array().back().get<double>(), greedy.best);
}

TEST_F(RewriteEvaluationTest, CostsOfWhatRunsAreSaidWhereTheSourceFuses) {
  const auto sentences = [&] {
    const auto all = cases();
    const MethodResult greedy = run(*all->cases()[0], "greedy");
    return all->cases()[0]
        ->describe(std::vector<FinishedMethod>{{"greedy", greedy.solution, {}}})
        .sentences;
  };
  CostTable table{.device = "some", .library = "some", .driver = "", .profile = "h200"};
  const auto says_it =
      ::testing::Contains(HasSubstr("As the machine runs them, fused, the original"));
  for (const bool fuses : {false, true}) {
    if (fuses) table.entries["Pointwise(float32 8) {program=\"y = Relu(x0)\"}"].runtime = {1000};
    write_cost_table(directory_ / "costs.h5", table);
    config_.rewrite.cost = "table:" + (directory_ / "costs.h5");
    if (fuses)
      EXPECT_THAT(sentences(), says_it);
    else
      EXPECT_THAT(sentences(), ::testing::Not(says_it));
  }
}

TEST_F(RewriteEvaluationTest, AWrongResultIsRefused) {
  const auto all = cases();
  const EvaluationCase& one = *all->cases()[0];
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
class SymbolicEvaluationTest : public RewriteEvaluationTest {
 protected:
  SymbolicEvaluationTest() {
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
    config_.rewrite.shapes = {"x=1,4"};
  }
  /// Writes Relu of x, summed over its rows or not, as the result of greedy.
  FinishedMethod written(const EvaluationCase& one, bool summed) const {
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

TEST_F(SymbolicEvaluationTest, DimensionsStaySymbolicWhereTheResultHoldsForOthers) {
  const auto all = cases();
  const FinishedMethod greedy = written(*all->cases()[0], true);
  EXPECT_THAT(symbols_in(greedy.artifact), ElementsAre("batch", "n"));
  EXPECT_EQ(greedy.artifact.verified.find("fixed_dimensions"), nullptr);
  for (const std::string& sentence : all->cases()[0]->describe(std::vector{greedy}).sentences)
    EXPECT_THAT(sentence, ::testing::Not(HasSubstr("symbolic")));
}

TEST_F(SymbolicEvaluationTest, DimensionsThatAreFixedAreNamed) {
  const auto all = cases();
  const FinishedMethod greedy = written(*all->cases()[0], false);
  EXPECT_THAT(symbols_in(greedy.artifact), ElementsAre("n"));
  EXPECT_EQ(greedy.artifact.verified.at("fixed_dimensions").dump(), "[\"batch\"]");
  EXPECT_THAT(all->cases()[0]->describe(std::vector{greedy}).sentences,
              ::testing::Contains(
                  HasSubstr("'batch' is symbolic in the original; it is fixed to the extent "
                            "assumed for it in the files of greedy.")));
}

TEST_F(RewriteEvaluationTest, ARewardThatMeasuresIsReplaced) {
  config_.rewrite.environment.reward = RewardKind::kMeasuredEveryK;
  const auto all = cases();
  const auto environment = all->cases()[0]->make();
  EXPECT_TRUE(environment->spec().deterministic);
  EXPECT_FALSE(environment->spec().measurable);
}

TEST_F(RewriteEvaluationTest, SaysWhatIsWrong) {
  how_.rewrite.machine = "nowhere";
  EXPECT_NO_THROW(cases({1, false, 1}));
  EXPECT_THROW(cases({1, true, 1}), InputError);
  config_.inputs.clear();
  EXPECT_THROW(cases(), InputError);
}

}  // namespace
}  // namespace reverie
