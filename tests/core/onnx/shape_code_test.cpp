#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/exec/compare.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// What PyTorch's exporter writes for shapes, positions and masks.
class ShapeCode : public ::testing::Test {
 protected:
  ImportedModel import(const std::string& text) {
    testing::write_message(testing::parse(text), folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }
  static std::map<std::string, int> operators(const Graph& graph) {
    std::map<std::string, int> counts;
    for (const NodeId node : graph.nodes())
      if (graph.weight(node) == nullptr && &graph.op(node) != &input_op())
        ++counts[graph.op(node).name];
    return counts;
  }
  /// The constant that the only node adds to, or multiplies with, the input.
  static Tensor folded(const Graph& graph) {
    for (const NodeId node : graph.nodes())
      if (graph.weight(node) != nullptr) return graph.weight(node)->materialize();
    throw InputError("no constant is left");
  }
  void expect_round_trip(const ImportedModel& model) {
    export_onnx(model.graph, model.info, folder_ / "copy.onnx");
    const ImportedModel copy = import_onnx(folder_ / "copy.onnx");
    EXPECT_EQ(operators(copy.graph), operators(model.graph));
    const Agreement agreement = compare(model.graph, copy.graph);
    EXPECT_TRUE(agreement.agree) << agreement.reason;
  }

  TemporaryDirectory folder_;
};

/// The mask of shifted windows as torchvision writes it: a canvas of zeros, numbered region by
/// region through ScatterND, cut into windows; elements of different regions do not see each other.
TEST_F(ShapeCode, MaskOfShiftedWindows) {
  const std::string regions = R"(
      rows = Constant <value = int64[4] {0, 1, 2, 3}> ()
      start = Constant <value = int64[1] {2}> () end = Constant <value = int64[1] {9223372036854775807}> ()
      axis0 = Constant <value = int64[1] {0}> () axis1 = Constant <value = int64[1] {1}> ()
      all = Slice(places, start, end, axis0)
      part = Slice(all, start, end, axis1)
      extents = Shape(part) two = Constant <value = int64[1] {2}> ()
      cut = Constant <value = int64[1] {-1}> () zero = Constant <value = int64[1] {0}> ()
      outer = Slice(extents, zero, cut, zero)
      number = Constant <value = float {3}> ()
      update = Expand(number, outer)
      numbered = ScatterND(canvas, part, update))";
  const ImportedModel model = import(R"(
    <ir_version: 7, opset_import: ["" : 13]>
    g (float[4, 16, 16] x) => (float[4, 16, 16] y) {
      s = Shape(x)
      i1 = Constant <value = int64 {1}> ()
      side = Gather(s, i1)
      window = Constant <value = int64 {4}> () shift = Constant <value = int64 {2}> ()
      rest = Mod(side, window)
      missing = Sub(window, rest) pad = Mod(missing, window)
      axes = Constant <value = int64[1] {0}> ()
      extent = Sub(side, missing) half = Div(side, shift)
      h = Unsqueeze(half, axes)
      shape = Concat <axis = 0> (h, h)
      canvas = ConstantOfShape <value = float[1] {0}> (shape)
      from = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> ()
      line = Range(from, half, one)
      to_column = Constant <value = int64[2] {-1, 1}> () column = Reshape(line, to_column)
      grid_y = Expand(column, shape) grid_x = Expand(line, shape)
      last = Constant <value = int64[1] {-1}> ()
      a = Unsqueeze(grid_y, last) b = Unsqueeze(grid_x, last)
      places = Concat <axis = -1> (a, b))" +
                                     regions + R"(
      four = Constant <value = int64[4] {2, 4, 2, 4}> ()
      blocks = Reshape(numbered, four)
      windows = Transpose <perm = [0, 2, 1, 3]> (blocks)
      flat = Constant <value = int64[2] {4, 16}> ()
      lists = Reshape(windows, flat)
      p = Unsqueeze(lists, axis1) q = Unsqueeze(lists, two)
      difference = Sub(p, q)
      nought = Constant <value = float {0}> () low = Constant <value = float {-100}> ()
      same = Equal(difference, nought) other = Not(same)
      masked = Where(other, low, difference)
      mask = Where(same, nought, masked)
      y = Add(x, mask)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("Add", 1)));
  const std::vector<double> mask = folded(model.graph).to_doubles();
  ASSERT_EQ(mask.size(), 4u * 16 * 16);
  // Of the 16 elements of a window, 4, 8, 8 and all 16 lie in the region.
  EXPECT_EQ(std::count(mask.begin(), mask.end(), -100), 2 * (4 * 12 + 8 * 8 + 8 * 8));
  EXPECT_EQ(std::count(mask.begin(), mask.end(), 0), 4 * 16 * 16 - 352);
  expect_round_trip(model);
}

