#include "env/kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/ir/structural_hash.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "env/adapt/adapt_config.h"
#include "env/placement/placement_config.h"
#include "env/rewrite/rewrite_config.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

class EnvironmentKinds : public ::testing::Test {
 protected:
  EnvironmentKinds() {
    ModelOptions options;
    options.image = 32;
    options.width = 0.125;
    write_model(model_, options);
    config_.inputs = {model_};
    config_.horizon = 4;
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
  static Action first_action(const ActionMask& mask) {
    int primary = 0;
    while (mask.total(primary) == 0) ++primary;
    return mask.choice(primary, 0);
  }
  /// Takes the first action that the mask allows, until a step measures.
  static double first_measured_reward(Environment& env) {
    for (;;) {
      const int64_t before = env.counters().measurements;
      const StepResult result = env.step(first_action(env.mask()));
      if (env.counters().measurements > before || result.terminated) return result.reward;
    }
  }
  /// The first action that the mask allows, until the episode is over: the rewards.
  static std::vector<double> rewards_of_first_actions(Environment& env) {
    std::vector<double> rewards;
    for (bool over = false; !over;) {
      const StepResult step = env.step(first_action(env.mask()));
      rewards.push_back(step.reward);
      over = step.terminated || step.truncated;
    }
    return rewards;
  }

  TemporaryDirectory directory_;
  std::string model_ = directory_ / "tiny.onnx";
  EnvironmentConfig config_;
};

std::vector<std::string> start_names(const EnvSpec& spec) {
  std::vector<std::string> names;
  for (const StartState& start : spec.starts) names.push_back(start.name);
  return names;
}

TEST_F(EnvironmentKinds, MakesOneStartGraphOfEachModel) {
  std::filesystem::create_directory(directory_ / "other");
  const std::string other = directory_ / "other/tiny.onnx";
  std::filesystem::copy(model_, other);
  config_.inputs = {model_, other};
  const auto environment = make_environment(config_).environment;
  const EnvSpec& spec = environment->spec();
  EXPECT_THAT(start_names(spec), ElementsAre("tiny", "tiny-2"));
  EXPECT_EQ(spec.starts[0].fingerprint, StructuralHash(import_onnx(model_).graph).value());
  EXPECT_EQ(spec.horizon, 4);
  EXPECT_EQ(spec.source, "roofline:t4");
  EXPECT_EQ(spec.actions.size(), static_cast<size_t>(RuleSet::builtin().size()) + 1);
  EXPECT_EQ(spec.actions[0], RuleSet::builtin().name(0));
}

TEST_F(EnvironmentKinds, KnowsItsKindsByName) {
  std::vector<std::string> names;
  for (const EnvironmentKind* kind : environment_kinds()) {
    names.emplace_back(kind->name());
    EXPECT_EQ(&environment_kind(names.back()), kind);
  }
  EXPECT_THAT(names, IsSupersetOf({"adapt", "knapsack", "placement", "rewrite", "toy"}));
  EXPECT_TRUE(std::ranges::is_sorted(names));
  config_.kind = "chess";
  EXPECT_EQ(error(),
            fmt::format("there is no environment 'chess'; known are {}", fmt::join(names, ", ")));
}

/// As it was written before sections came from the kinds.
constexpr char kYaml[] = R"(
kind: placement
inputs: [a.onnx, b.onnx]
horizon: 7
rewrite:
  dims: ["batch=1,seq=128"]
  cost: roofline:cpu
  reward: measured_every_k
  measure_every: 3
  measure:
    repeats: 4
adapt:
  reward: published
  train:
    batch: 16
placement:
  devices: 8xh100
  max_groups: 5
  form: improving
toy:
  blocks: 9
knapsack:
  items: 11
)";

