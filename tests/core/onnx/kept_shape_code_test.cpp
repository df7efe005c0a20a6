#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/onnx/shape_code.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> dims_of(const onnx::ValueInfoProto& value) {
  std::vector<std::string> dims;
  for (const auto& dim : value.type().tensor_type().shape().dim())
    dims.push_back(dim.dim_param().empty() ? std::to_string(dim.dim_value()) : dim.dim_param());
  return dims;
}

/// Models that compute shapes as exporters write it; what is written keeps every symbol.
class KeptShapeCode : public ::testing::Test {
 protected:
  static std::string with_opset(const std::string& graph, int opset) {
    return "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g " + graph;
  }

  void expect_symbols_kept(const std::string& graph, int opset = 13,
                           ImportOptions options = {.dims = {"b=1,s=8"}}) {
    SCOPED_TRACE(graph);
    options.carried = ImportOptions::Carried::kAll;
    testing::write_message(testing::parse(with_opset(graph, opset)), original_);
    const ImportedModel model = import_onnx(original_, options);
    EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
    const auto before = testing::read_message<onnx::ModelProto>(original_);
    const auto after = testing::read_message<onnx::ModelProto>(written_);
    EXPECT_EQ(dims_of(after.graph().input(0)), dims_of(before.graph().input(0)));
    EXPECT_EQ(dims_of(after.graph().output(0)), dims_of(before.graph().output(0)));
  }

  /// Both files at extents that no trial has used.
  void expect_agreement_at(const std::string& dims) {
    const Graph a = import_onnx(original_, {.dims = {dims}}).graph;
    const Graph b = import_onnx(written_, {.dims = {dims}}).graph;
    const Agreement agreement = compare(a, b);
    EXPECT_TRUE(agreement.agree) << dims << ": " << agreement.reason;
  }

  TemporaryDirectory folder_;
  std::filesystem::path original_ = folder_ / "original.onnx";
  std::filesystem::path written_ = folder_ / "written.onnx";
};

constexpr const char* kExtents = R"(
    shape = Shape(x)
    zero = Constant<value_ints = [0]>()  one = Constant<value_ints = [1]>()
    first = Constant<value_int = 0>()  second = Constant<value_int = 1>()
    batch = Gather<axis = 0>(shape, first)   length = Gather<axis = 0>(shape, second)
    batches = Unsqueeze(batch, zero)         lengths = Unsqueeze(length, zero) )";

std::string with_extents(const std::string& rest, const std::string& output = "float[b, s, 6] y") {
  return "(float[b, s, 6] x) => (" + output + ") {" + kExtents + rest + "}";
}

TEST_F(KeptShapeCode, ReshapeToHeadsAndBack) {
  expect_symbols_kept(with_extents(R"(
      heads = Constant<value_ints = [2, 3]>()  width = Constant<value_ints = [6]>()
      split_shape = Concat<axis = 0>(batches, lengths, heads)
      split = Reshape(x, split_shape)
      turned = Transpose<perm = [0, 2, 1, 3]>(split)
      again = Transpose<perm = [0, 2, 1, 3]>(turned)
      joined_shape = Concat<axis = 0>(batches, lengths, width)
      y = Reshape(again, joined_shape) )"));
  expect_agreement_at("b=3,s=5");
}

TEST_F(KeptShapeCode, ReshapeToOneAxisAndBack) {
  expect_symbols_kept(with_extents(R"(
      width = Constant<value_ints = [6]>()
      rows = Mul(batch, length)  row_list = Unsqueeze(rows, zero)
      flat_shape = Concat<axis = 0>(row_list, width)
      flat = Reshape(x, flat_shape)
      active = Relu(flat)
      full_shape = Concat<axis = 0>(batches, lengths, width)
      y = Reshape(active, full_shape) )"));
  expect_agreement_at("b=3,s=5");
}

TEST_F(KeptShapeCode, ExpandOfAMask) {
  expect_symbols_kept(R"((float[b, s] mask) => (float[b, 1, s, s] y) {
      shape = Shape(mask)
      zero = Constant<value_ints = [0]>()  one = Constant<value_ints = [1]>()  two = Constant<value_ints = [2]>()
      middle = Constant<value_ints = [1, 2]>()
      batches = Slice(shape, zero, one, zero)
      length = Slice(shape, one, two, zero)
      to = Concat<axis = 0>(batches, one, length, length)
      wide = Unsqueeze(mask, middle)
      spread = Expand(wide, to)
      y = Neg(spread) })");
}

TEST_F(KeptShapeCode, RangeOverTheSequence) {
  expect_symbols_kept(with_extents(R"(
      positions = Range(first, length, second)
      buffer = Constant<value_floats = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]>()
      found = Gather<axis = 0>(buffer, positions)
      row = Unsqueeze(found, one)
      y = Add(x, row) )"));
  expect_agreement_at("b=2,s=11");
}

TEST_F(KeptShapeCode, PositionsSlicedFromABuffer) {
  expect_symbols_kept(with_extents(R"(
      buffer = Constant<value_floats = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0]>()
      part = Slice(buffer, zero, lengths, zero)
      row = Unsqueeze(part, one)
      y = Add(x, row) )"));
  expect_agreement_at("b=2,s=19");
}

TEST_F(KeptShapeCode, SlicedWeights) {
  onnx::ModelProto model = testing::parse(with_opset(with_extents(R"(
      part = Slice(table, zero, lengths, zero)
      y = Add(x, part) )"),
                                                     13));
  auto* table = model.mutable_graph()->add_initializer();
  table->set_name("table");
  table->set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t extent : {64, 6}) table->add_dims(extent);
  for (int i = 0; i < 64 * 6; ++i) table->add_float_data(static_cast<float>(i % 17) * 0.25F);
  testing::write_message(model, original_);
  const ImportedModel imported =
      import_onnx(original_, {.dims = {"b=1,s=8"}, .carried = ImportOptions::Carried::kAll});
  EXPECT_THAT(export_with_symbols(original_, imported, imported.graph, written_), IsEmpty());
  expect_agreement_at("b=2,s=60");
}

