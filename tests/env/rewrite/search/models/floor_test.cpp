#include <gtest/gtest.h>

#include <map>

#include "core/onnx/import.h"
#include "env/rewrite/optimize/optimize.h"
#include "tests/support/light_models.h"

namespace reverie {
namespace {

/// Least improvement in percent with the rules that ship: by the roofline of a T4, and by what one
/// thread of an AMD EPYC with AVX-512 took for each operator (tests/golden/cpu_costs.h5, recorded
/// by experiments/search/table.sh --cost cpu).
struct Floor {
  double t4, cpu;
};
const std::map<std::string, Floor> kFloors = {
    {"bert_base", {25.5, 1.0}},  {"bert_tiny", {55.0, 13.0}},      {"inception_v3", {28.5, 5.0}},
    {"nasnet_a", {15.0, 3.3}},   {"nasrnn", {28.0, 4.5}},          {"resnet18", {26.0, 4.6}},
    {"resnet50", {39.0, 7.4}},   {"resnext50_32x4d", {44.0, 5.8}}, {"squeezenet1_1", {35.0, 6.7}},
    {"taso_bert", {29.0, 20.5}}, {"taso_resnext50", {34.0, 4.4}},  {"vit_b_16", {23.0, 2.7}},
};

class LightModelFloor : public ::testing::TestWithParam<std::string> {};

TEST_P(LightModelFloor, TasoSearchGainsAndAgrees) {
  const Graph graph = import_onnx(testing::light_model(GetParam())).graph;
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  OptimizeConfig config;
  config.search.budget = 100;
  config.verify.inputs = 1;
  const auto expect_at_least = [&](double floor, const std::string& cost) {
    const Optimized result =
        optimize(graph, rules, make_cost_model(cost), on_rewrites(search::Taso()), config);
    EXPECT_GE(result.improvement_percent(), floor) << cost;
    EXPECT_LE(result.estimates, 5) << "too much is new to the recorded costs; record them anew";
    EXPECT_TRUE(result.verified.agree) << result.verified.reason;
    EXPECT_EQ(result.verified.unverified_nodes, 0);
  };
  const Floor floor = kFloors.at(GetParam());
  expect_at_least(floor.t4, "roofline:t4");
  expect_at_least(floor.cpu, "table:" REVERIE_SOURCE_DIR "/tests/golden/cpu_costs.h5");
}

INSTANTIATE_TEST_SUITE_P(All, LightModelFloor, ::testing::ValuesIn(testing::light_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
