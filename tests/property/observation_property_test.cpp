#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/hash.h"
#include "core/ir/structural_hash.h"
#include "core/models/models.h"
#include "env/rewrite/features.h"
#include "env/rewrite/rewrite_environment.h"
#include "tests/support/random_actions.h"

namespace reverie {
namespace {

constexpr int kRegionNodes = 12;
constexpr int kMaxRegions = 64;

std::shared_ptr<const RuleSet> rules() {
  return std::make_shared<const RuleSet>(RuleSet::builtin());
}

/// A cap on locations that bites, and one that does not.
std::unique_ptr<RewriteEnvironment> environment(const char* name, int max_locations) {
  ModelOptions options;
  options.light = true;
  if (std::string(name) == "bert_base") options.layers = 2;
  std::vector<StartGraph> starts;
  starts.push_back({name, build_model(name, options)});
  RewriteEnvConfig config;
  config.horizon = 30;
  config.region_nodes = kRegionNodes;
  config.max_regions = kMaxRegions;
  config.max_locations = max_locations;
  return std::make_unique<RewriteEnvironment>(std::move(starts), rules(),
                                              make_cost_model("roofline:t4"), config);
}

/// The regions after the steps, which lead to the graph.
Regions regions_after(RewriteState state, const std::vector<RewriteStep>& path) {
  Regions regions(state.graph(), kRegionNodes, kMaxRegions);
  for (const RewriteStep& step : path) {
    const Match match = state.location(step.rule, step.location);
    const int region = regions.place(state.rules()[step.rule], match).region;
    state.commit(state.propose(match));
    regions.extend(state.graph(), region);
  }
  return regions;
}

/// Writes what is offered of each rule, as a state finds it that knows no other one.
void write_offers(const RewriteState& state, const Cost& initial, size_t max_locations,
                  FeatureContext* context, Observation* observation) {
  for (int rule = 0; rule < state.rules().size(); ++rule) {
    const auto& locations = state.locations(rule);
    context->matches += std::ssize(locations);
    for (size_t i = 0; i < std::min(max_locations, locations.size()); ++i) {
      const MatchPlace place = context->regions->place(state.rules()[rule], locations[i]);
      const Cost delta = state.propose(locations[i]).cost_delta;
      const auto gain = static_cast<float>(percent_fall(
          0, static_cast<double>(delta.runtime.count), static_cast<double>(initial.runtime.count)));
      context->gains.emplace_back(place.node, gain);
      float& best = observation->action_features[static_cast<size_t>(
          rule * observation->mask.entities + place.region)];
      const bool first = observation->mask.at(rule, place.region)++ == 0;
      best = first ? gain : std::max(best, gain);
    }
  }
}

/// Nothing is taken from the states before but the regions.
Observation observed_anew(const RewriteEnvironment& env, const RewriteState& start,
                          size_t max_locations) {
  const auto model = make_cost_model("roofline:t4");
  const RewriteState state(env.state().graph(), rules(), model);
  const Graph& graph = state.graph();
  const Regions regions = regions_after(start, env.path());
  Observation observation;
  observation.mask = ActionMask(env.spec().primary_actions(), regions.count());
  observation.action_features.resize(observation.mask.counts.size());
  FeatureContext context{start.cost(),
                         start.graph().weight_bytes(),
                         graph_cost(*model, graph),
                         graph.weight_bytes(),
                         0,
                         {},
                         &regions};
  write_offers(state, start.cost(), max_locations, &context, &observation);
  const auto order = graph.topological_order();
  observation.graph = graph_features(graph, order, NodeRows(graph, *model), context);
  observation.state_key = hash_combine(StructuralHash(graph).value(),
                                       static_cast<uint64_t>(start.cost().runtime.count));
  observation.state_key = hash_combine(observation.state_key, regions.hash(order));
  return observation;
}

class Observations : public ::testing::TestWithParam<const char*> {};

/// A few environments, some of them forks of others, look at their states now and then.
TEST_P(Observations, EqualThoseMadeFromNothing) {
  for (const int max_locations : {5, 500}) {
    std::vector<std::unique_ptr<Environment>> envs;
    envs.push_back(environment(GetParam(), max_locations));
    const RewriteState start = dynamic_cast<RewriteEnvironment&>(*envs.front()).state();
    Rng rng(7);
    int longest = 0;
    for (int round = 0; round < 200; ++round) {
      Environment& env = *envs[rng.below(envs.size())];
      const auto& rewriting = dynamic_cast<RewriteEnvironment&>(env);
      if (rng.uniform() < 0.5) {
        ASSERT_EQ(env.observe(),
                  observed_anew(rewriting, start, static_cast<size_t>(max_locations)))
            << round;
      }
      const StepResult result = env.step(testing::random_action(env.mask(), rng));
      longest = std::max(longest, static_cast<int>(rewriting.path().size()));
      if (result.terminated || result.truncated) env.reset(0);
      if (rng.uniform() < 0.1) envs[rng.below(envs.size())]->reset(0);
      if (rng.uniform() < 0.1 && envs.size() < 4) envs.push_back(env.fork());
    }
    EXPECT_GT(longest, 10);
    EXPECT_EQ(envs.size(), 4u);
  }
}

INSTANTIATE_TEST_SUITE_P(Light, Observations,
                         ::testing::Values("squeezenet1_1", "bert_base", "nasrnn", "resnet18"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace reverie
