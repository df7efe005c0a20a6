#include "core/models/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/exec/reference/reference.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/support/light_models.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

/// How often each operator occurs with which attributes and output types.
std::map<std::string, int> histogram(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node)) continue;
    std::string key = graph.op(node).name;
    for (const auto& [name, value] : graph.attributes(node).entries())
      key += " " + name + "=" + to_string(value);
    for (const TensorType& type : output_types(graph, node)) key += " -> " + to_string(type);
    ++counts[key];
  }
  return counts;
}

std::vector<Tensor> random_inputs(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const NodeId id : graph.inputs()) {
    Tensor tensor(graph.type(graph.output(id)));
    if (tensor.type().dtype == DType::kInt64) {
      for (int64_t& value : tensor.data<int64_t>()) value = static_cast<int64_t>(rng.below(16));
    } else {
      for (float& value : tensor.data<float>()) value = static_cast<float>(rng.normal());
    }
    inputs.push_back(tensor);
  }
  return inputs;
}

struct Published {
  const char* name;
  int64_t parameters;
};

class ParameterCount : public ::testing::TestWithParam<Published> {};

TEST_P(ParameterCount, IsThePublishedOne) {
  EXPECT_EQ(parameter_count(build_model(GetParam().name)), GetParam().parameters);
}

// The counts of torchvision's documentation; BERT's encoder: embeddings of 30,522 tokens and 128
// positions, a norm, and twelve layers of 7,087,872.
INSTANTIATE_TEST_SUITE_P(
    All, ParameterCount,
    ::testing::Values(Published{"squeezenet1_1", 1'235'496}, Published{"resnet18", 11'689'512},
                      Published{"resnet50", 25'557'032}, Published{"resnext50", 25'028'904},
                      Published{"inception_v3", 23'834'568}, Published{"vit_b_16", 86'567'656},
                      Published{"bert_base", 108'595'200}),
    [](const auto& info) { return info.param.name; });

class LikeLight : public ::testing::TestWithParam<std::string> {};

TEST_P(LikeLight, HasTheOperatorsOfTheExportedModel) {
  const std::string file = GetParam() == "resnext50" ? "resnext50_32x4d" : GetParam();
  const auto path = testing::exported_light_model(file);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  EXPECT_EQ(histogram(build_model(GetParam())), histogram(import_onnx(path).graph));
}

INSTANTIATE_TEST_SUITE_P(All, LikeLight,
                         ::testing::Values("squeezenet1_1", "resnet18", "resnet50", "resnext50",
                                           "inception_v3", "bert_base", "bert_tiny", "vit_b_16",
                                           "taso_bert", "taso_resnext50", "nasrnn", "nasnet_a"),
                         [](const auto& info) { return info.param; });

struct Tiny {
  std::string name;
  ModelOptions options;
};

ModelOptions vision(int64_t image, double width, int64_t classes, int64_t layers = 0) {
  ModelOptions options;
  options.image = image;
  options.width = width;
  options.classes = classes;
  options.layers = layers;
  return options;
}

ModelOptions sequence(int64_t layers, int64_t hidden, int64_t heads, int64_t inner, int64_t length,
                      int64_t vocabulary) {
  ModelOptions options;
  options.layers = layers;
  options.hidden = hidden;
  options.heads = heads;
  options.inner = inner;
  options.length = length;
  options.vocabulary = vocabulary;
  return options;
}

ModelOptions tiny_vit() {
  ModelOptions options = sequence(2, 32, 2, 64, 0, 0);
  options.image = 32;
  options.classes = 10;
  return options;
}

class TinyModel : public ::testing::TestWithParam<Tiny> {
 protected:
  Graph graph_ = build_model(GetParam().name, GetParam().options);
};

