#include "env/spec_json.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

EnvSpec through_text(const EnvSpec& spec) {
  return spec_from_json(Json::parse(spec_to_json(spec).dump()));
}

TEST(SpecJson, GivesBackTheSpec) {
  const EnvSpec toy = ToyEnvironment({.blocks = 3, .start_states = 16}).spec();
  EXPECT_EQ(through_text(toy), toy);
  EnvSpec spec = KnapsackEnvironment(KnapsackConfig{}).spec();
  spec.other_type = "item";
  spec.metrics[1].unit = "kg";
  spec.objective = 1;
  spec.deterministic = false;
  spec.stochastic = true;
  spec.measurable = true;
  spec.reward_at_end = true;
  spec.knows_dynamics = true;
  spec.learned = {spec.targets.back().name};
  spec.starts[0].fingerprint = ~uint64_t{0};
  spec.actions[0] = "take \"it\"\n\xc3\xa4";
  EXPECT_EQ(through_text(spec), spec);
}

TEST(SpecJson, EveryPartMustBeThere) {
  const Json whole = spec_to_json(ToyEnvironment(ToyConfig{}).spec());
  EXPECT_EQ(whole.object().size(), 23u);
  const std::set<std::string> newer = {"reward_at_end", "knows_dynamics", "learned"};
  for (const Json::Member& member : whole.object()) {
    Json::Object less = whole.object();
    std::erase_if(less, [&](const Json::Member& other) { return other.name == member.name; });
    if (newer.contains(member.name))
      EXPECT_NO_THROW(spec_from_json(less)) << member.name;
    else
      EXPECT_THROW(spec_from_json(less), InputError) << member.name;
    Json::Object other = whole.object();
    for (Json::Member& changed : other)
      if (changed.name == member.name) changed.value = Json(Json::Object{{"of another", "type"}});
    EXPECT_THROW(spec_from_json(other), InputError) << member.name;
  }
}

TEST(SpecJson, PartsMustFitEachOther) {
  const auto refused = [](const std::function<void(EnvSpec&)>& change) {
    EnvSpec spec = ToyEnvironment(ToyConfig{}).spec();
    change(spec);
    EXPECT_THROW(through_text(spec), InputError);
  };
  refused([](EnvSpec& s) { s.actions.clear(); });
  refused([](EnvSpec& s) { s.actions.pop_back(); });
  refused([](EnvSpec& s) { s.starts.clear(); });
  refused([](EnvSpec& s) { s.metrics.clear(); });
  refused([](EnvSpec& s) { s.objective = 1; });
  refused([](EnvSpec& s) { s.objective = -1; });
  refused([](EnvSpec& s) { s.max_choices = 0; });
  refused([](EnvSpec& s) { s.max_choices = 32768; });
  refused([](EnvSpec& s) { std::swap(s.targets[0], s.targets[1]); });
  refused([](EnvSpec& s) { s.targets[0].loss = TargetLoss::kRegression; });
  refused([](EnvSpec& s) { s.targets[1].loss = TargetLoss::kShare; });
  refused([](EnvSpec& s) { s.learned = {"what nobody shows"}; });
}

}  // namespace
}  // namespace reverie
