#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "core/base/files.h"
#include "core/base/random.h"
#include "core/ir/text.h"
#include "core/onnx/export.h"
#include "env/kind.h"
#include "env/placement/placement_config.h"
#include "env/rewrite/rewrite_config.h"
#include "env/toy/toy_environment.h"
#include "tests/support/random_actions.h"
#include "tests/support/temporary_directory.h"

/// One seeded episode of each kind of environment, as a text that a person can read and a test
/// compares: what a change of code does to an environment shows there.
namespace reverie::testing {
namespace {

constexpr uint64_t kSeed = 1;
constexpr double kNoOp = 0.1;  ///< chance of it at each step
const std::string kGolden = REVERIE_SOURCE_DIR "/tests/golden/";

/// Few digits, so that they are the same on every processor.
std::string number(double value) {
  return std::abs(value) < 1e-9 ? "0" : fmt::format("{:.4g}", value);
}

/// "merge 0:1 2:2, NO-OP 0:1": of each action the entities and how many choices it has there.
std::string text_of(const EnvSpec& spec, const ActionMask& mask) {
  std::vector<std::string> actions;
  for (int primary = 0; primary < spec.primary_actions(); ++primary) {
    std::string text;
    for (int entity = 0; entity < mask.entities; ++entity)
      if (mask.at(primary, entity) > 0)
        text += fmt::format(" {}:{}", entity, mask.at(primary, entity));
    if (!text.empty()) actions.push_back(spec.actions[static_cast<size_t>(primary)] + text);
  }
  return fmt::format("{}", fmt::join(actions, ", "));
}

std::string text_of_state(const Environment& environment) {
  const EnvSpec& spec = environment.spec();
  const Observation seen = environment.observe();
  const StepInfo info = environment.info();
  std::string text = fmt::format("\nstate    {}\nmetrics ", environment.describe());
  for (size_t i = 0; i < spec.metrics.size(); ++i)
    text += fmt::format(" {} {},", spec.metrics[i].name, number(info.metrics[i]));
  text += fmt::format(" best {}{}\n", number(info.best), info.feasible ? "" : ", infeasible");
  text += fmt::format("graph    {} nodes, {} edges, {} entities\n", seen.graph.node_count(),
                      seen.graph.edge_count(), seen.mask.entities);
  return text + fmt::format("mask     {}\n", text_of(spec, seen.mask));
}

std::string playthrough(Environment& environment) {
  const EnvSpec& spec = environment.spec();
  const auto start = kSeed % static_cast<uint64_t>(spec.start_states());
  std::string text =
      fmt::format("{} by {}, start {}, {} actions, at most {} steps\n", spec.name, spec.source,
                  spec.starts[start].name, spec.primary_actions(), spec.horizon);
  environment.reset(kSeed);
  Rng rng(kSeed);
  for (;;) {
    text += text_of_state(environment);
    const Action action = random_action(environment.mask(), rng, kNoOp);
    text += fmt::format("action   {}\n", environment.describe(action));
    const StepResult result = environment.step(action);
    text += fmt::format("reward   {}\n", number(result.reward));
    if (!result.terminated && !result.truncated) continue;
    return text + text_of_state(environment) +
           fmt::format("\nend      {}\n", result.terminated ? "terminated" : "truncated");
  }
}

/// Two convolutions that read the same, and steps that can be fused with them.
void write_model(const std::string& path) {
  export_onnx(parse_graph(R"(
x = Input : float32 1x4x8x8
v = Constant {fill=0.25, name="v"} : float32 8x4x3x3
w = Constant {fill=0.5, name="w"} : float32 8x4x3x3
a = Conv(x, v) {pads=[1,1,1,1]}
b = Conv(x, w) {pads=[1,1,1,1]}
s = Add(a, b)
r = Relu(s)
y = Relu(r)
output y = y
)"),
              {}, path);
}

/// Small enough that the episode can be read. What is not named here stands in the defaults.
EnvironmentConfig config_of(const std::string& kind, const TemporaryDirectory& folder) {
  EnvironmentConfig config;
  config.kind = kind;
  config.of<ToyConfig>() = {.blocks = 2, .start_states = 4, .entities = true};
  config.of<PlacementConfig>().max_groups = 6;
  config.of<PlacementConfig>().environment.form = PlacementForm::kImproving;
  config.of<PlacementConfig>().environment.fusion = true;
  config.of<RewriteConfig>().cost = "roofline:t4";
  config.of<RewriteConfig>().environment.region_nodes = 2;
  if (kind == "placement") config.inputs = {"generate:layers:100:1"};
  if (kind == "adapt") config.inputs = {kGolden + "adapt_table.json"};
  if (kind == "rewrite") {
    config.inputs = {folder / "model.onnx"};
    write_model(config.inputs.front());
  }
  return config;
}

class Playthrough : public ::testing::TestWithParam<const EnvironmentKind*> {};

void expect_golden(const EnvironmentConfig& config, const std::string& name) {
  const std::string text = playthrough(*make_environment(config).environment);
  const std::string golden = fmt::format("{}playthroughs/{}.txt", kGolden, name);
  if (std::getenv("REVERIE_WRITE_GOLDEN") != nullptr) write_file(golden, text);
  EXPECT_EQ(text, read_file(golden))
      << "If that is meant, write it anew with REVERIE_WRITE_GOLDEN=1";
}

TEST_P(Playthrough, IsThatOfTheGoldenFile) {
  const TemporaryDirectory folder;
  const std::string kind(GetParam()->name());
  expect_golden(config_of(kind, folder), kind);
}

TEST(PlaythroughOfAForm, PlacesGroupAfterGroup) {
  const TemporaryDirectory folder;
  EnvironmentConfig config = config_of("placement", folder);
  config.of<PlacementConfig>().environment.form = PlacementForm::kConstructive;
  config.of<PlacementConfig>().environment.fusion = false;
  expect_golden(config, "placement_constructive");
}

INSTANTIATE_TEST_SUITE_P(All, Playthrough, ::testing::ValuesIn(environment_kinds()),
                         [](const auto& info) { return std::string(info.param->name()); });

}  // namespace
}  // namespace reverie::testing
