#include "core/models/zoo/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <set>

#include "core/base/error.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

onnx::ModelProto model_of(std::string_view name, uint64_t seed = 0) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(build_zoo_model(name, seed)));
  return model;
}

class EachOfTheZoo : public ::testing::TestWithParam<ZooKind> {};

TEST_P(EachOfTheZoo, IsAValidModelOfItsOpset) {
  onnx::ModelProto model = model_of(GetParam().name);
  EXPECT_EQ(model.opset_import(0).version(), GetParam().opset);
  EXPECT_GT(model.graph().output_size(), 0);
  ASSERT_NO_THROW(onnx::checker::check_model(model));
  const onnx::ShapeInferenceOptions strict{/*check_type=*/true, /*strict_mode=*/1,
                                           /*data_prop=*/true};
  ASSERT_NO_THROW(
      onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict));
}

TEST_P(EachOfTheZoo, HasNoWeightThatNoNodeReads) {
  const onnx::ModelProto model = model_of(GetParam().name);
  std::set<std::string> read;
  for (const onnx::NodeProto& node : model.graph().node()) {
    read.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute())
      for (const onnx::NodeProto& inner : attribute.g().node())
        read.insert(inner.input().begin(), inner.input().end());
  }
  std::set<std::string> names;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    EXPECT_TRUE(names.insert(tensor.name()).second) << tensor.name() << " twice";
    EXPECT_TRUE(read.count(tensor.name())) << tensor.name();
  }
}

INSTANTIATE_TEST_SUITE_P(All, EachOfTheZoo, ::testing::ValuesIn(all_zoo_models()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Zoo, WeightsFollowTheSeed) {
  EXPECT_EQ(build_zoo_model("zoo/mobilenet_v2", 1), build_zoo_model("mobilenet_v2", 1));
  EXPECT_NE(build_zoo_model("mobilenet_v2", 1), build_zoo_model("mobilenet_v2", 2));
}

TEST(Zoo, NamesWhatThereIsForAnUnknownName) {
  EXPECT_THAT([] { build_zoo_model("zoo/quagga", 0); },
              ::testing::ThrowsMessage<InputError>(
                  ::testing::AllOf(HasSubstr("quagga"), HasSubstr("mobilenet_v2"))));
}

}  // namespace
}  // namespace reverie