/// torch.tril of ones, sliced, compared and filled in, as GPT-2 does; and by comparing positions.
TEST_F(ShapeCode, CausalMasks) {
  const ImportedModel model = import(R"(
    <ir_version: 8, opset_import: ["" : 14]>
    g (float[1, 2, 12, 12] x) => (float[1, 2, 12, 12] y, float[1, 2, 12, 12] z) {
      s = Shape(x) i = Constant <value = int64 {3}> () n = Gather(s, i)
      axes = Constant <value = int64[1] {0}> () n1 = Unsqueeze(n, axes)
      square = Concat <axis = 0> (n1, n1)
      ones = ConstantOfShape <value = float[1] {1}> (square)
      lower = Trilu <upper = 0> (ones)
      truth = Cast <to = 9> (lower)
      lead = Constant <value = int64[2] {0, 1}> () four = Unsqueeze(truth, lead)
      zero = Constant <value = int64[1] {0}> () three = Constant <value = int64[1] {3}> ()
      part = Slice(four, zero, n1, three)
      low = Constant <value = float {-10000}> () nought = Constant <value = float {0}> ()
      bias = Where(part, nought, low)
      y = Add(x, bias)
      from = Constant <value = int64 {0}> () one = Constant <value = int64 {1}> ()
      positions = Range(from, n, one)
      to_column = Constant <value = int64[2] {-1, 1}> () column = Reshape(positions, to_column)
      later = Less(column, positions)
      number = Cast <to = 1> (later) scaled = Mul(number, low)
      z = Add(x, scaled)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("Add", 2)));
  expect_round_trip(model);
}

TEST_F(ShapeCode, PositionsByCumulativeSums) {
  const ImportedModel model = import(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (int64[2, 80] ids) => (int64[2, 80] y) {
      s = Shape(ids)
      ones = ConstantOfShape <value = int64[1] {1}> (s)
      axis = Constant <value = int64 {1}> ()
      sums = CumSum(ones, axis)
      masked = Mul(sums, ones)
      pad = Constant <value = int64 {1}> ()
      positions = Add(masked, pad)
      y = Add(ids, positions)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("Add", 1)));
  const std::vector<int64_t> positions = folded(model.graph).to_integers();
  EXPECT_EQ(positions.at(0), 2);
  EXPECT_EQ(positions.at(79), 81);
  EXPECT_EQ(positions.at(80), 2);
  expect_round_trip(model);
}

/// The places of a mask that is known, by which embeddings are picked.
TEST_F(ShapeCode, PlacesOfAKnownMask) {
  const ImportedModel model = import(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[3, 4] x) => (float[m] y, float[2, 4] z) {
      mask = Constant <value = int64[3] {1, 0, 1}> () truth = Cast <to = 9> (mask)
      places = NonZero(truth)
      tuples = Transpose <perm = [1, 0]> (places)
      picked = GatherND(x, tuples)
      flat = Constant <value = int64[1] {-1}> () y = Reshape(picked, flat)
      z = Compress <axis = 0> (x, truth)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph),
              ElementsAre(Pair("Gather", 1), Pair("GatherND", 1), Pair("Reshape", 1)));
  expect_round_trip(model);
}

