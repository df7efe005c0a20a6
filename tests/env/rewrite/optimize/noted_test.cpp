#include "env/rewrite/optimize/noted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/note_keys.h"
#include "core/onnx/tensors.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/method.h"
#include "env/rewrite/optimize/write_result.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kSource[] = "roofline:t4";

class Noted : public ::testing::Test {
 protected:
  /// A convolution that tells who wrote it, a batch normalization, a sum and a relu.
  static Graph chain() {
    Graph graph;
    const auto weight = [&](Shape shape, const std::string& name) {
      return graph.add_constant(Weight::fill({DType::kFloat32, std::move(shape)}, 0.5, name));
    };
    const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4, 8, 8}});
    const ValueId c = graph.add("Conv", {x, weight({8, 4, 3, 3}, "w")});
    const ValueId n = graph.add("BatchNormalization", {c, weight({8}, "s"), weight({8}, "b"),
                                                       weight({8}, "m"), weight({8}, "v")});
    const ValueId p = graph.add("Conv", {n, weight({8, 8, 1, 1}, "u")});
    for (const ValueId value : {c, p})
      graph.set_names(graph.producer(value),
                      std::make_shared<const NodeNames>(NodeNames{"", {}, {{"by", "me"}}}));
    const ValueId sum = graph.add("Add", {p, graph.add("Tanh", {n})});
    graph.add_output("y", graph.add("Relu", {sum}));
    return graph;
  }

  std::vector<RewriteStep> path(std::initializer_list<const char*> names) const {
    std::vector<RewriteStep> steps;
    for (const char* name : names) steps.push_back({rules_->find(name), 0});
    return steps;
  }

  Graph noted_end(const Graph& start, const std::vector<RewriteStep>& steps) const {
    return noted(replay({start, rules_, cost_}, steps).graph(), start, steps, {*rules_, *cost_});
  }

  /// The operator of each node that tells something, with what it tells under the key.
  static std::vector<std::pair<std::string, std::string>> told(const Graph& graph,
                                                               const std::string& key) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const NodeId node : graph.nodes())
      if (graph.names(node) != nullptr)
        for (const auto& [of, value] : graph.names(node)->notes)
          if (of == key) all.emplace_back(graph.op(node).name, value);
    return all;
  }

  std::shared_ptr<const RuleSet> rules_ = std::make_shared<const RuleSet>(RuleSet::builtin());
  std::shared_ptr<CostModel> cost_ = make_cost_model(kSource);
};

TEST_F(Noted, WhatARewriteBroughtTellsItsRule) {
  const Graph graph = noted_end(chain(), path({"conv_batchnorm"}));
  EXPECT_THAT(told(graph, kRuleNote), ElementsAre(Pair("Conv", "conv_batchnorm")));
  EXPECT_THAT(told(graph, "by"), ElementsAre(Pair("Conv", "me"))) << "the other one is new";
}

TEST_F(Noted, WhatAFusionBroughtTellsWhatWasThereBefore) {
  const std::vector<RewriteStep> steps = path({"conv_batchnorm", "conv_add_residual", "conv_relu"});
  const Graph end = replay({chain(), rules_, cost_}, steps).graph();
  const Graph graph = noted_end(chain(), steps);
  EXPECT_TRUE(same_in_a_file(graph, end));
  EXPECT_THAT(told(graph, kRuleNote), ElementsAre(Pair("Conv", "conv_batchnorm")));
  EXPECT_THAT(told(graph, "by"), ElementsAre(Pair("Conv", "me")));
}

TEST_F(Noted, EachOperatorOfTheFileTellsItsCost) {
  const Graph graph =
      noted_end(chain(), path({"conv_batchnorm", "conv_add_residual", "conv_relu"}));
  EXPECT_THAT(told(graph, kCostNote),
              UnorderedElementsAre(Pair("Conv", _), Pair("Conv", _), Pair("Tanh", _),
                                   Pair("Add", _), Pair("Relu", _)));
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node)) {
      const double microseconds = 1e3 * node_cost(*cost_, graph, node).runtime.milliseconds();
      EXPECT_EQ(graph.names(node)->notes[graph.names(node)->notes.size() - 2].second,
                fmt::format("{:.3f}", microseconds));
    }
  for (const auto& [op, source] : told(graph, kCostSourceNote)) EXPECT_EQ(source, kSource);
}

/// The second convolution comes with a sum; the relu was there before.
TEST_F(Noted, WhatCameWithAProductTellsItsRuleToo) {
  Graph start;
  const auto weight = [&](Shape shape, const std::string& name) {
    return start.add_constant(Weight::fill({DType::kFloat32, std::move(shape)}, 0.5, name));
  };
  const ValueId x = start.add_input("x", {DType::kFloat32, {1, 3, 5, 5}});
  const ValueId both = start.add("Concat", {x, start.add("Tanh", {x})}, {{"axis", int64_t{1}}});
  start.add_output("y", start.add("Relu", {start.add("Conv", {both, weight({4, 6, 3, 3}, "w")})}));
  const Graph graph = noted_end(start, path({"conv_of_concat", "conv_relu"}));
  EXPECT_THAT(told(graph, kRuleNote),
              UnorderedElementsAre(Pair("Conv", "conv_of_concat"), Pair("Conv", "conv_of_concat"),
                                   Pair("Add", "conv_of_concat")));
}