TEST_F(KeptShapeCode, ConstantOfADynamicShape) {
  expect_symbols_kept(with_extents(R"(
      all = ConstantOfShape(shape)
      half = Constant<value_float = 0.5>()
      halves = Add(all, half)
      y = Mul(x, halves) )"));
  expect_agreement_at("b=2,s=5");
}

TEST_F(KeptShapeCode, SliceUpToTheEnd) {
  expect_symbols_kept(with_extents(R"(
      end = Constant<value_ints = [9223372036854775807]>()
      tail = Slice(x, one, end, one)
      head = Slice(x, zero, one, one)
      y = Concat<axis = 1>(tail, head) )"));
  expect_agreement_at("b=2,s=30");
}

TEST_F(KeptShapeCode, SliceByHalfTheLength) {
  expect_symbols_kept(with_extents(R"(
      two = Constant<value_ints = [2]>()  end = Constant<value_ints = [1000000]>()
      half = Div(lengths, two)
      left = Slice(x, zero, half, one)
      right = Slice(x, half, end, one)
      y = Concat<axis = 1>(right, left) )"));
  expect_agreement_at("b=2,s=13");
}

TEST_F(KeptShapeCode, TileToTheBatch) {
  expect_symbols_kept(with_extents(R"(
      ones = Constant<value_ints = [1, 1]>()
      token = Constant<value = float[1, 1, 6] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}>()
      repeats = Concat<axis = 0>(batches, ones)
      tokens = Tile(token, repeats)
      y = Concat<axis = 1>(tokens, x) )",
                                   "float[b, t, 6] y"));
  expect_agreement_at("b=4,s=3");
}

/// Scales are no integers, so that only the file's own node says how they are computed.
TEST_F(KeptShapeCode, ResizeByScalesOfShapes) {
  expect_symbols_kept(R"((float[1, 3, h, w] x) => (float[1, 3, h, w] y) {
      half = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
      from = Shape(half)  to = Shape(x)
      from_floats = Cast<to = 1>(from)  to_floats = Cast<to = 1>(to)
      scales = Div(to_floats, from_floats)
      back = Resize<mode = "nearest", nearest_mode = "floor">(half, , scales)
      y = Add(x, back) })",
                      13, {.dims = {"h=8,w=6"}});
  expect_agreement_at("h=12,w=9");
}

TEST_F(KeptShapeCode, AReshapeNeedsNoCodeForOneAxis) {
  expect_symbols_kept(with_extents(R"(
      width = Constant<value_ints = [6]>()
      rows = Mul(batch, length)  row_list = Unsqueeze(rows, zero)
      flat_shape = Concat<axis = 0>(row_list, width)
      y = Reshape(x, flat_shape) )",
                                   "float[r, 6] y"));
  const auto model = testing::read_message<onnx::ModelProto>(written_);
  EXPECT_EQ(model.graph().node_size(), 1);
}

/// The batch is 1 or as long as the sequence.
TEST_F(KeptShapeCode, OfDimensionsThatHaveToBeEqual) {
  expect_symbols_kept(R"((float[b, 2, 4] x, float[s, 2, 4] z) => (float[s, 8] y) {
      sum = Add(x, z)
      shape = Shape(sum)
      zero = Constant<value_ints = [0]>()  one = Constant<value_ints = [1]>()
      width = Constant<value_ints = [8]>()
      rows = Slice(shape, zero, one, zero)
      flat = Concat<axis = 0>(rows, width)
      y = Reshape(sum, flat) })");
  expect_agreement_at("b=7,s=7");
  expect_agreement_at("b=1,s=9");
}

