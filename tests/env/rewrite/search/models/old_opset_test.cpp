#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/parser.h>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "env/rewrite/optimize/optimize.h"
#include "env/rewrite/optimize/written_costs.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

onnx::ModelProto parse(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

/// Layer normalization as exporters wrote it at opset 11, and an If, whose meaning changed at 13.
onnx::ModelProto normalization_and_if() {
  onnx::ModelProto model = parse(R"(
    <ir_version: 6, opset_import: ["" : 11]>
    g (bool c, float[2, 4] x) => (float[2, 4] y) {
      two = Constant <value = float {2}> ()
      epsilon = Constant <value = float {0.00001}> ()
      scale = Constant <value = float[4] {1, 2, 3, 4}> ()
      shift = Constant <value = float[4] {0.5, 1, 1.5, 2}> ()
      mean = ReduceMean <axes = [-1]> (x)
      d = Sub(x, mean)
      square = Pow(d, two)
      variance = ReduceMean <axes = [-1]> (square)
      e = Add(variance, epsilon)
      root = Sqrt(e)
      n = Div(d, root)
      s = Mul(n, scale)
      a = Add(s, shift)
      y = If(c)
    })");
  auto* node = model.mutable_graph()->mutable_node(model.graph().node_size() - 1);
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = parse(R"(
      <ir_version: 6, opset_import: ["" : 11]> b () => (float[2, 4] out) { out = Neg(a) })")
                                  .graph();
    attribute->mutable_g()->mutable_node(0)->set_output(0, std::string(name) + "_out");
    attribute->mutable_g()->mutable_output(0)->set_name(std::string(name) + "_out");
  }
  return model;
}

TEST(OldOpset, WhatRewritingMadeIsWrittenAtTheOpsetThatAnUntouchedNodeFixes) {
  const TemporaryDirectory folder;
  testing::write_message(normalization_and_if(), folder / "model.onnx");
  const ImportedModel model = import_onnx(folder / "model.onnx");
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const Graph best = optimize(model.graph, rules, make_cost_model("roofline:t4"),
                              on_rewrites(search::Greedy()), {})
                         .search.best;
  const auto normalizes = [&](NodeId node) { return best.op(node).is("LayerNormalization"); };
  const std::vector<NodeId> nodes = best.nodes();
  ASSERT_TRUE(std::any_of(nodes.begin(), nodes.end(), normalizes));
  export_onnx(best, model.info, folder / "best.onnx");
  onnx::checker::check_model(testing::read_message<onnx::ModelProto>(folder / "best.onnx"));
  const ImportedModel again = import_onnx(folder / "best.onnx");
  EXPECT_EQ(again.info.opset_imports.at(""), 11);
  const Agreement agreement = compare(model.graph, again.graph);
  EXPECT_TRUE(agreement.agree) << agreement.reason;
}

/// The reported cost is that of the file: read again, it costs the same, and no kernel is counted
/// that only a newer opset has.
TEST(OldOpset, CostsAreThoseOfTheNodesInTheFile) {
  const TemporaryDirectory folder;
  testing::write_message(normalization_and_if(), folder / "model.onnx");
  const ImportedModel model = import_onnx(folder / "model.onnx");
  EXPECT_EQ(newest_opset(model), 12);
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const auto estimates = make_cost_model("roofline:t4");
  const auto written = costs_as_written(estimates, newest_opset(model));
  EXPECT_EQ(costs_as_written(estimates, kNewestOpset), estimates);
  RewriteState state(model.graph, rules, written);
  for (int rule = 0; rule < rules->size(); ++rule)
    if (rules->name(rule).starts_with("layer_norm") && state.location_count(rule) > 0)
      state.commit(state.propose(state.locations(rule)[0]));
  export_onnx(state.graph(), model.info, folder / "best.onnx");
  EXPECT_EQ(state.cost(), graph_cost(*estimates, import_onnx(folder / "best.onnx").graph));
  EXPECT_GT(state.cost().launches, graph_cost(*estimates, state.graph()).launches);
  const SearchResult greedy =
      optimize(model.graph, rules, written, on_rewrites(search::Greedy()), {}).search;
  EXPECT_EQ(written->counters().measurements, 0);
  export_onnx(greedy.best, model.info, folder / "greedy.onnx");
  EXPECT_EQ(greedy.best_cost, graph_cost(*estimates, import_onnx(folder / "greedy.onnx").graph));
}

}  // namespace
}  // namespace reverie
