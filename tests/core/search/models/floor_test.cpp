#include <gtest/gtest.h>

#include <map>

#include "core/onnx/import.h"
#include "core/search/optimize.h"
#include "tests/support/light_models.h"

namespace reverie {
namespace {

/// Least improvement in percent, roofline of a T4, with the rules that ship.
const std::map<std::string, double> kFloors = {
    {"bert_base", 25.5},     {"bert_tiny", 55.0},       {"inception_v3", 28.5},
    {"nasnet_a", 15.0},      {"nasrnn", 28.0},          {"resnet18", 26.0},
    {"resnet50", 39.0},      {"resnext50_32x4d", 44.0}, {"squeezenet1_1", 35.0},
    {"taso_bert", 29.0},     {"taso_resnext50", 34.0},  {"vit_b_16", 23.0},
};

class LightModelFloor : public ::testing::TestWithParam<std::string> {};

TEST_P(LightModelFloor, TasoSearchGainsAndAgrees) {
  const auto path = testing::light_folder() / (GetParam() + ".onnx");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  OptimizeConfig config;
  config.search.budget = 100;
  config.verify.inputs = 1;
  const Optimized result =
      optimize(import_onnx(path).graph, std::make_shared<const RuleSet>(RuleSet::builtin()),
               make_cost_model("roofline:t4"), taso_search, config);
  EXPECT_GE(result.improvement_percent(), kFloors.at(GetParam()));
  EXPECT_TRUE(result.verified.agree) << result.verified.reason;
  EXPECT_EQ(result.verified.unverified_nodes, 0);
}

INSTANTIATE_TEST_SUITE_P(All, LightModelFloor, ::testing::ValuesIn(testing::light_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