TEST_F(KeptShapeCode, AutomaticPadding) {
  expect_symbols_kept(R"((float[b, 3, h, w] x) => (float[b, 2, h2, w2] y) {
      weight = Constant<value = float[2, 3, 1, 2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}>()
      y = Conv<auto_pad = "SAME_UPPER", strides = [2, 2]>(x, weight) })",
                      13, {.dims = {"b=1,h=8,w=8"}});
  expect_agreement_at("b=2,h=7,w=5");
}

TEST_F(KeptShapeCode, ResizeToTheExtentsOfAnotherValue) {
  expect_symbols_kept(R"((float[b, 2, h, w] x) => (float[b, 2, h, w] y) {
      zero = Constant<value_ints = [0]>()  two = Constant<value_ints = [2]>()  four = Constant<value_ints = [4]>()
      shape = Shape(x)
      small = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
      small_shape = Shape(small)
      front = Slice(small_shape, zero, two, zero)
      back = Slice(shape, two, four, zero)
      sizes = Concat<axis = 0>(front, back)
      y = Resize<mode = "nearest">(small, , , sizes) })",
                      13, {.dims = {"b=1,h=8,w=10"}});
}

TEST_F(KeptShapeCode, ExtentsOfAHiddenValue) {
  expect_symbols_kept(R"((float[b, 2, h, w] x) => (float[b, n, 2] y) {
      zero = Constant<value_ints = [0]>()  one = Constant<value_ints = [1]>()  two = Constant<value_ints = [2]>()
      small = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)
      shape = Shape(small)
      batches = Slice(shape, zero, one, zero)
      three = Constant<value_ints = [3]>()  four = Constant<value_ints = [4]>()
      height = Slice(shape, two, three, zero)
      width = Slice(shape, three, four, zero)
      places = Mul(height, width)
      to = Concat<axis = 0>(batches, two, places)
      flat = Reshape(small, to)
      y = Transpose<perm = [0, 2, 1]>(flat) })",
                      13, {.dims = {"b=1,h=8,w=10"}});
}

/// A model of random steps, each of which uses the extents in a way of its own.
std::string random_graph(Rng& rng, int steps) {
  std::string body;
  std::string x = "x";
  for (int i = 0; i < steps; ++i) {
    const std::string n = std::to_string(i);
    const std::string y = "v" + n;
    const auto name = [&](const char* stem) { return std::string(stem) + n; };
    switch (rng.below(7)) {
      case 0:
        body += y + " = Relu(" + x + ")\n";
        break;
      case 1:
        body += name("h") + " = Reshape(" + x + ", heads)\n" + name("t") +
                " = Transpose<perm = [0, 2, 1, 3]>(" + name("h") + ")\n" + name("b") +
                " = Transpose<perm = [0, 2, 1, 3]>(" + name("t") + ")\n" + y + " = Reshape(" +
                name("b") + ", full)\n";
        break;
      case 2:
        body += name("r") + " = Range(first, length, second)\n" + name("f") + " = Cast<to = 1>(" +
                name("r") + ")\n" + name("u") + " = Unsqueeze(" + name("f") + ", one)\n" + y +
                " = Add(" + x + ", " + name("u") + ")\n";
        break;
      case 3:
        body += name("e") + " = Expand(row, full)\n" + y + " = Mul(" + x + ", " + name("e") + ")\n";
        break;
      case 4:
        body += name("p") + " = Reshape(" + x + ", flat)\n" + name("q") + " = Tanh(" + name("p") +
                ")\n" + y + " = Reshape(" + name("q") + ", full)\n";
        break;
      case 5:
        body += name("l") + " = Slice(" + x + ", one, end, one)\n" + name("m") + " = Slice(" + x +
                ", zero, one, one)\n" + y + " = Concat<axis = 1>(" + name("l") + ", " + name("m") +
                ")\n";
        break;
      default:
        body +=
            name("c") + " = ConstantOfShape(full)\n" + y + " = Add(" + x + ", " + name("c") + ")\n";
    }
    x = y;
  }
  return with_extents(R"(
      row = Constant<value = float[1, 1, 6] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}>()
      width = Constant<value_ints = [6]>()  parts = Constant<value_ints = [2, 3]>()
      end = Constant<value_ints = [9223372036854775807]>()
      rows = Mul(batches, lengths)
      full = Concat<axis = 0>(batches, lengths, width)
      flat = Concat<axis = 0>(rows, width)
      heads = Concat<axis = 0>(batches, lengths, parts)
      )" + body + "y = Neg(" +
                      x + ")");
}

TEST_F(KeptShapeCode, RandomModelsKeepTheirSymbolsAndAgreeAtOtherExtents) {
  constexpr int kModels = 20;
  for (uint64_t seed = 0; seed < kModels; ++seed) {
    Rng rng(seed);
    expect_symbols_kept(random_graph(rng, 1 + static_cast<int>(rng.below(7))));
    expect_agreement_at("b=5,s=6");
    expect_agreement_at("b=2,s=17");
  }
}

}  // namespace
}  // namespace reverie
