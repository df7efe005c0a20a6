#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <cmath>

#include "core/exec/reference/reference.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

/// A model of one float input x of the given shape.
ImportedModel imported(int opset, const std::string& shape, const std::string& nodes) {
  const TemporaryDirectory folder;
  onnx::ModelProto model;
  const std::string text = fmt::format(
      "<ir_version: 8, opset_import: [\"\" : {}]> g (float[{}] x) => (float[n] y) {{ {} }}", opset,
      shape, nodes);
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  testing::write_message(model, folder / "model.onnx");
  return import_onnx(folder / "model.onnx");
}

std::vector<std::string> warnings_of(int opset, const std::string& shape,
                                     const std::string& nodes) {
  return imported(opset, shape, nodes).warnings;
}

/// Its result where the elements of x are 0, 1, 2, ...
std::vector<double> run(int opset, const std::string& shape, const std::string& nodes) {
  const ImportedModel model = imported(opset, shape, nodes);
  EXPECT_THAT(model.warnings, IsEmpty());
  Tensor x(model.graph.type(model.graph.output(model.graph.inputs()[0])));
  for (size_t i = 0; i < x.data<float>().size(); ++i) x.data<float>()[i] = static_cast<float>(i);
  const Tensor inputs[] = {x};
  return ReferenceExecutor().run(model.graph, inputs).at(0).to_doubles();
}

TEST(OldOpsets, SoftmaxTakesTheAxesFromAxisOnAsOne) {
  // Over all four elements of a batch entry before opset 13, over pairs since.
  const double e = std::exp(1.0);
  const double sum = 1 + e + e * e + e * e * e;
  EXPECT_THAT(run(12, "1, 2, 2", "y = Softmax <axis = 1> (x)"),
              Pointwise(DoubleNear(1e-6), {1 / sum, e / sum, e * e / sum, e * e * e / sum}));
  const double low = 1 / (1 + e * e);
  EXPECT_THAT(run(13, "1, 2, 2", "y = Softmax <axis = 1> (x)"),
              Pointwise(DoubleNear(1e-6), {low, low, 1 - low, 1 - low}));
}

TEST(OldOpsets, SoftmaxsDefaultAxisWasOne) {
  const double e = std::exp(1.0);
  const double sum = 1 + e + e * e + e * e * e;
  EXPECT_NEAR(run(7, "1, 2, 2", "y = Softmax(x)")[0], 1 / sum, 1e-6);
  EXPECT_NEAR(run(13, "1, 2, 2", "y = Softmax(x)")[0], 1 / (1 + e), 1e-6);
}

TEST(OldOpsets, AxesWereAttributes) {
  EXPECT_THAT(run(11, "2, 2", "y = ReduceSum <axes = [1], keepdims = 0> (x)"), ElementsAre(1, 5));
  EXPECT_THAT(
      run(13, "2, 2", "a = Constant <value = int64[1] {1}> () y = ReduceSum <keepdims = 0> (x, a)"),
      ElementsAre(1, 5));
  EXPECT_THAT(run(11, "1, 2", "a = Squeeze <axes = [0]> (x) y = Unsqueeze <axes = [0, 2]> (a)"),
              ElementsAre(0, 1));
  EXPECT_THAT(run(13, "1, 2", R"(
                  a = Constant <value = int64[0] {}> () b = Constant <value = int64[1] {0}> ()
                  s = Squeeze(x, a) y = ReduceSum <keepdims = 0> (s, b))"),
              ElementsAre(1));
  EXPECT_THAT(run(13, "2, 2", R"(
                  a = Constant <value = int64[0] {}> ()
                  y = ReduceSum <noop_with_empty_axes = 1> (x, a))"),
              ElementsAre(0, 1, 2, 3));
}

TEST(OldOpsets, ScatterHadAnotherName) {
  EXPECT_THAT(run(9, "4", R"(
                  i = Constant <value = int64[2] {3, 1}> ()
                  u = Constant <value = float[2] {7, 8}> ()
                  y = Scatter(x, i, u))"),
              ElementsAre(0, 8, 2, 7));
}