TEST_F(Noted, WithoutAPathOnlyCostsAreTold) {
  const Graph end = replay({chain(), rules_, cost_}, path({"conv_batchnorm"})).graph();
  const Graph graph = noted(end, chain(), {}, {*rules_, *cost_});
  EXPECT_THAT(told(graph, kRuleNote), IsEmpty());
  EXPECT_EQ(told(graph, kCostNote).size(), 5u);
}

/// What `optimize` makes of a model with a symbolic dimension, in a file.
class NotedFile : public ::testing::Test {
 protected:
  void write(const std::string& nodes) {
    onnx::ModelProto model = testing::parse(fmt::format(
        R"(<ir_version: 8, opset_import: ["" : 17]> g (float[n, 4] x) => (float[n, 2, 8] y)
           <int64[2] two = {{2, 8}}, int64[1] zero = {{0}}, int64[1] one = {{1}}> {{ {} }})",
        nodes));
    for (const char* name : {"w", "u"})
      proto::write_tensor(Tensor({DType::kFloat32, {4, 8}}), name,
                          model.mutable_graph()->add_initializer());
    testing::write_message(model, path());
  }

  /// Optimizes it and writes the result.
  onnx::ModelProto optimized(bool tells) {
    const ImportedModel model = import_to_rewrite(path(), {}, false);
    OptimizeConfig config;
    config.method = "greedy";
    const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
    const auto cost = make_cost_model(kSource);
    const Optimized result = optimize_by(Subject(model, path()), rules, cost,
                                         method_named(config.method, config.solvers), config);
    const NoteSources notes{*rules, *cost};
    EXPECT_THAT(write_optimized(path(), model, result, config, folder_ / "better.onnx",
                                tells ? &notes : nullptr),
                IsEmpty());
    return testing::read_message<onnx::ModelProto>(folder_ / "better.onnx");
  }

  /// The operator of each node that tells something under the key, and what.
  static std::vector<std::pair<std::string, std::string>> told_by(const onnx::ModelProto& model,
                                                                  const std::string& key) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const onnx::NodeProto& node : model.graph().node())
      for (int i = 0; i < node.unknown_fields().field_count(); ++i) {
        onnx::StringStringEntryProto entry;
        entry.ParseFromString(node.unknown_fields().field(i).length_delimited());
        if (entry.key() == key) all.emplace_back(node.op_type(), entry.value());
      }
    return all;
  }

  std::string path() const { return folder_ / "model.onnx"; }

  TemporaryDirectory folder_;
};

/// Two products become one, two relus as well, and what is concatenated is reshaped by `n`.
constexpr char kRewritten[] =
    "s = Shape(x) k = Slice(s, zero, one) to = Concat<axis = 0>(k, two) "
    "a = MatMul(x, w) b = MatMul(x, u) e = Relu(a) f = Relu(b) "
    "c = Concat<axis = 1>(e, f) r = Reshape(c, to) y = Tanh(r)";

TEST_F(NotedFile, TellsRulesAndCostsAndKeepsSymbols) {
  write(kRewritten);
  const onnx::ModelProto better = optimized(true);
  EXPECT_THAT(told_by(better, kRuleNote),
              UnorderedElementsAre(Pair("MatMul", "matmul_merge"), Pair("Relu", "concat_of_relus")))
      << "matmul_relu leaves no trace";
  EXPECT_THAT(told_by(better, kCostNote),
              UnorderedElementsAre(Pair("MatMul", _), Pair("Relu", _), Pair("Reshape", "0.000"),
                                   Pair("Tanh", _)));
  EXPECT_EQ(better.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "n");
  EXPECT_EQ(better.ir_version(), 8);
}

TEST_F(NotedFile, IsReadAsAnyOther) {
  write(kRewritten);
  optimized(true);
  const Graph told = import_onnx(folder_ / "better.onnx").graph;
  optimized(false);
  EXPECT_TRUE(isomorphic(told, import_onnx(folder_ / "better.onnx").graph));
}

TEST_F(NotedFile, TellsNothingWhereNobodyAsks) {
  write(kRewritten);
  const onnx::ModelProto better = optimized(false);
  for (const onnx::NodeProto& node : better.graph().node())
    EXPECT_TRUE(node.unknown_fields().empty()) << node.op_type();
}

TEST_F(NotedFile, OfAnUnchangedModelIsThatModel) {
  write(
      "s = Shape(x) k = Slice(s, zero, one) to = Concat<axis = 0>(k, two) "
      "a = MatMul(x, w) b = Tanh(a) c = Concat<axis = 1>(a, b) y = Reshape(c, to)");
  EXPECT_EQ(optimized(true).SerializeAsString(), read_file(path()));
}

}  // namespace
}  // namespace reverie