void check_yaml(const EnvironmentConfig& config) {
  EXPECT_EQ(config.kind, "placement");
  EXPECT_THAT(config.inputs, ElementsAre("a.onnx", "b.onnx"));
  EXPECT_EQ(config.horizon, 7);
  const RewriteConfig& rewrite = config.of<RewriteConfig>();
  EXPECT_THAT(rewrite.dims, ElementsAre("batch=1,seq=128"));
  EXPECT_EQ(rewrite.cost, "roofline:cpu");
  EXPECT_EQ(rewrite.environment.reward, RewardKind::kMeasuredEveryK);
  EXPECT_EQ(rewrite.environment.measure_every, 3);
  EXPECT_EQ(rewrite.measure.repeats, 4);
  EXPECT_EQ(rewrite.measure.min_seconds, RewriteConfig().measure.min_seconds);
  EXPECT_EQ(config.of<AdaptConfig>().reward, AdaptReward::kPublished);
  EXPECT_EQ(config.of<AdaptConfig>().train.batch, 16);
  const PlacementConfig& placement = config.of<PlacementConfig>();
  EXPECT_EQ(placement.devices, "8xh100");
  EXPECT_EQ(placement.max_groups, 5);
  EXPECT_EQ(placement.environment.form, PlacementForm::kImproving);
  EXPECT_EQ(config.of<ToyConfig>().blocks, 9);
  EXPECT_EQ(config.of<KnapsackConfig>().items, 11);
}

TEST(EnvironmentConfigTest, IsWhatItsYamlSays) {
  check_yaml(environment_from(kYaml));
  check_yaml(environment_from(dump_config(environment_from(kYaml))));
  EXPECT_EQ(dump_config(environment_from("")), dump_config(EnvironmentConfig()));
}

