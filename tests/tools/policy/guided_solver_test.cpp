#include "tools/policy/guided_solver.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "controller/evaluate/evaluate.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/onnx/import.h"
#include "env/rewrite/rewrite_task.h"
#include "env/toy/toy_environment.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_policy.h"
#include "tools/policy/policy_method.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kMethods = {
    "no-op", "policy (greedy)", "policy (sampled)", "policy beam", "random", "greedy", "rulelist",
    "taso",  "saturation_ilp"};

EvaluationConfig quick() {
  EvaluationConfig config;
  config.seeds = 2;
  config.samples = 2;
  config.rounds = 3;
  return config;
}

/// A task of the tiny network under another file's name.
struct TinyTask {
  explicit TinyTask(const TaskPlan& plan = {3, Measuring::kAlways, 1}, const Graph* other = nullptr,
                    const ModelInfo& info = {}) {
    auto context = std::make_shared<RewriteTaskContext>();
    context->rules = tiny.rules;
    context->cost = tiny.cost;
    context->environment = tiny.env;
    context->how.verify_inputs = 1;
    context->plan = plan;
    ImportedModel model{other != nullptr ? *other : tiny.graph, info};
    start = std::make_unique<RewriteTask>("<tiny>.onnx", "tiny-2", std::move(model), context);
    tiny.save(directory / "policy.pt");
    policy = load_trained_policy(directory / "policy.pt");
  }

  StartReport evaluated(const EvaluationConfig& config, bool guided = true) {
    const EvaluationInputs inputs{policy, directory.path(), 3, SolverSettings("rewrite"),
                                  [this](const std::string& what) { said += what + "\n"; }};
    const GuidedSolver guide(policy, {});
    std::vector<ChosenSolver> solvers =
        chosen_solvers({"random", "greedy", "rulelist:5", "taso:20", "saturation_ilp"}, "rewrite");
    if (guided) solvers.insert(solvers.begin(), {&guide, guide.usual_budget()});
    return evaluate_start(*start, solvers, inputs, config);
  }

  TemporaryDirectory directory;
  testing::TinyPolicy tiny;
  TrainedPolicy policy;
  std::unique_ptr<RewriteTask> start;
  std::string said;
};

/// Everything on one model, once for all tests.
class EvaluateRewritingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scene_ = new TinyTask;
    report_ = new StartReport(scene_->evaluated(quick()));
  }
  static void TearDownTestSuite() {
    delete report_;
    delete scene_;
  }
  static TinyTask* scene_;
  static StartReport* report_;
};

TinyTask* EvaluateRewritingTest::scene_ = nullptr;
StartReport* EvaluateRewritingTest::report_ = nullptr;

TEST_F(EvaluateRewritingTest, EveryMethodRunsWithItsSeeds) {
  std::map<std::string, int> runs;
  for (const MethodRun& run : report_->runs) ++runs[run.method];
  ASSERT_EQ(report_->best.size(), kMethods.size());
  for (size_t i = 0; i < kMethods.size(); ++i) {
    EXPECT_EQ(report_->best[i].method, kMethods[i]);
    const bool draws =
        kMethods[i] == "policy (sampled)" || kMethods[i] == "random" || kMethods[i] == "rulelist";
    EXPECT_EQ(runs[kMethods[i]], draws ? 2 : 1) << kMethods[i];
  }
}

TEST_F(EvaluateRewritingTest, TheBestRunsAreVerifiedWrittenAndMeasured) {
  const auto& details = report_->described.details;
  ASSERT_EQ(details.size(), kMethods.size());
  for (size_t i = 0; i < details.size(); ++i) {
    const MethodBest& best = report_->best[i];
    EXPECT_LE(best.best, report_->initial) << best.method;
    const auto along = details[i].at("cost_ms_along").get<std::vector<double>>();
    EXPECT_EQ(along.size(), details[i].at("rewrites").array().size() + 1);
    EXPECT_DOUBLE_EQ(along.back(), best.best);
    EXPECT_GE(best.measured.rounds, 3);
    EXPECT_LE(best.measured.low, best.measured.high);
    if (along.size() == 1) continue;
    EXPECT_TRUE(best.artifact.verified.is_object()) << best.method;
    EXPECT_TRUE(file_exists(scene_->directory / best.artifact.file)) << best.method;
    EXPECT_THAT(best.artifact.file, HasSubstr("models/tiny-2."))
        << "not the file's name, which others may have";
  }
  EXPECT_LT(report_->best[5].best, report_->initial) << "greedy finds something";
}

