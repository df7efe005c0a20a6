#include "worldmodel/spec_json.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(SpecJson, GivesBackTheSpec) {
  EnvSpec spec;
  spec.name = "rewrite";
  spec.actions = {"a", "NO-OP"};
  spec.fingerprint = ~uint64_t{0};
  spec.regions = 12;
  EXPECT_EQ(spec_from_json(spec_to_json(spec)), spec);
}

TEST(SpecJson, GraphsOfOlderFilesAreNotCut) {
  EnvSpec spec;
  spec.regions = 12;
  Json::Object older = spec_to_json(spec).object();
  std::erase_if(older, [](const Json::Member& member) { return member.name == "regions"; });
  EXPECT_EQ(spec_from_json(older).regions, 1);
}

}  // namespace
}  // namespace reverie
