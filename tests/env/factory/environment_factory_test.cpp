#include "env/factory/environment_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/ir/structural_hash.h"
#include "core/ir/text.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EnvironmentFactory : public ::testing::Test {
 protected:
  EnvironmentFactory() {
    ModelOptions options;
    options.image = 32;
    options.width = 0.125;
    write_model(model_, options);
    config_.models = {model_};
    config_.rewrite.horizon = 4;
  }
  static void write_model(const std::string& path, const ModelOptions& options) {
    export_onnx(build_model("squeezenet1_1", options), {}, path);
  }
  std::string error() const {
    try {
      make_environment(config_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  /// Takes the first action that the mask allows, until a step measures.
  static double first_measured_reward(Environment& env) {
    for (;;) {
      const auto counts = env.mask().counts;
      int action = 0;
      while (counts[static_cast<size_t>(action)] == 0) ++action;
      const int64_t before = env.counters().measurements;
      const StepResult result = env.step({action, 0});
      if (env.counters().measurements > before || result.terminated) return result.reward;
    }
  }

  TemporaryDirectory directory_;
  std::string model_ = directory_ / "tiny.onnx";
  EnvironmentConfig config_;
};

TEST_F(EnvironmentFactory, MakesOneStartGraphOfEachModel) {
  std::filesystem::create_directory(directory_ / "other");
  const std::string other = directory_ / "other/tiny.onnx";
  std::filesystem::copy(model_, other);
  config_.models = {model_, other};
  config_.rewrite.region_nodes = 0;
  const MadeEnvironment made = make_environment(config_);
  EXPECT_THAT(made.graphs, ElementsAre("tiny", "tiny-2"));
  EXPECT_EQ(made.environment->spec().start_states, 2);
  EXPECT_EQ(made.environment->spec().horizon, 4);
  EXPECT_EQ(made.environment->spec().cost_source, "roofline:t4");
  EXPECT_EQ(made.environment->spec().fingerprint, RuleSet::builtin().fingerprint());
}

TEST_F(EnvironmentFactory, TextsOfStartGraphsReadBackWithElidedWeights) {
  const MadeEnvironment made = make_environment(config_);
  ASSERT_EQ(made.graph_texts.size(), 1u);
  EXPECT_THAT(made.graph_texts[0], HasSubstr("{weight="));
  EXPECT_TRUE(isomorphic(parse_graph(made.graph_texts[0]), import_onnx(model_).graph));
}

TEST_F(EnvironmentFactory, TheToyHasNoTensorProgram) {
  config_.models = {"toy"};
  const MadeEnvironment made = make_environment(config_);
  EXPECT_EQ(made.graphs.size(), static_cast<size_t>(made.environment->spec().start_states));
  EXPECT_TRUE(made.graph_texts.empty());
  EXPECT_EQ(made.environment->spec().horizon, 4);
}

TEST_F(EnvironmentFactory, SaysWhatIsWrong) {
  config_.models = {};
  EXPECT_THAT(error(), HasSubstr("no model"));
  config_.models = {"toy", model_};
  EXPECT_THAT(error(), HasSubstr("toy is an environment of its own"));
  config_.models = {directory_ / "missing.onnx"};
  EXPECT_THAT(error(), HasSubstr("missing.onnx"));
  config_.models = {model_};
  config_.cost = "roofline:abacus";
  EXPECT_THAT(error(), HasSubstr("abacus"));
  config_.cost = "roofline:t4";
  write_file(directory_ / "bad.rules", "rule x\nnonsense\n");
  config_.rules = {directory_ / "bad.rules"};
  EXPECT_THAT(error(), HasSubstr("bad.rules"));
}

TEST_F(EnvironmentFactory, MeasuredRewardsComeFromTheGivenFunction) {
  config_.rewrite.reward = RewardKind::kMeasuredEveryK;
  config_.rewrite.measure_every = 1;
  const auto fake = [](const Graph&, const Graph&) { return RelativeTime{0.8, 1}; };
  const MadeEnvironment made = make_environment(config_, fake);
  EXPECT_FALSE(made.environment->spec().deterministic);
  EXPECT_NEAR(first_measured_reward(*made.environment), 20, 1e-9);
}

TEST_F(EnvironmentFactory, MeasuredRewardsAreTimedOnTheProcessorOtherwise) {
  config_.rewrite.reward = RewardKind::kMeasuredEveryK;
  config_.rewrite.measure_every = 2;
  config_.measure = {.repeats = 2, .min_seconds = 0, .machine = {}};
  const MadeEnvironment made = make_environment(config_);
  const double reward = first_measured_reward(*made.environment);
  EXPECT_TRUE(std::isfinite(reward));
  EXPECT_NE(reward, 0) << "two timings that agree to the picosecond are no timings";
  EXPECT_LT(reward, 100) << "no graph runs in no time";
  EXPECT_EQ(made.environment->counters().measurements, 1);
}

TEST_F(EnvironmentFactory, AMachineThatIsNotThereIsRefusedOnceItIsNeeded) {
  config_.measure.machine = "abacus";
  const MadeEnvironment made = make_environment(config_);
  EXPECT_THROW(made.environment->measured_gain(), InputError);
  config_.rewrite.reward = RewardKind::kMeasuredEveryK;
  EXPECT_THAT(error(), HasSubstr("abacus"));
}

TEST_F(EnvironmentFactory, TheStartGainsNothingAndIsNotMeasured) {
  EXPECT_EQ(make_environment(config_).environment->measured_gain(), 0);
}

/// The first action that the mask allows, until the episode is over: the rewards.
std::vector<double> rewards_of_first_actions(Environment& env) {
  std::vector<double> rewards;
  for (bool over = false; !over;) {
    const auto counts = env.mask().counts;
    const auto first = std::find_if(counts.begin(), counts.end(), [](auto n) { return n > 0; });
    const StepResult step = env.step({static_cast<int>(first - counts.begin()), 0});
    rewards.push_back(step.reward);
    over = step.terminated || step.truncated;
  }
  return rewards;
}

TEST_F(EnvironmentFactory, ASymbolicEnvironmentDiffersInItsCostsAlone) {
  config_.rewrite.region_nodes = 8;
  const auto real = make_environment(config_).environment;
  const auto symbolic = make_symbolic_environment(config_, "roofline:cpu").environment;
  EnvSpec spec = symbolic->spec();
  EXPECT_EQ(spec.cost_source, "roofline:cpu");
  spec.cost_source = real->spec().cost_source;
  EXPECT_EQ(spec, real->spec());
  EXPECT_EQ(symbolic->mask(), real->mask());
  config_.cost = "roofline:cpu";
  EXPECT_EQ(rewards_of_first_actions(*symbolic),
            rewards_of_first_actions(*make_environment(config_).environment));
}

TEST_F(EnvironmentFactory, WhereGraphsAreMeasuredASymbolicEnvironmentSumsCostsAfterEveryStep) {
  config_.rewrite.reward = RewardKind::kMeasuredEveryK;
  config_.rewrite.measure_every = 3;
  const auto symbolic = make_symbolic_environment(config_, "roofline:cpu").environment;
  EXPECT_EQ(symbolic->spec().cost_source, "roofline:t4") << "what states show stays";
  const std::vector<double> rewards = rewards_of_first_actions(*symbolic);
  config_.rewrite.reward = RewardKind::kRuntime;
  config_.cost = "roofline:cpu";
  const std::vector<double> sums = rewards_of_first_actions(*make_environment(config_).environment);
  ASSERT_EQ(rewards.size(), 4u);
  for (size_t i = 0; i < rewards.size(); ++i) EXPECT_NEAR(rewards[i], sums[i], 1e-6);
  EXPECT_THAT(sums, ::testing::Contains(::testing::Ne(0.0)));
}

TEST_F(EnvironmentFactory, SaysWhatCannotBeDreamedSymbolically) {
  const auto refusal = [&](const std::string& cost) -> std::string {
    try {
      make_symbolic_environment(config_, cost);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(""), HasSubstr("dream.symbolic_cost"));
  EXPECT_THAT(refusal("roofline:abacus"), HasSubstr("abacus"));
  setenv("REVERIE_CACHE", directory_.path().c_str(), 1);
  EXPECT_THAT(refusal("cpu"), HasSubstr("'cpu' measures"));
  config_.models = {"toy"};
  EXPECT_THAT(refusal("roofline:cpu"), HasSubstr("toy has no costs"));
}

TEST_F(EnvironmentFactory, OtherRewardsMeasureNothing) {
  const auto never = [](const Graph&, const Graph&) -> RelativeTime { throw InputError("measured"); };
  const MadeEnvironment made = make_environment(config_, never);
  EXPECT_NO_THROW(made.environment->step({made.environment->spec().no_op(), 0}));
}

}  // namespace
}  // namespace reverie
