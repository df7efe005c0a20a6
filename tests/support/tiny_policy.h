#pragma once

#include <memory>
#include <string>

#include "controller/train/trainer_config.h"
#include "core/base/files.h"
#include "core/cost/cost_model.h"
#include "core/ir/text.h"
#include "env/kind.h"
#include "env/rewrite/rewrite_config.h"
#include "tests/support/untrained_world.h"

namespace reverie::testing {

/// Two parallel convolutions with activations: rules of the library fuse and merge them.
inline constexpr const char* kTinyNetwork = R"(
x = Input : float32 1x4x6x6
v = Constant {fill=0.5, name="v"} : float32 8x4x1x1
w = Constant {fill=0.25, name="w"} : float32 8x4x1x1
a = Conv(x, v)
b = Conv(x, w)
c = Relu(a)
d = Relu(b)
e = Concat(c, d) {axis=1}
y = Relu(e)
output y = y
)";

/// What it takes to let a policy with random weights loose on the tiny network.
struct TinyPolicy {
  TinyPolicy()
      : graph(parse_graph(kTinyNetwork)),
        rules(std::make_shared<const RuleSet>(RuleSet::builtin())),
        cost(make_cost_model("roofline:t4")) {
    env.horizon = 12;
    config.policy.width = 8;
  }

  EnvSpec spec() const { return RewriteEnvironment({{"tiny", graph}}, rules, cost, env).spec(); }

  /// Writes V, M and C, all untrained.
  void save(const std::string& path) const { save(path, spec()); }
  void save(const std::string& path, const EnvSpec& trained_on) const {
    const UntrainedWorld world(trained_on);
    Checkpoint checkpoint = world.checkpoint();
    checkpoint.kind = "policy";
    EnvironmentConfig environment;
    environment.of<RewriteConfig>().environment = env;
    checkpoint.configs["environment"] = dump_config(environment);
    store_policy(checkpoint, *make_trainer(world.world->spec(), config, 1), config, 1);
    save_checkpoint(path, checkpoint);
  }

  Graph graph;
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<CostModel> cost;
  RewriteEnvConfig env;
  TrainerConfig config;
};

}  // namespace reverie::testing
