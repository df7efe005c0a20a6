#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/ir/text.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "core/onnx/opset.h"
#include "core/onnx/write_node.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::CaseBuilder;
using ::testing::ElementsAre;
using testing::f32;
using testing::Ints;
using ::testing::IsEmpty;
using testing::OperatorCase;

class OperatorRoundTrip : public ::testing::TestWithParam<OperatorCase> {};

/// An opset that has every operator of the graph, or a file for ONNX Runtime.
ModelInfo info_with(const Graph& graph) {
  ModelInfo info;
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node) || proto::can_write(graph, node, {proto::kNewestInLibrary})) continue;
    if (proto::can_write(graph, node, {kNewestOpset}))
      info.opset_imports[""] = kNewestOpset;
    else
      info.for_onnx_runtime = true;
  }
  return info;
}

TEST_P(OperatorRoundTrip, KeepsTheNode) {
  const TemporaryDirectory folder;
  const Graph& graph = GetParam().graph;
  export_onnx(graph, info_with(graph), folder / "model.onnx");
  const ImportedModel again = import_onnx(folder / "model.onnx");
  EXPECT_THAT(again.warnings, IsEmpty());
  EXPECT_TRUE(isomorphic(again.graph, lower(graph)));
  EXPECT_TRUE(isomorphic(parse_graph(to_text(graph)), graph));
}

/// Without those that no file holds.
std::vector<OperatorCase> cases_of_files() {
  std::vector<OperatorCase> cases = testing::operator_cases();
  std::erase_if(cases, [](const OperatorCase& one) {
    return std::ranges::any_of(one.graph.nodes(),
                               [&](NodeId node) { return one.graph.op(node).fused; });
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, OperatorRoundTrip, ::testing::ValuesIn(cases_of_files()),
                         [](const auto& info) { return info.param.name; });

/// Writes the graph for an opset; the model's nodes as they came back, without its constants.
struct Written {
  ImportedModel model;
  onnx::GraphProto proto;
};

Written written_for(const Graph& graph, int opset) {
  const TemporaryDirectory folder;
  ModelInfo info;
  info.opset_imports[""] = opset;
  export_onnx(graph, info, folder / "model.onnx");
  Written written{import_onnx(folder / "model.onnx"),
                  testing::read_message<onnx::ModelProto>(folder / "model.onnx").graph()};
  EXPECT_THAT(written.model.warnings, IsEmpty());
  EXPECT_TRUE(isomorphic(written.model.graph, lower(graph))) << "opset " << opset;
  return written;
}

Graph repeated(const std::string& mode, const std::string& positions) {
  const OperatorCase one = CaseBuilder("Resize", {f32({1, 3, 4, 5})})
                               .with("scales", std::vector<double>{1, 1, 2, 1.5})
                               .with("mode", mode)
                               .with("nearest_mode", std::string("floor"))
                               .with("coordinate_transformation_mode", positions);
  return one.graph;
}

TEST(WrittenResize, IsSaidInTheWordsOfItsOpset) {
  const Graph older = repeated("nearest", "asymmetric");
  for (const auto& [opset, op, inputs] : {std::tuple{7, "Upsample", 1},
                                          {9, "Upsample", 2},
                                          {10, "Resize", 2},
                                          {11, "Resize", 3},
                                          {13, "Resize", 3}}) {
    const Written written = written_for(older, opset);
    EXPECT_EQ(written.model.info.opset_imports.at(""), opset);
    EXPECT_EQ(written.proto.node(0).op_type(), op);
    EXPECT_EQ(written.proto.node(0).input_size(), inputs) << opset;
  }
  EXPECT_EQ(written_for(repeated("linear", "half_pixel"), 9).model.info.opset_imports.at(""), 11);
}

/// An input that opset 11 demands may not be absent; since 13 it may.
TEST(WrittenResize, FillsInputsThatMayNotBeAbsent) {
  const OperatorCase one =
      CaseBuilder("Resize", {f32({1, 3, 4, 5})}).with("sizes", Ints{1, 3, 7, 7});
  const onnx::GraphProto old = written_for(one.graph, 11).proto;
  for (const auto& input : old.node(0).input()) EXPECT_FALSE(input.empty());
  EXPECT_THAT(written_for(one.graph, 13).proto.node(0).input(2), IsEmpty());
}

TEST(WrittenQuantizers, NeedANewOpsetForAnAxis) {
  const auto opset_of = [](const OperatorCase& one) {
    return written_for(one.graph, 10).model.info.opset_imports.at("");
  };
  const TensorType bytes = testing::of(DType::kInt8, {2, 3});
  EXPECT_EQ(opset_of(CaseBuilder("DequantizeLinear", {bytes, f32({})})), 10);
  EXPECT_EQ(opset_of(CaseBuilder("DequantizeLinear", {bytes, f32({2})}).with("axis", int64_t{0})),
            13);
}

TEST(WrittenRecurrences, HaveNoOutputsThatNobodyReads) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({5, 2, 3}));
  const ValueId w = graph.add_input("w", f32({1, 16, 3}));
  const ValueId r = graph.add_input("r", f32({1, 16, 4}));
  const NodeId lstm = graph.add_node(op_named("LSTM"), std::vector{x, w, r});
  graph.add_output("h", graph.output(lstm, 1));
  const Written written = written_for(graph, 7);
  EXPECT_THAT(written.proto.node(0).output(), ElementsAre("", "h"));
}

/// A filter that stands in the file as bytes, as quantized models hold them.
constexpr const char* kQuantized = R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 2, 4, 4] x) => (float[1, 2, 4, 4] y)
    <int8[2, 2, 1, 1] w = {1, -2, 3, 4}, float s = {0.5}, int8 z = {1}, float[2] one = {1, 1},
     float[2] factor = {2, 3}, float u = {0.1}, uint8 v = {128}> {
      q = QuantizeLinear(x, u, v)
      a = DequantizeLinear(q, u, v)
      f = DequantizeLinear(w, s, z)
      c = Conv(a, f)
      y = BatchNormalization(c, factor, one, one, one)
    })";

TEST(QuantizedModels, KeepTheirBytes) {
  const TemporaryDirectory folder;
  testing::write_message(testing::parse(kQuantized), folder / "model.onnx");
  const ImportedModel model = import_onnx(folder / "model.onnx");
  EXPECT_THAT(model.warnings, IsEmpty());
  export_onnx(model.graph, model.info, folder / "copy.onnx");
  std::multiset<std::string> ops;
  const auto copy = testing::read_message<onnx::ModelProto>(folder / "copy.onnx");
  for (const auto& node : copy.graph().node()) ops.insert(node.op_type());
  EXPECT_THAT(ops, ElementsAre("BatchNormalization", "Conv", "DequantizeLinear", "DequantizeLinear",
                               "QuantizeLinear"));
  EXPECT_TRUE(compare(model.graph, import_onnx(folder / "copy.onnx").graph).agree);
}

}  // namespace
}  // namespace reverie
