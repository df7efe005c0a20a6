#include "controller/evaluate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "controller/report/report.h"
#include "core/report/svg.h"
#include "core/base/files.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_policy.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kMethods = {"no-op", "policy (greedy)", "policy (sampled)",
                                           "policy beam", "policy mcts", "random", "greedy",
                                           "rule list", "taso"};

/// The untrained policy held against all searches, once for all tests.
class EvaluateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scene_ = new Scene;
    scene_->report.policy_file = "<policy> & \"co\".pt";
    scene_->report.cost_source = "roofline:t4";
    for (int i = 0; i < scene_->tiny.rules->size(); ++i)
      scene_->report.rules.push_back(scene_->tiny.rules->name(i));
    scene_->report.models.push_back(evaluated(scene_->directory, scene_->tiny.env, quick()));
    for (int update = 0; update < 3; ++update)
      scene_->report.learning.push_back(
          {update, {{"train/return", update}, {"real/dream_return", 2.0 * update},
                    {"real/sampled_return", 1.5}, {"real/score", 1.0 * update}}});
  }
  static void TearDownTestSuite() { delete scene_; }

  static EvaluationConfig quick() {
    EvaluationConfig config;
    config.seeds = 2;
    config.samples = 2;
    config.taso_budget = 20;
    config.rule_orders = 5;
    config.repeats = 3;
    config.verify_inputs = 1;
    config.guided = true;
    return config;
  }

  static ModelReport evaluated(const TemporaryDirectory& directory, const RewriteEnvConfig& env,
                               const EvaluationConfig& config) {
    return evaluated(directory, scene_->tiny.graph, {}, env, config);
  }
  static ModelReport evaluated(const TemporaryDirectory& directory, const Graph& graph, const ModelInfo& info,
                               const RewriteEnvConfig& env, const EvaluationConfig& config) {
    scene_->tiny.save(directory / "policy.pt");
    create_directory(directory / "models");
    const ImportedModel model{graph, info};
    const EvaluationInputs inputs{"<tiny>.onnx", "tiny-2", model, scene_->tiny.rules, scene_->tiny.cost,
                                  load_trained_policy(directory / "policy.pt"),
                                  env, directory.path(), 3,
                                  [](const std::string&) {}};
    return evaluate_model(inputs, config);
  }

  const ModelReport& model() const { return scene_->report.models.front(); }
  const EvaluationReport& report() const { return scene_->report; }

  struct Scene {
    TemporaryDirectory directory;
    testing::TinyPolicy tiny;
    EvaluationReport report;
  };
  static Scene* scene_;
};

EvaluateTest::Scene* EvaluateTest::scene_ = nullptr;

TEST_F(EvaluateTest, EveryMethodRunsWithItsSeeds) {
  std::map<std::string, int> runs;
  for (const MethodRun& run : model().runs) ++runs[run.method];
  ASSERT_EQ(model().best.size(), kMethods.size());
  for (size_t i = 0; i < kMethods.size(); ++i) {
    EXPECT_EQ(model().best[i].method, kMethods[i]);
    const bool draws = kMethods[i] == "policy (sampled)" || kMethods[i] == "random" ||
                       kMethods[i] == "rule list";
    EXPECT_EQ(runs[kMethods[i]], draws ? 2 : 1) << kMethods[i];
  }
}

TEST_F(EvaluateTest, TheBestRunsAreVerifiedWrittenAndMeasured) {
  for (const MethodBest& best : model().best) {
    EXPECT_LE(best.cost.runtime, model().initial.runtime) << best.method;
    EXPECT_EQ(best.cost_ms.size(), best.rewrites.size() + 1);
    EXPECT_DOUBLE_EQ(best.cost_ms.back(), best.cost.runtime.milliseconds());
    EXPECT_GE(best.measured.repeats, 3);
    EXPECT_LE(best.measured.low, best.measured.high);
    for (const MethodRun& run : model().runs)
      if (run.method == best.method) { EXPECT_GE(run.best_cost.runtime, best.cost.runtime); }
    if (best.rewrites.empty()) continue;
    EXPECT_TRUE(best.verified.agree) << best.method;
    EXPECT_TRUE(file_exists(scene_->directory / best.file)) << best.method;
    EXPECT_THAT(best.file, HasSubstr("models/tiny-2.")) << "not the file's name, which others may have";
  }
  EXPECT_LT(model().best[6].cost.runtime, model().initial.runtime) << "greedy finds something";
}

TEST_F(EvaluateTest, EpisodesLastAsManyHorizonsAsItIsTold) {
  RewriteEnvConfig env = scene_->tiny.env;
  env.horizon = 1;
  EvaluationConfig config = quick();
  config.measure = false;
  config.guide.horizons = 3;
  const TemporaryDirectory directory;
  int64_t most = 0;
  for (const MethodRun& run : evaluated(directory, env, config).runs)
    if (run.method == "policy (sampled)") most = std::max(most, run.steps);
  EXPECT_GT(most, config.samples);
  EXPECT_LE(most, 3 * config.samples);
}

TEST_F(EvaluateTest, NoMethodLivesOnWhatAnotherLookedUp) {
  for (const MethodRun& run : model().runs)
    if (run.method != "no-op" && run.method != "random") { EXPECT_GT(run.cost_lookups, 0) << run.method; }
}

TEST_F(EvaluateTest, AllFilesAreWritten) {
  write_report(report(), scene_->directory.path());
  EXPECT_EQ(read_file(scene_->directory / "report.json"), report_json(report()));
  EXPECT_EQ(read_file(scene_->directory / "report.md"), report_markdown(report()));
  EXPECT_EQ(read_file(scene_->directory / "report.html"), report_html(report()));
}

/// A network that ends with an operator nobody knows can be rewritten and verified, but not run.
TEST_F(EvaluateTest, WhatCannotBeRunIsNotMeasured) {
  Graph odd = scene_->tiny.graph;
  const ValueId last = odd.outputs()[0].value;
  // A NodeProto of one input, one output, this op_type and domain.
  const std::string node = "\x0a\x01x\x12\x01y\x22\x03Odd\x3a\x06" "custom";
  const std::vector<TensorType> types = {odd.type(last)};
  const auto attributes = std::make_shared<const Attributes>(
      Attributes{{"op", std::string("Odd")}, {"domain", std::string("custom")}, {"proto", node}});
  odd.add_output("odd", odd.output(odd.add_node(opaque_op(), std::span(&last, 1), attributes, types)));
  ModelInfo info;
  info.opset_imports["custom"] = 1;
  TemporaryDirectory directory;
  EvaluationConfig config = quick();
  ASSERT_TRUE(config.measure);
  const ModelReport model = evaluated(directory, odd, info, scene_->tiny.env, config);
  for (const MethodBest& best : model.best) EXPECT_EQ(best.measured.repeats, 0) << best.method;
  EXPECT_FALSE(std::filesystem::is_empty(directory / "models"));
}

}  // namespace
}  // namespace reverie