TEST_F(EvaluateRewritingTest, SolversAreTheSearches) {
  const RewriteState start(scene_->tiny.graph, scene_->tiny.rules, scene_->start->cost());
  const auto best = [&](const Search& search, int64_t budget, uint64_t seed) {
    RewriteSearchOptions options;
    options.budget = budget;
    options.seed = seed;
    return search_rewrites(start, options, search).best_cost.runtime.milliseconds();
  };
  EXPECT_EQ(report_->best[5].best, best(search::Greedy(), 1, 0));
  EXPECT_EQ(report_->best[7].best, best(search::Taso(), 20, 0));
  search::Saturation saturation;
  saturation.solve = true;
  EXPECT_EQ(report_->best[8].best, best(saturation, 1, 0));
  const MethodRun& orders = report_->runs.at(report_->runs.size() - 3);
  ASSERT_EQ(orders.method, "rulelist");
  EXPECT_EQ(orders.seed, 4u);
  EXPECT_EQ(orders.best, best(search::RuleLists(), 5, 4));
}

TEST_F(EvaluateRewritingTest, ThePolicyGuidesTheBeamThatOptimizeRuns) {
  PolicySearchConfig config{.env = scene_->tiny.env};
  config.guided.search = PolicySearchKind::kBeam;
  RewriteSearchOptions options;
  options.budget = 100;
  options.seed = 3;
  const SearchResult expected =
      policy_method(scene_->policy, scene_->tiny.rules, scene_->start->cost(), config)(
          scene_->start->fresh_start(), options);
  EXPECT_EQ(report_->best[3].best, expected.best_cost.runtime.milliseconds());
  EXPECT_EQ(report_->best[3].budget, "100 expansions");
}

TEST_F(EvaluateRewritingTest, ThePolicyPlaysAsItDoesAsASearch) {
  const PolicySearchConfig sampled{.env = scene_->tiny.env, .greedy = false, .episodes = 2};
  const auto search =
      policy_method(scene_->policy, scene_->tiny.rules, scene_->start->cost(), sampled);
  const RewriteState start(scene_->tiny.graph, scene_->tiny.rules, scene_->start->cost());
  for (size_t i = 2; i < 4; ++i) {
    const MethodRun& run = report_->runs.at(i);
    ASSERT_EQ(run.method, "policy (sampled)");
    RewriteSearchOptions options;
    options.seed = run.seed;
    const SearchResult expected = search(start, options);
    EXPECT_EQ(run.best, expected.best_cost.runtime.milliseconds());
    EXPECT_EQ(run.steps, expected.steps);
  }
}

TEST_F(EvaluateRewritingTest, NoMethodLivesOnWhatAnotherLookedUp) {
  for (const MethodRun& run : report_->runs)
    if (run.method != "no-op" && run.method != "random") {
      EXPECT_GT(run.cost_lookups, 0) << run.method;
    }
}

TEST(EvaluateRewriting, EpisodesLastAsManyHorizonsAsItIsTold) {
  TinyTask usual({3, Measuring::kNever, 1}), longer({3, Measuring::kNever, 3});
  EXPECT_EQ(longer.start->environment()->spec().horizon,
            3 * usual.start->environment()->spec().horizon);
}

/// A network that ends with an operator nobody knows can be rewritten and verified, but not run.
TEST(EvaluateRewriting, WhatCannotBeRunIsNotMeasured) {
  Graph odd = testing::TinyPolicy().graph;
  const ValueId last = odd.outputs()[0].value;
  // A NodeProto of one input, one output, this op_type and domain.
  const std::string node =
      "\x0a\x01x\x12\x01y\x22\x03Odd\x3a\x06"
      "custom";
  const std::vector<TensorType> types = {odd.type(last)};
  const auto attributes = std::make_shared<const Attributes>(
      Attributes{{"op", std::string("Odd")}, {"domain", std::string("custom")}, {"proto", node}});
  odd.add_output("odd",
                 odd.output(odd.add_node(opaque_op(), std::span(&last, 1), attributes, types)));
  ModelInfo info;
  info.opset_imports["custom"] = 1;
  TinyTask scene({3, Measuring::kAlways, 1}, &odd, info);
  for (const MethodBest& best : scene.evaluated(quick(), false).best)
    EXPECT_EQ(best.measured.rounds, 0) << best.method;
  EXPECT_THAT(scene.said, HasSubstr("cannot run operators that are carried through untouched"));
  EXPECT_FALSE(std::filesystem::is_empty(scene.directory / "models"));
}

TEST(GuidedSolverTest, IsForRewritingAlone) {
  const auto tasks = plain_tasks(std::make_unique<ToyEnvironment>(ToyConfig{}), {});
  EXPECT_THAT(GuidedSolver({}, {}).unsuited(*tasks->tasks()[0]), HasSubstr("'rewrite' alone"));
  const TinyTask tiny;
  EXPECT_EQ(GuidedSolver({}, {}).unsuited(*tiny.start), "");
}

}  // namespace
}  // namespace reverie