TEST_P(TinyModel, ComputesFiniteValuesThatDependOnTheInput) {
  graph_.validate();
  ReferenceExecutor executor;
  const std::vector<double> first =
      executor.run(graph_, random_inputs(graph_, 1)).at(0).to_doubles();
  const std::vector<double> second =
      executor.run(graph_, random_inputs(graph_, 2)).at(0).to_doubles();
  double largest = 0;
  for (const double value : first) {
    ASSERT_TRUE(std::isfinite(value));
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_GT(largest, 1e-3);
  EXPECT_LT(largest, 1e4);
  EXPECT_NE(first, second);
}

TEST_P(TinyModel, KeepsItsValuesThroughAFile) {
  const TemporaryDirectory folder;
  export_onnx(graph_, {}, folder / "model.onnx");
  const Graph again = import_onnx(folder / "model.onnx").graph;
  const std::vector<Tensor> inputs = random_inputs(graph_, 3);
  ReferenceExecutor executor;
  const auto expected = executor.run(graph_, inputs).at(0).to_doubles();
  const auto result = executor.run(again, inputs).at(0).to_doubles();
  EXPECT_THAT(result, ::testing::Pointwise(::testing::DoubleNear(1e-6), expected));
  EXPECT_EQ(histogram(again), histogram(graph_));
}

TEST_P(TinyModel, IsDeterminedByItsSeed) {
  ModelOptions other = GetParam().options;
  other.seed = 1;
  EXPECT_TRUE(isomorphic(graph_, build_model(GetParam().name, GetParam().options)));
  EXPECT_FALSE(isomorphic(graph_, build_model(GetParam().name, other)));
}

TEST_P(TinyModel, HasTheSameShapesWhenLight) {
  ModelOptions light = GetParam().options;
  light.light = true;
  EXPECT_EQ(histogram(build_model(GetParam().name, light)), histogram(graph_));
}

INSTANTIATE_TEST_SUITE_P(All, TinyModel,
                         ::testing::Values(Tiny{"squeezenet1_1", vision(33, 0.25, 10)},
                                           Tiny{"resnet18", vision(32, 0.125, 10)},
                                           Tiny{"resnet50", vision(32, 0.125, 10)},
                                           Tiny{"resnext50", vision(32, 0.25, 10)},
                                           Tiny{"inception_v3", vision(75, 0.125, 10)},
                                           Tiny{"bert", sequence(2, 32, 2, 64, 8, 50)},
                                           Tiny{"vit_b_16", tiny_vit()},
                                           Tiny{"nasrnn", sequence(2, 32, 0, 0, 0, 0)},
                                           Tiny{"nasnet_a", vision(32, 0.0625, 0, 1)},
                                           Tiny{"taso_bert", sequence(2, 32, 2, 0, 8, 0)},
                                           Tiny{"taso_resnext50", vision(32, 0.25, 0)}),
                         [](const auto& info) { return info.param.name; });

std::string error_of(const char* name, const ModelOptions& options) {
  try {
    build_model(name, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Models, RefuseWhatDoesNotFit) {
  EXPECT_THAT(error_of("resnet19", {}), HasSubstr("there is no model 'resnet19'; there are"));
  ModelOptions heads;
  heads.heads = 5;
  EXPECT_THAT(error_of("bert_base", heads), HasSubstr("does not divide into 5 heads"));
  EXPECT_THAT(error_of("resnet18", heads), HasSubstr("resnet18 has no option heads"));
  ModelOptions small;
  small.image = 10;
  EXPECT_THAT(error_of("inception_v3", small), HasSubstr("does not fit"));
  small.image = -1;
  EXPECT_THAT(error_of("resnet18", small), HasSubstr("image of resnet18 should be positive"));
}

TEST(Squeezenet, HasAsManyFireModulesAsAskedFor) {
  ModelOptions options;
  options.layers = 3;
  int convolutions = 0;
  for (const auto& [key, count] : histogram(build_model("squeezenet1_1", options)))
    if (key.starts_with("Conv ")) convolutions += count;
  EXPECT_EQ(convolutions, 2 + 3 * 3);
  options.layers = 9;
  EXPECT_THAT(error_of("squeezenet1_1", options), HasSubstr("layers is 9, of 8 fire modules"));
}

TEST(Models, BuildAllPresets) {
  for (const ModelKind& kind : all_models())
    EXPECT_GT(build_model(kind.name).node_count(), 10) << kind.name;
}

}  // namespace
}  // namespace reverie