TEST(EnvironmentConfigTest, AnUnknownKeyIsRefusedWithTheNearest) {
  const auto refusal = [](const std::string& yaml) -> std::string {
    try {
      environment_from(yaml);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("rewrite: {cots: roofline:t4}"),
              HasSubstr("unknown key 'rewrite.cots'; did you mean 'rewrite.cost'?"));
  EXPECT_THAT(refusal("placement: {device: 8xh100}"), HasSubstr("'placement.devices'?"));
  EXPECT_THAT(refusal("adapt: {train: {batches: 3}}"), HasSubstr("'adapt.train.batch'?"));
  EXPECT_THAT(refusal("toys: {blocks: 3}"), HasSubstr("unknown key 'toys'; did you mean 'toy'?"));
  EXPECT_THAT(refusal("placement: {max_groups: 0}"), HasSubstr("placement.max_groups"));
}

TEST(EnvironmentConfigTest, CopiesAreIndependent) {
  const EnvironmentConfig given = environment_from(kYaml);
  EnvironmentConfig copy = given, assigned;
  assigned = given;
  for (EnvironmentConfig* other : {&copy, &assigned}) {
    check_yaml(*other);
    other->of<RewriteConfig>().dims.clear();
    other->of<RewriteConfig>().measure.repeats = 1;
    other->of<PlacementConfig>().devices = "other";
    other->of<AdaptConfig>().train.batch = 1;
    ConfigFields(*other).set("toy.blocks=2");
    EXPECT_EQ(other->of<ToyConfig>().blocks, 2);
  }
  check_yaml(given);
  const EnvironmentConfig moved = std::move(copy);
  EXPECT_EQ(moved.of<PlacementConfig>().devices, "other");
}

TEST(TaskConfigTest, HasTheSectionsOfKindsThatNeedOne) {
  TaskConfig config;
  ConfigFields(config).load_text("rewrite: {verify_inputs: 5}", "a test");
  EXPECT_EQ(config.of<RewriteTaskConfig>().verify_inputs, 5);
  EXPECT_THROW(ConfigFields(config).load_text("toy: {}", "a test"), InputError);
}

TEST_F(EnvironmentKinds, OptionsStandForKeysOfTheConfiguration) {
  const ConfigFields fields(config_);
  for (const EnvironmentKind* kind : environment_kinds())
    for (const CommandOption& option : kind->options()) {
      EXPECT_THAT(option.flag, ::testing::StartsWith("--"));
      ASSERT_THAT(option.key, ::testing::StartsWith("env."));
      EXPECT_TRUE(fields.has(option.key.substr(4))) << option.flag;
      EXPECT_FALSE(option.help.empty());
    }
}

TEST_F(EnvironmentKinds, SmallKindsFollowTheirSections) {
  config_.inputs = {};
  config_.kind = "toy";
  config_.of<ToyConfig>() = {.blocks = 2, .start_states = 5, .entities = true};
  const auto toy = make_environment(config_).environment;
  toy->reset(0);
  EXPECT_EQ(toy->spec().start_states(), 5);
  EXPECT_EQ(toy->spec().horizon, 4);
  EXPECT_EQ(toy->mask().entities, 2);
  config_.kind = "knapsack";
  config_.of<KnapsackConfig>() = {.items = 6, .start_states = 2};
  config_.horizon = 0;
  const auto knapsack = make_environment(config_).environment;
  knapsack->reset(1);
  EXPECT_EQ(knapsack->mask().entities, 8);
  EXPECT_EQ(knapsack->spec().horizon, 14);
}

TEST_F(EnvironmentKinds, SmallKindsTakeNoInputsAndHaveNoOtherSource) {
  for (const char* name : {"toy", "knapsack"}) {
    config_.kind = name;
    EXPECT_THAT(error(), HasSubstr(fmt::format("{} takes no inputs", name)));
    const EnvironmentKind& kind = environment_kind(name);
    EXPECT_TRUE(kind.inputs().empty());
    EXPECT_EQ(kind.measured_on(config_, "cpu"), "");
    EXPECT_THROW(kind.make_by(config_, "cpu"), InputError);
    EXPECT_THROW(kind.make_known(config_, "cpu"), InputError);
  }
}

TEST_F(EnvironmentKinds, AnotherSourceChangesTheCostsAlone) {
  const auto other = environment_kind("rewrite").make_by(config_, "roofline:cpu").environment;
  EnvSpec spec = other->spec();
  EXPECT_EQ(spec.source, "roofline:cpu");
  spec.source = "roofline:t4";
  const auto one = make_environment(config_).environment;
  EXPECT_EQ(spec, one->spec());
  EXPECT_NE(other->info().metrics[0], one->info().metrics[0]);
  EXPECT_EQ(other->info().metrics[1], one->info().metrics[1]) << "FLOPs";
}

TEST_F(EnvironmentKinds, SaysWhatIsWrong) {
  config_.inputs = {};
  EXPECT_THAT(error(), HasSubstr("no model"));
  config_.inputs = {directory_ / "missing.onnx"};
  EXPECT_THAT(error(), HasSubstr("missing.onnx"));
  config_.inputs = {model_};
  config_.of<RewriteConfig>().cost = "roofline:abacus";
  EXPECT_THAT(error(), HasSubstr("abacus"));
  config_.of<RewriteConfig>().cost = "roofline:t4";
  write_file(directory_ / "bad.rules", "rule x\nnonsense\n");
  config_.of<RewriteConfig>().rules = {directory_ / "bad.rules"};
  EXPECT_THAT(error(), HasSubstr("bad.rules"));
}

TEST_F(EnvironmentKinds, MeasuredRewardsAreTimedOnTheProcessor) {
  config_.of<RewriteConfig>().environment.reward = RewardKind::kMeasuredEveryK;
  config_.of<RewriteConfig>().environment.measure_every = 2;
  config_.of<RewriteConfig>().measure = {.repeats = 2, .min_seconds = 0, .machine = {}};
  const MadeEnvironment made = make_environment(config_);
  const double reward = first_measured_reward(*made.environment);
  EXPECT_TRUE(std::isfinite(reward));
  EXPECT_NE(reward, 0) << "two timings that agree to the picosecond are no timings";
  EXPECT_LT(reward, 100) << "no graph runs in no time";
  EXPECT_EQ(made.environment->counters().measurements, 1);
}

TEST_F(EnvironmentKinds, AMachineThatIsNotThereIsRefusedOnceItIsNeeded) {
  config_.of<RewriteConfig>().measure.machine = "abacus";
  const MadeEnvironment made = make_environment(config_);
  EXPECT_THROW(made.environment->measured_gain(), InputError);
  config_.of<RewriteConfig>().environment.reward = RewardKind::kMeasuredEveryK;
  EXPECT_THAT(error(), HasSubstr("abacus"));
}

TEST_F(EnvironmentKinds, TheStartGainsNothingAndIsNotMeasured) {
  EXPECT_EQ(make_environment(config_).environment->measured_gain(), 0);
}

TEST_F(EnvironmentKinds, AKnownEnvironmentDiffersInItsCostsAlone) {
  config_.of<RewriteConfig>().environment.region_nodes = 8;
  const auto real = make_environment(config_).environment;
  const auto known = environment_kind("rewrite").make_known(config_, "roofline:cpu").environment;
  EnvSpec spec = known->spec();
  EXPECT_EQ(spec.source, "roofline:cpu");
  spec.source = real->spec().source;
  EXPECT_EQ(spec, real->spec());
  EXPECT_EQ(known->mask(), real->mask());
  config_.of<RewriteConfig>().cost = "roofline:cpu";
  EXPECT_EQ(rewards_of_first_actions(*known),
            rewards_of_first_actions(*make_environment(config_).environment));
}

TEST_F(EnvironmentKinds, WhereGraphsAreMeasuredAKnownEnvironmentSumsCostsAfterEveryStep) {
  config_.of<RewriteConfig>().environment.reward = RewardKind::kMeasuredEveryK;
  config_.of<RewriteConfig>().environment.measure_every = 3;
  const auto known = environment_kind("rewrite").make_known(config_, "roofline:cpu").environment;
  EXPECT_EQ(known->spec().source, "roofline:t4") << "what states show stays";
  const std::vector<double> rewards = rewards_of_first_actions(*known);
  config_.of<RewriteConfig>().environment.reward = RewardKind::kRuntime;
  config_.of<RewriteConfig>().cost = "roofline:cpu";
  const std::vector<double> sums = rewards_of_first_actions(*make_environment(config_).environment);
  ASSERT_EQ(rewards.size(), 4u);
  for (size_t i = 0; i < rewards.size(); ++i) EXPECT_NEAR(rewards[i], sums[i], 1e-6);
  EXPECT_THAT(sums, ::testing::Contains(::testing::Ne(0.0)));
}

TEST_F(EnvironmentKinds, SaysWhatRewardsAreNotKnown) {
  const auto refusal = [&](const std::string& cost) -> std::string {
    try {
      environment_kind("rewrite").make_known(config_, cost);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(""), "accepted");
  EXPECT_THAT(refusal("roofline:abacus"), HasSubstr("abacus"));
  setenv("REVERIE_CACHE", directory_.path().c_str(), 1);
  EXPECT_THAT(refusal("cpu"), HasSubstr("'cpu' measures"));
}

TEST_F(EnvironmentKinds, OtherRewardsMeasureNothing) {
  const auto environment = make_environment(config_).environment;
  rewards_of_first_actions(*environment);
  EXPECT_EQ(environment->counters().measurements, 0);
}

TEST(KindsWithoutInputs, HaveATaskForEachStart) {
  int kinds = 0;
  for (const EnvironmentKind* kind : environment_kinds()) {
    if (!kind->inputs().empty()) continue;
    ++kinds;
    EnvironmentConfig config;
    config.kind = kind->name();
    const auto tasks = kind->tasks(config, {}, {1, Measuring::kAlways, 1});
    const auto longer = kind->tasks(config, {}, {1, Measuring::kAlways, 2});
    ASSERT_THAT(tasks->tasks(), SizeIs(static_cast<size_t>(tasks->spec().start_states())));
    EXPECT_EQ(longer->spec().horizon, 2 * tasks->spec().horizon);
    for (size_t i = 0; i < tasks->tasks().size(); ++i) {
      const Task& one = *tasks->tasks()[i];
      EXPECT_EQ(one.environment()->spec().starts, std::vector{tasks->spec().starts[i]});
      EXPECT_EQ(one.solution(*one.environment()), nullptr);
    }
  }
  EXPECT_GE(kinds, 2);
}

TEST(GraphName, IsThatOfTheFileAndTakenOnce) {
  EXPECT_EQ(graph_name("models/vgg.16.onnx", {}), "vgg.16");
  EXPECT_EQ(graph_name("vgg.onnx", {"vgg", "vgg-2"}), "vgg-3");
}

}  // namespace
}  // namespace reverie