/// A range as exporters of opset 9 write it.
TEST_F(ShapeCode, RangesByPlacesOfOnes) {
  const ImportedModel model = import(R"(
    <ir_version: 4, opset_import: ["" : 9]>
    g (float[2, 70] x) => (float[2, 70] y) {
      s = Shape(x) i = Constant <value = int64[1] {1}> () n = Gather(s, i)
      ones = ConstantOfShape <value = float[1] {1}> (n)
      places = NonZero(ones)
      column = Transpose <perm = [1, 0]> (places)
      line = Squeeze <axes = [1]> (column)
      f = Cast <to = 1> (line)
      y = Add(x, f)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("Add", 1)));
  EXPECT_EQ(folded(model.graph).to_doubles().at(69), 69);
  expect_round_trip(model);
}

/// torch.meshgrid of two ranges, stacked and normalised: coordinates of a detector's anchors.
TEST_F(ShapeCode, Grids) {
  const ImportedModel model = import(R"(
    <ir_version: 7, opset_import: ["" : 12]>
    g (float[1, 3, 10, 12] x) => (float[10, 12, 2] y) {
      s = Shape(x)
      i2 = Constant <value = int64 {2}> () i3 = Constant <value = int64 {3}> ()
      h = Gather(s, i2) w = Gather(s, i3)
      hf = Cast <to = 1> (h) wf = Cast <to = 1> (w)
      from = Constant <value = float {0}> () one = Constant <value = float {1}> ()
      ys = Range(from, hf, one) xs = Range(from, wf, one)
      column = Constant <value = int64[2] {-1, 1}> () yc = Reshape(ys, column)
      h1 = Unsqueeze <axes = [0]> (h) w1 = Unsqueeze <axes = [0]> (w)
      shape = Concat <axis = 0> (h1, w1)
      gy = Expand(yc, shape) gx = Expand(xs, shape)
      a = Unsqueeze <axes = [2]> (gy) b = Unsqueeze <axes = [2]> (gx)
      grid = Concat <axis = -1> (b, a)
      half = Constant <value = float {0.5}> ()
      centred = Add(grid, half)
      corner = Constant <value = int64[4] {0, 0, 0, 0}> ()
      r = Constant <value = int64[2] {1, -1}> () first = Reshape(x, r)
      least = ReduceMin <axes = [1], keepdims = 0> (first)
      y = Add(centred, least)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph),
              ElementsAre(Pair("Add", 1), Pair("ReduceMin", 1), Pair("Reshape", 1)));
  const std::vector<double> grid = folded(model.graph).to_doubles();
  ASSERT_EQ(grid.size(), 240u);
  EXPECT_EQ(grid[239], 9.5);
  EXPECT_EQ(grid[238], 11.5);
  expect_round_trip(model);
}

/// F.interpolate: extents times factors, rounded down, joined to the sizes of a pooled or padded
/// result.
TEST_F(ShapeCode, SizesOfInterpolation) {
  const ImportedModel model = import(R"(
    <ir_version: 7, opset_import: ["" : 12]>
    g (float[1, 3, 5, 7] x) => (float[1, 3, 10, 14] y) {
      s = Shape(x)
      i2 = Constant <value = int64 {2}> () i3 = Constant <value = int64 {3}> ()
      h = Gather(s, i2) w = Gather(s, i3)
      factor = Constant <value = float {2}> ()
      hf = Cast <to = 1> (h) wf = Cast <to = 1> (w)
      hm = Mul(hf, factor) wm = Mul(wf, factor)
      hr = Floor(hm) wr = Floor(wm)
      hi = Cast <to = 7> (hr) wi = Cast <to = 7> (wr)
      h1 = Unsqueeze <axes = [0]> (hi) w1 = Unsqueeze <axes = [0]> (wi)
      zero = Constant <value = int64[1] {0}> () two = Constant <value = int64[1] {2}> ()
      lead = Slice(s, zero, two, zero)
      sizes = Concat <axis = 0> (lead, h1, w1)
      least = Min(sizes, sizes, sizes) most = Max(least, sizes, least)
      same = Equal(most, sizes)
      chosen = Where(same, most, s)
      repeats = Div(chosen, s)
      y = Tile(x, repeats)
    })");
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("Tile", 1)));
}