TEST(OldOpsets, TopKHadAnAttribute) {
  EXPECT_THAT(run(9, "4", "y, i = TopK <k = 2> (x)"), ElementsAre(3, 2));
  EXPECT_THAT(run(10, "4", "k = Constant <value = int64[1] {1}> () y, i = TopK(x, k)"),
              ElementsAre(3));
  EXPECT_THAT(
      run(11, "4", "k = Constant <value = int64[1] {1}> () y, i = TopK <largest = 0> (x, k)"),
      ElementsAre(0));
}

TEST(OldOpsets, LogSoftmaxTookTheAxesFromAxisOnAsOne) {
  const double e = std::exp(1.0);
  EXPECT_NEAR(run(12, "1, 2, 2", "y = LogSoftmax(x)")[0], -std::log(1 + e + e * e + e * e * e),
              1e-6);
  EXPECT_NEAR(run(13, "1, 2, 2", "y = LogSoftmax(x)")[0], -std::log(1 + e), 1e-6);
}

TEST(OldOpsets, BlocksHadOneOrder) {
  EXPECT_THAT(run(10, "1, 4, 1, 2", "y = DepthToSpace <blocksize = 2> (x)"),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(OldOpsets, SliceHadAttributes) {
  EXPECT_THAT(run(9, "4", "y = Slice <starts = [-3], ends = [100]> (x)"), ElementsAre(1, 2, 3));
  EXPECT_THAT(run(10, "4", R"(
                  s = Constant <value = int64[1] {-1}> ()
                  e = Constant <value = int64[1] {-100}> ()
                  a = Constant <value = int64[1] {0}> ()
                  y = Slice(x, s, e, a, s))"),
              ElementsAre(3, 2, 1, 0));
}

TEST(OldOpsets, PadClipAndSplitHadAttributes) {
  EXPECT_THAT(run(10, "2", "y = Pad <pads = [1, 1], value = 9.0> (x)"), ElementsAre(9, 0, 1, 9));
  EXPECT_THAT(run(11, "2", R"(
                  p = Constant <value = int64[2] {1, 1}> ()
                  v = Constant <value = float {9}> ()
                  y = Pad(x, p, v))"),
              ElementsAre(9, 0, 1, 9));
  EXPECT_THAT(run(10, "4", "y = Clip <min = 1.0, max = 2.0> (x)"), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(run(11, "4", "m = Constant <value = float {2}> () y = Clip(x, , m)"),
              ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(run(11, "4", "a, y = Split <split = [1, 3]> (x)"), ElementsAre(1, 2, 3));
  EXPECT_THAT(run(13, "4", "a, y = Split(x)"), ElementsAre(2, 3));
}

TEST(OldOpsets, PadsWereChosenByAMode) {
  const auto pooled = [](const std::string& shape, const std::string& attributes) {
    return run(13, shape, "y = MaxPool <" + attributes + "> (x)");
  };
  const std::string pairs = R"(kernel_shape = [2, 2], strides = [2, 2], auto_pad = )";
  EXPECT_THAT(pooled("1, 1, 3, 3", pairs + R"("VALID")"), ElementsAre(4));
  EXPECT_THAT(pooled("1, 1, 3, 3", pairs + R"("VALID", ceil_mode = 1)"), ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(pooled("1, 1, 3, 3", pairs + R"("SAME_UPPER")"), ElementsAre(4, 5, 7, 8));
  EXPECT_THAT(pooled("1, 1, 3, 3", pairs + R"("SAME_LOWER")"), ElementsAre(0, 2, 6, 8));
  const std::string every_third = R"(kernel_shape = [1], strides = [3], auto_pad = "SAME_UPPER")";
  EXPECT_THAT(pooled("1, 1, 5", every_third), ElementsAre(0, 3));
  EXPECT_THAT(pooled("1, 1, 5", every_third + ", ceil_mode = 1"), ElementsAre(0, 3));
}

TEST(OldOpsets, UpsampleIsResize) {
  const std::string repeated = "y = Upsample <scales = [1.0, 1.0, 2.0]> (x)";
  EXPECT_THAT(run(7, "1, 1, 2", repeated), ElementsAre(0, 0, 1, 1));
  const std::string scales = "s = Constant <value = float[3] {1, 1, 2}> () ";
  EXPECT_THAT(run(9, "1, 1, 2", scales + "y = Upsample(x, s)"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(run(9, "1, 1, 2", scales + R"(y = Upsample <mode = "linear"> (x, s))"),
              ElementsAre(0, 0.5, 1, 1));
}

TEST(OldOpsets, ResizeKnewOneCorrespondenceOfPositions) {
  const std::string scales = "s = Constant <value = float[3] {1, 1, 2}> () ";
  EXPECT_THAT(run(10, "1, 1, 2", scales + R"(y = Resize <mode = "linear"> (x, s))"),
              ElementsAre(0, 0.5, 1, 1));
  EXPECT_THAT(run(11, "1, 1, 2", scales + R"(
                  r = Constant <value = float[0] {}> ()
                  y = Resize <mode = "linear"> (x, r, s))"),
              ElementsAre(0, 0.25, 0.75, 1));
  EXPECT_THAT(run(13, "1, 1, 4", R"(
                  s = Constant <value = int64[3] {1, 1, 2}> ()
                  y = Resize <nearest_mode = "floor"> (x, , , s))"),
              ElementsAre(0, 2));
}

/// Runtimes do not agree on which element is the nearest where opset 10 shrinks by a broken factor,
/// nor on how opset 10 halves an odd difference from `output_shape`, nor on a result that is larger
/// than what the filters reach.
TEST(OldOpsets, WhatHasSeveralReadingsStaysUntouched) {
  EXPECT_THAT(warnings_of(10, "1, 1, 6", R"(
                  s = Constant <value = float[3] {1, 1, 0.6}> () y = Resize(x, s))"),
              ElementsAre(HasSubstr("1 Resize")));
  const std::string spread = R"(
      w = Constant <value = float[1, 1, 3] {1, 2, 4}> ()
      y = ConvTranspose <strides = [2], output_shape = [4]> (x, w))";
  EXPECT_THAT(warnings_of(10, "1, 1, 2", spread), ElementsAre(HasSubstr("1 ConvTranspose")));
  EXPECT_THAT(run(11, "1, 1, 2", spread), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(warnings_of(13, "1, 1, 2", R"(
                  w = Constant <value = float[1, 1, 2] {1, 2}> ()
                  y = ConvTranspose <strides = [3], auto_pad = "SAME_UPPER"> (x, w))"),
              ElementsAre(HasSubstr("1 ConvTranspose")));
}

TEST(OldOpsets, InferenceDropsDropoutAndMomentum) {
  EXPECT_THAT(run(7, "2", "y = Dropout <ratio = 0.3> (x)"), ElementsAre(0, 1));
  EXPECT_THAT(run(12, "2", "y = Dropout(x)"), ElementsAre(0, 1));
  EXPECT_THAT(run(8, "1, 2, 1, 1", R"(
                  s = Constant <value = float[2] {1, 2}> ()
                  b = Constant <value = float[2] {0, 1}> ()
                  y = BatchNormalization <epsilon = 0.0, momentum = 0.5, spatial = 1>
                      (x, s, b, b, s))"),
              Pointwise(DoubleNear(1e-6), {0.0, 1.0}));
}

TEST(OldOpsets, ElementsBroadcastByAttributes) {
  const std::string two = "b = Constant <value = float[2] {10, 20}> () ";
  EXPECT_THAT(run(6, "1, 2, 2", two + "y = Add <broadcast = 1, axis = 1> (x, b)"),
              ElementsAre(10, 11, 22, 23));
  EXPECT_THAT(run(6, "1, 2, 2", two + "y = Add <broadcast = 1> (x, b)"),
              ElementsAre(10, 21, 12, 23));
  EXPECT_THAT(run(1, "1, 2, 2",
                  two + "y = Mul <broadcast = 1, axis = -2, consumed_inputs = [0, 0]> (x, b)"),
              ElementsAre(0, 10, 40, 60));
  EXPECT_THAT(run(6, "2, 2",
                  "b = Constant <value = float {2}> () y = Pow <broadcast = 1, axis = 0> (x, b)"),
              ElementsAre(0, 1, 4, 9));
  EXPECT_THAT(
      run(6, "1, 2, 2",
          two + "g = Greater <broadcast = 1, axis = 1> (x, b) n = Not(g) y = Cast <to = 1> (n)"),
      ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(run(6, "1, 2, 2", two + "d = Sub <broadcast = 1, axis = 1> (x, b) y = PRelu(d, b)"),
              ElementsAre(-100, -90, -360, -340));
  EXPECT_THAT(run(6, "2, 2", two + "y = Gemm <broadcast = 1, transB = 1> (x, x, b)"),
              ElementsAre(11, 23, 13, 33));
}

TEST(OldOpsets, ListsWereAttributes) {
  EXPECT_THAT(run(4, "2, 2", "y = Reshape <shape = [0, -1, 1]> (x)"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(run(1, "2", "y = Pad <paddings = [1, 0], value = 5.0> (x)"), ElementsAre(5, 0, 1));
  EXPECT_THAT(run(1, "4", "a, y = Split <axis = 0, split = [1, 3]> (x)"), ElementsAre(1, 2, 3));
  EXPECT_THAT(
      run(1, "4", "s = Constant <value = int64[2] {1, 3}> () a, y = Split <axis = 0> (x, s)"),
      ElementsAre(1, 2, 3));
  EXPECT_THAT(run(1, "1, 2", R"(
                  n = Constant <value = int64 {2}> ()
                  a = Constant <value = int64 {1}> ()
                  y = Tile(x, n, a))"),
              ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(run(5, "2", "i = Cast <to = \"INT32\"> (x) y = Cast <to = \"FLOAT\"> (i)"),
              ElementsAre(0, 1));
}

TEST(OldOpsets, DefaultsWereOthers) {
  EXPECT_THAT(run(3, "1, 2", "y = Concat(x, x)"), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(run(1, "1, 1, 2, 2", "y = LpPool <kernel_shape = [2, 2], p = 1.0> (x)"),
              ElementsAre(6));
  EXPECT_NEAR(run(1, "2", "y = Selu(x)")[1], 1.0507, 1e-7);
  EXPECT_THAT(run(1, "1, 1, 1, 2",
                  "y = Upsample <height_scale = 1.0, width_scale = 2.0, mode = \"bilinear\"> (x)"),
              ElementsAre(0, 0.5, 1, 1));
}

TEST(OldOpsets, WhatWasDeployedIsNoTraining) {
  EXPECT_THAT(run(6, "2", "y = Dropout <ratio = 0.3, is_test = 1> (x)"), ElementsAre(0, 1));
  EXPECT_THAT(run(6, "1, 2, 1, 1", R"(
                  s = Constant <value = float[2] {1, 2}> ()
                  b = Constant <value = float[2] {0, 1}> ()
                  y = BatchNormalization <epsilon = 0.0, is_test = 1> (x, s, b, b, s))"),
              Pointwise(DoubleNear(1e-6), {0.0, 1.0}));
}

TEST(OldOpsets, OldOnesAreWrittenAtSeven) {
  const TemporaryDirectory folder;
  const ImportedModel model = imported(3, "2, 2", "r = Reshape <shape = [4]> (x) y = Relu(r)");
  export_onnx(model.graph, model.info, folder / "copy.onnx");
  const ImportedModel again = import_onnx(folder / "copy.onnx");
  EXPECT_EQ(again.info.opset_imports.at(""), 7);
  EXPECT_TRUE(isomorphic(again.graph, model.graph));
}

/// A node whose meaning ends before the oldest opset that is written.
TEST(OldOpsets, WhatNoWrittenOpsetSaysIsAnError) {
  const ImportedModel model = imported(6, "2", "d, y = Dropout(x)");
  EXPECT_THAT(model.warnings, ElementsAre(HasSubstr("1 Dropout")));
  const TemporaryDirectory folder;
  try {
    export_onnx(model.graph, model.info, folder / "copy.onnx");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("from opset 7 on, where an untouched Dropout"));
  }
}

TEST(OldOpsets, ShapeComputationsAreFolded) {
  EXPECT_THAT(run(11, "2, 3", R"(
                  s = Shape(x)
                  i = Constant <value = int64 {1}> ()
                  n = Gather(s, i)
                  a = Unsqueeze <axes = [0]> (n)
                  m = Constant <value = int64[1] {-1}> ()
                  t = Concat <axis = 0> (a, m)
                  r = Reshape(x, t)
                  y = ReduceMax <axes = [1], keepdims = 0> (r))"),
              ElementsAre(1, 3, 5));
  EXPECT_THAT(run(9, "3", R"(
                  s = Shape(x)
                  c = ConstantOfShape <value = float[1] {2}> (s)
                  y = Mul(x, c))"),
              ElementsAre(0, 2, 4));
}

}  // namespace
}  // namespace reverie
