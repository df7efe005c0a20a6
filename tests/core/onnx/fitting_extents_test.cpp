#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

/// Symbolic dimensions that nobody binds get extents with which the model's shapes agree.
namespace reverie::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FittingExtents : public ::testing::Test {
 protected:
  ImportedModel import(const std::string& graph, const ImportOptions& options = {}) {
    write_message(parse("<ir_version: 8, opset_import: [\"\" : 13]> g " + graph), path_);
    return import_onnx(path_, options);
  }
  /// Nothing is untouched, and the model can be written.
  std::map<std::string, int64_t> extents(const std::string& graph) {
    const ImportedModel model = import(graph);
    EXPECT_THAT(model.untouched, IsEmpty());
    export_with_symbols(path_, model, model.graph, folder_ / "copy.onnx");
    EXPECT_NO_THROW(import_onnx(folder_ / "copy.onnx"));
    return bound_extents(model);
  }
  std::string refusal(const std::string& graph, const ImportOptions& options) {
    try {
      import(graph, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "model.onnx";
};

TEST_F(FittingExtents, OfAReshape) {
  const auto found = extents(R"((float[N, H, W, C] x) => (float[M, 20, 20, 3] y)
      <int64[4] s = {-1, 20, 20, 3}> { y = Reshape(x, s) })");
  EXPECT_EQ(found.at("N") * found.at("H") * found.at("W") * found.at("C") % 1200, 0);
}

TEST_F(FittingExtents, OfASum) {
  const auto found = extents("(float[A, F] a, float[C, D] b) => (float[E, G] y) { y = Add(a, b) }");
  EXPECT_TRUE(found.at("F") == found.at("D") || found.at("F") == 1 || found.at("D") == 1);
}

TEST_F(FittingExtents, OfAProductWithWeightsAndWhatFollows) {
  const auto found = extents(R"((float[M, K] x, float[C] s) => (float[M, 4] y)
      <float[3, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
      { m = MatMul(x, w)  y = Mul(m, s) })");
  EXPECT_EQ(found.at("K"), 3);
  EXPECT_TRUE(found.at("C") == 4 || found.at("C") == 1);
}

TEST_F(FittingExtents, OfAConvolutionOfOneChannel) {
  const auto found = extents(R"((float[N, C, H, W] x) => (float[N, 1, P, Q] y)
      <float[1, 1, 1, 1] w = {2}> { y = Conv(x, w) })");
  EXPECT_EQ(found.at("C"), 1);
  EXPECT_EQ(found.at("H"), 224);
}

/// Of an image with channels last, none of whose dimensions has a name that says so.
TEST_F(FittingExtents, OfAConvolutionBehindATransposition) {
  const auto found = extents(R"((float[d1, d2, d3, d4] x) => (float[n, 1, p, q] y)
      <float[1, 5, 1, 1] w = {1, 2, 3, 4, 5}>
      { t = Transpose <perm = [0, 3, 1, 2]> (x)  y = Conv(t, w) })");
  EXPECT_EQ(found.at("d4"), 5);
  EXPECT_EQ(found.at("d3"), 224);
}

TEST_F(FittingExtents, OfAProductWithOneRow) {
  EXPECT_EQ(extents(R"((float[M, K] x) => (float[M, 2] y) <float[1, 2] w = {1, 2}>
      { y = MatMul(x, w) })")
                .at("K"),
            1);
}

const std::string kOnlyOnes = R"((float[A, B] x) => (float[A, B] y) <float[3, 4] w = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> { e = Exp(x)  m = MatMul(e, w)  y = MatMul(m, w) })";

TEST_F(FittingExtents, WhereNoneFitTheInputIsCarriedThrough) {
  const ImportedModel model = import(kOnlyOnes);
  EXPECT_THAT(model.warnings, Contains(HasSubstr("no extents of A, B were found")));
  EXPECT_EQ(model.untouched.size(), 3u);
  export_with_symbols(path_, model, model.graph, folder_ / "copy.onnx");
  EXPECT_EQ(read_message<onnx::ModelProto>(folder_ / "copy.onnx").graph().node_size(), 3);
}

TEST_F(FittingExtents, WhatAPersonGivesIsRefusedWhereItDoesNotFit) {
  const std::string product =
      R"((float[M, K] x) => (float[M, 1] y) <float[2, 1] w = {1, 2}> { y = MatMul(x, w) })";
  EXPECT_THAT(refusal(product, {.dims = {"K=5"}}), HasSubstr("MatMul"));
  EXPECT_THAT(refusal(product, {.shapes = {"x=1,5"}}), HasSubstr("MatMul"));
  EXPECT_EQ(refusal(product, {.dims = {"M=5"}}), "none");
  EXPECT_THAT(refusal(kOnlyOnes, {.dims = {"A=5"}}), HasSubstr("MatMul"));
}

TEST_F(FittingExtents, OtherMistakesAreRefusedAsWithoutSymbols) {
  EXPECT_THAT(refusal("(float[M] x) => (float[M] y) { y = Relu(x, x) }", {}),
              HasSubstr("input size 2"));
}

}  // namespace
}  // namespace reverie::testing