/// Einsum as attention writes it.
TEST_F(ShapeCode, EinsteinSumsThatAreProducts) {
  const auto imported = [&](const std::string& a, const std::string& b,
                            const std::string& equation) {
    const ImportedModel model = import(fmt::format(R"(
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[{}] a, float[{}] b) => (float[n] y) {{ y = Einsum <equation = "{}"> (a, b) }})",
                                                   a, b, equation));
    Graph one;
    const auto input = [&](size_t i) {
      const NodeId id = model.graph.inputs()[i];
      return one.add_input(model.graph.input_name(id), model.graph.type(model.graph.output(id)));
    };
    const ValueId x = input(0);
    const ValueId y = input(1);
    one.add_output("y", one.add("Einsum", {x, y}, {{"equation", equation}}));
    const Agreement agreement = compare(one, model.graph);
    EXPECT_TRUE(agreement.agree) << equation << ": " << agreement.reason;
    return operators(model.graph);
  };
  EXPECT_THAT(imported("5, 4", "4, 3", "ik,kj->ij"), ElementsAre(Pair("MatMul", 1)));
  EXPECT_THAT(imported("1, 2, 5, 4", "1, 2, 6, 4", "bhqd,bhkd->bhqk"),
              ElementsAre(Pair("MatMul", 1), Pair("Transpose", 1)));
  EXPECT_THAT(imported("2, 5, 4", "2, 4, 3", "bij,bjk->bki"),
              ElementsAre(Pair("MatMul", 1), Pair("Transpose", 2)));
  EXPECT_THAT(imported("2, 5, 4", "4, 3", "bsd,dh->bsh"), ElementsAre(Pair("MatMul", 1)));
  EXPECT_THAT(imported("2, 5, 4", "3, 4", "...d,hd->...h"),
              ElementsAre(Pair("MatMul", 1), Pair("Transpose", 1)));
  EXPECT_THAT(imported("2, 5, 4", "5, 4, 3", "bij,ijk->bk"), ElementsAre(Pair("Einsum", 1)));
  EXPECT_THAT(imported("5, 4", "5, 4", "ij,ij->ij"), ElementsAre(Pair("Einsum", 1)));
}

/// Weights of a light model stay weights, whatever is computed from them.
TEST_F(ShapeCode, FillsOfOtherNumbersThanMasksHaveAreWeights) {
  const ImportedModel model = import(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[4, 12] x) => (float[4, 12] y) {
      extents = Constant <value = int64[2] {12, 12}> ()
      w = ConstantOfShape <value = float[1] {0.02}> (extents)
      t = Transpose <perm = [1, 0]> (w)
      y = MatMul(x, t)
    })");
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("MatMul", 1), Pair("Transpose", 1)));
}

/// Neither does a table of bytes become one of floats that is four times as large.
TEST_F(ShapeCode, WhatIsStoredInAShorterFormStaysSo) {
  onnx::ModelProto proto = testing::parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[4, 12] x) => (float[4, 12] y) {
      t = Transpose <perm = [1, 0]> (w)
      f = Cast <to = 1> (t)
      y = MatMul(x, f)
    })");
  std::vector<int8_t> values(144);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int8_t>(i);
  proto::write_tensor(Tensor::of<int8_t>({12, 12}, values), "w",
                      proto.mutable_graph()->add_initializer());
  testing::write_message(proto, folder_ / "model.onnx");
  const ImportedModel model = import_onnx(folder_ / "model.onnx");
  EXPECT_THAT(operators(model.graph), ElementsAre(Pair("Cast", 1), Pair("MatMul", 1)));
}

TEST_F(ShapeCode, AnIndexOutOfRangeIsNamed) {
  try {
    import(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[2] x) => (float[2] y) {
        data = Constant <value = float[2] {1, 2}> ()
        places = Constant <value = int64[1, 1] {5}> ()
        update = Constant <value = float[1] {7}> ()
        c = ScatterND(data, places, update)
        y = Add(x, c)
      })");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ScatterND"));
    EXPECT_THAT(error.what(), HasSubstr("index 5 is out of range for an extent of 2"));
  }
}

}  // namespace
}  // namespace reverie
