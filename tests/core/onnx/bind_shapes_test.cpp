#include "core/onnx/bind_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/default_extents.h"
#include "tests/core/onnx/onnx_files.h"

namespace reverie::proto {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

BoundInputs bound(const std::string& inputs, const ImportOptions& options = {}) {
  const onnx::ModelProto model =
      testing::parse("<ir_version: 8, opset_import: [\"\" : 17]> g (" + inputs +
                     ") => (float[3] y) { y = Constant<value_float = 1.0>() }");
  return bind_inputs(model.graph(), {}, options);
}

std::string refusal(const std::string& inputs, const ImportOptions& options) {
  try {
    bound(inputs, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BindShapes, ADimensionIsBoundByNameInEveryInput) {
  const BoundInputs result =
      bound("int64[batch, seq] ids, float[batch, 1, seq] mask", {.dims = {"batch=2,seq=7"}});
  EXPECT_EQ(result.types.at("ids").shape, (Shape{2, 7}));
  EXPECT_EQ(result.types.at("mask").shape, (Shape{2, 1, 7}));
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(BindShapes, NamesAndShapesCanBeMixed) {
  const BoundInputs result =
      bound("int64[b, s] ids, float[b, t] x", {.shapes = {"ids=2,7"}, .dims = {"t=5", "b=2"}});
  EXPECT_EQ(result.types.at("x").shape, (Shape{2, 5}));
  EXPECT_THAT(refusal("int64[b, s] ids", {.shapes = {"ids=2,7"}, .dims = {"b=3"}}),
              HasSubstr("'b' is bound to 2 and to 3"));
}

TEST(BindShapes, WhatIsNoDimensionIsRefused) {
  EXPECT_THAT(refusal("int64[b, s] ids", {.dims = {"batch=1"}}),
              HasSubstr("no input has a dimension 'batch'; those without an extent are: b, s"));
  EXPECT_THAT(refusal("int64[3] ids", {.dims = {"batch=1"}}), HasSubstr("are: none"));
  for (const char* text : {"b", "b=", "=1", "b=-1", "b=x", "b=1,", "b=1s", ""})
    EXPECT_THAT(refusal("int64[b] ids", {.dims = {text}}), HasSubstr("should look like batch=1"))
        << text;
}

TEST(BindShapes, TheWarningNamesAnInputWithItsRank) {
  const BoundInputs result = bound("int64[batch, sequence] ids");
  EXPECT_EQ(result.types.at("ids").shape, (Shape{1, 128}));
  EXPECT_THAT(result.warnings, ElementsAre("extents were assumed: batch=1, sequence=128; give "
                                           "others with --dim batch=1,sequence=128, or "
                                           "--shape ids=1,128"));
}

TEST(BindShapes, AnInputWithoutAShapeIsCarriedThrough) {
  onnx::ModelProto model = testing::parse(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[3] x) => (float[3] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const BoundInputs result = bind_inputs(model.graph(), {}, {});
  EXPECT_FALSE(result.types.at("x").known());
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("--shape x=")));
  EXPECT_EQ(bind_inputs(model.graph(), {}, {.shapes = {"x=2"}}).types.at("x").shape, (Shape{2}));
}

TEST(BindShapes, WhatIsAssumedStaysSmall) {
  const BoundInputs result =
      bound("float[a1, a2, a3, a4, a5, a6, a7, a8, a9] x, float[h1, 999, h2, h3, h4] y");
  EXPECT_LE(result.types.at("x").elements(), 1 << 16);
  EXPECT_LE(result.types.at("y").elements(), 1 << 24);
  EXPECT_GT(result.types.at("y").elements(), 1 << 20);
  EXPECT_EQ(bound("float[a, 999, b, d] x", {.dims = {"b=900"}}).types.at("x").shape,
            (Shape{1, 999, 900, 14}));
}

TEST(BindShapes, WhatIsGivenIsNotMadeSmaller) {
  EXPECT_EQ(bound("float[a, b] x", {.dims = {"a=10000,b=10000"}}).types.at("x").shape,
            (Shape{10000, 10000}));
}

TEST(DefaultExtents, FollowNamesThenPlaces) {
  EXPECT_EQ(default_extent({"batch_size", 1, 2}, {}), 1);
  EXPECT_EQ(default_extent({"N", 0, 4}, {}), 1);
  EXPECT_EQ(default_extent({"num_nodes", 0, 2}, {}), 64);
  EXPECT_EQ(default_extent({"sequence_length", 0, 2}, {}), 128);
  EXPECT_EQ(default_extent({"height", 1, 3}, {}), 224);
  EXPECT_EQ(default_extent({"", 1, 4}, {}), 3);
  EXPECT_EQ(default_extent({"", 3, 4}, {}), 224);
  EXPECT_EQ(default_extent({"", 1, 2}, {}), 128);
}

TEST(DefaultExtents, FollowFromOthersWhereTheNameSaysSo) {
  EXPECT_EQ(default_extent({"past + 1", 1, 2}, {{"past", 16}}), 17);
  EXPECT_EQ(default_extent({"batch * heads", 0, 2}, {{"batch", 2}, {"heads", 12}}), 24);
  const BoundInputs result = bound("float[b, past] x", {.dims = {"past=9"}});
  EXPECT_EQ(result.types.at("x").shape, (Shape{1, 9}));
}

}  // namespace
}  // namespace reverie::proto
