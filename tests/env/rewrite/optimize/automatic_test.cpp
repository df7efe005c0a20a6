#include "env/rewrite/optimize/automatic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/optimize.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> names_of(const RuleSet& rules) {
  std::vector<std::string> names;
  for (int i = 0; i < rules.size(); ++i) names.push_back(rules.name(i));
  return names;
}

std::shared_ptr<const RuleSet> builtin() {
  return std::make_shared<const RuleSet>(RuleSet::builtin());
}
std::shared_ptr<CostModel> costs() { return make_cost_model("roofline:t4"); }

ValueId weight(Graph& graph, Shape shape, const std::string& name) {
  return graph.add_constant(Weight::fill({DType::kFloat32, shape}, 0.5, name));
}

/// relu(x * w) as a convolution.
Graph conv_and_relu() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 16, 8, 8}});
  const ValueId c = graph.add("Conv", {x, weight(graph, {32, 16, 3, 3}, "w")});
  graph.add_output("y", graph.add("Relu", {c}));
  return graph;
}

/// Three products of one input: merged, and hence cheaper by the estimate.
Graph parallel_products() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {64, 64}});
  for (const char* name : {"a", "b", "c"})
    graph.add_output(name,
                     graph.add("MatMul", {x, weight(graph, {64, 64}, std::string("w") + name)}));
  return graph;
}

/// Takes `seconds` for a graph like `slow`, and half of that for others.
class FakeMachine : public Machine {
 public:
  explicit FakeMachine(Graph slow, bool breaks = false, double seconds = 1e-3)
      : slow_(std::move(slow)), breaks_(breaks), seconds_(seconds) {}
  std::string name() const override { return "fake"; }
  MachineInfo info() override { return {"a fake", "none", ""}; }
  std::string profile() const override { return "cpu"; }
  std::unique_ptr<ReadyGraph> ready(const Graph& graph, const WeightSource&) override {
    if (breaks_) throw InputError("the fake broke");
    class Ready : public ReadyGraph {
     public:
      explicit Ready(double seconds) : seconds_(seconds) {}
      double seconds_of_run() override { return seconds_; }
      int fallbacks() const override { return 0; }

     private:
      double seconds_;
    };
    return std::make_unique<Ready>(same_in_a_file(graph, slow_) ? seconds_ : seconds_ / 2);
  }
  MedianInterval time_operator(const OpSignature&, const TimingOptions&) override { return {}; }

 private:
  Graph slow_;
  bool breaks_;
  double seconds_;
};

Optimized run(const Graph& graph, std::shared_ptr<Machine> machine) {
  OptimizeConfig config;
  config.search.time_limit = 60;
  config.verify.inputs = 1;
  return optimize_automatically(graph, builtin(), costs(), std::move(machine), config);
}

/// Runs files, which take a millisecond for each node and ten for each symbolic dimension of an
/// input.
class FakeRuntime : public FakeMachine {
 public:
  FakeRuntime() : FakeMachine(Graph()) {}
  bool runs_files() const override { return true; }
  std::unique_ptr<ReadyGraph> ready_file(const std::filesystem::path& file, const Graph&) override {
    class Ready : public ReadyGraph {
     public:
      explicit Ready(int milliseconds) : seconds_(1e-3 * milliseconds) {}
      double seconds_of_run() override { return seconds_; }
      int fallbacks() const override { return 0; }

     private:
      double seconds_;
    };
    onnx::ModelProto model;
    std::ifstream stream(file, std::ios::binary);
    EXPECT_TRUE(model.ParseFromIstream(&stream));
    int milliseconds = model.graph().node_size();
    for (const onnx::ValueInfoProto& input : model.graph().input())
      for (const auto& dimension : input.type().tensor_type().shape().dim())
        milliseconds += dimension.has_dim_param() ? 10 : 0;
    return std::make_unique<Ready>(milliseconds);
  }
  std::vector<NamedTensor> outputs_of_file(const std::filesystem::path&, const Graph&) override {
    return {{"y", Tensor::of<float>({1}, {different_++ > 0 && differs ? 2.0f : 1.0f})}};
  }
  bool differs = false;  ///< from the second file on

 private:
  int different_ = 0;
};

TEST(CarefulRules, LeaveOutWhatHindersARuntime) {
  const std::vector<std::string> names = names_of(careful_rules(RuleSet::builtin()));
  EXPECT_THAT(names, Contains("conv_batchnorm"));
  for (const char* left_out : {"conv_merge", "conv_merge_groups", "conv_enlarge", "pow_two"})
    EXPECT_THAT(names, Not(Contains(left_out)));
}

TEST(CarefulRules, NameRulesThatThereAre) {
  for (const Hindrance& group : hindering_rules()) {
    std::vector<std::string> unused;
    RuleSet::builtin().without(group.rules, &unused);
    EXPECT_THAT(unused, IsEmpty()) << group.what;
  }
}

TEST(FileCosts, KnowFusionsByTheirExamples) {
  const std::vector<std::string> names = names_of(fusions_among(RuleSet::builtin()));
  for (const char* fusion : {"conv_relu", "conv_add_residual"})
    EXPECT_THAT(names, Contains(fusion));
  for (const char* other : {"conv_batchnorm", "matmul_merge", "add_commute"})
    EXPECT_THAT(names, Not(Contains(other)));
}

TEST(FileCosts, CountNothingThatAFileDoesNotShow) {
  const Graph graph = conv_and_relu();
  const RewriteState start(graph, builtin(), costs());
  const SearchResult fused = search_rewrites(start, {}, search::Greedy());
  ASSERT_LT(fused.best_cost.runtime, start.cost().runtime);
  const FileCosts files(RuleSet::builtin(), costs());
  EXPECT_EQ(files.of(graph), files.of(fused.best));
  EXPECT_TRUE(same_in_a_file(graph, fused.best));
}

TEST(Automatic, HasNothingToGainWhereTheFileIsTheSame) {
  const Optimized result = run(conv_and_relu(), nullptr);
  EXPECT_FALSE(result.changed);
  EXPECT_EQ(result.file_improvement_percent(), 0);
}

TEST(Automatic, TakesWhatTheCarefulRulesGainWithoutAMachine) {
  const Optimized result = run(parallel_products(), nullptr);
  EXPECT_TRUE(result.changed);
  EXPECT_TRUE(result.verified.agree);
  EXPECT_GT(result.file_improvement_percent(), 0);
}

TEST(Automatic, TakesWhatIsFasterOnTheMachine) {
  const Graph graph = parallel_products();
  const Optimized result = run(graph, std::make_shared<FakeMachine>(graph));
  EXPECT_TRUE(result.changed);
  EXPECT_GT(result.benchmark.winner, 0);
  EXPECT_THAT(result.unconfirmed, IsEmpty());
}

TEST(Automatic, KeepsTheOriginalWhereNothingIsFaster) {
  const Graph graph = parallel_products();
  const std::vector<Candidate> candidates =
      automatic_candidates({graph, builtin(), costs()}, {}, true);
  const Optimized result = run(graph, std::make_shared<FakeMachine>(candidates[0].result.best));
  EXPECT_FALSE(result.changed);
  EXPECT_TRUE(isomorphic(result.search.best, graph));
}

TEST(Automatic, KeepsTheOriginalWhereNothingCanBeConfirmed) {
  const Graph graph = parallel_products();
  const Optimized result = run(graph, std::make_shared<FakeMachine>(graph, true));
  EXPECT_FALSE(result.changed);
  EXPECT_THAT(result.unconfirmed, HasSubstr("the fake broke"));
}

TEST(Automatic, MeetsTheOriginalWithOneFinalistAlone) {
  Graph graph = parallel_products();
  const ValueId image = graph.add_input("image", {DType::kFloat32, {1, 32, 8, 8}});
  const ValueId c =
      graph.add("Conv", {image, weight(graph, {32, 8, 3, 3}, "c")}, {{"group", int64_t{4}}});
  graph.add_output("d", c);
  const Optimized result = run(graph, std::make_shared<FakeMachine>(graph));
  ASSERT_GT(result.contenders.size(), 1u);
  const auto is_finalist = [](const ContestantResult& timed) { return timed.finalist; };
  EXPECT_EQ(std::ranges::count_if(result.benchmark.contestants, is_finalist), 2)
      << "the original is the other";
}

TEST(Automatic, ConfirmsOneContenderWhereThereIsNoTimeToScreenThem) {
  Graph graph = parallel_products();
  const ValueId image = graph.add_input("image", {DType::kFloat32, {1, 32, 8, 8}});
  const ValueId c =
      graph.add("Conv", {image, weight(graph, {32, 8, 3, 3}, "c")}, {{"group", int64_t{4}}});
  graph.add_output("d", c);
  EXPECT_GT(run(graph, std::make_shared<FakeMachine>(graph)).contenders.size(), 1u);
  const Optimized result = run(graph, std::make_shared<FakeMachine>(graph, false, 1));
  EXPECT_EQ(result.contenders.size(), 1u);
  EXPECT_TRUE(result.changed) << result.unconfirmed;
  EXPECT_THAT(run(graph, std::make_shared<FakeMachine>(graph, false, 10)).unconfirmed,
              HasSubstr("--time-limit"));
}

TEST(Automatic, TellsNoProgressOfAModelThatStaysAsItIs) {
  const Graph graph = parallel_products();
  const Optimized result = run(graph, std::make_shared<FakeMachine>(graph, true));
  ASSERT_EQ(result.search.trace.size(), 1u);
  EXPECT_EQ(picoseconds(result.search.trace[0].best), result.search.initial_cost.runtime);
}

/// Other extents than that of one batch cannot be tried, so that no file but the original keeps the
/// dimension.
class FixedDimension : public ::testing::Test {
 protected:
  FixedDimension() {
    const onnx::ModelProto model = testing::parse(R"(
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[batch,24] x) => (float[2,12] y)
        {
          shape = Constant <value = int64[2] {2, 12}> ()
          r = Reshape(x, shape)
          t = Transpose <perm = [1, 0]> (r)
          a = Transpose <perm = [1, 0]> (t)
          y = Relu(a)
        })");
    testing::write_message(model, file_);
    ImportOptions options;
    options.shapes = {"x=1,24"};
    options.carried = ImportOptions::Carried::kAll;
    model_ = import_onnx(file_, options);
  }

  Optimized optimize_by(const std::string& method, bool fix_shapes) {
    OptimizeConfig config;
    config.verify.inputs = 1;
    config.fix_shapes = fix_shapes;
    const Subject subject(model_, file_);
    return method == kAutomatic
               ? optimize_automatically(subject, builtin(), costs(), nullptr, config)
               : optimize(subject, builtin(), costs(), on_rewrites(search::Greedy()), config);
  }

  TemporaryDirectory folder_;
  std::filesystem::path file_ = folder_ / "model.onnx";
  ImportedModel model_;
};

TEST_F(FixedDimension, IsAReasonToKeepTheOriginal) {
  for (const std::string method : {kAutomatic, "greedy"}) {
    const Optimized result = optimize_by(method, false);
    EXPECT_FALSE(result.changed) << method;
    EXPECT_EQ(result.improvement_percent(), 0) << method;
    EXPECT_THAT(result.objections,
                ElementsAre(AllOf(HasSubstr("'batch', and the model runs with no other extent"),
                                  HasSubstr("--fix-shapes"))))
        << method;
  }
}

TEST_F(FixedDimension, IsNoneWhereItIsAllowed) {
  for (const std::string method : {kAutomatic, "greedy"}) {
    const Optimized result = optimize_by(method, true);
    EXPECT_TRUE(result.changed) << method;
    EXPECT_THAT(result.objections, IsEmpty()) << method;
  }
}

constexpr char kLie[] = "rule lie\nmatch\n  y = Sigmoid(x)\nreplace\n  y = x\n";

/// A rule that is not true, beside those that are.
std::shared_ptr<const RuleSet> with_a_lie() {
  const auto rules = std::make_shared<RuleSet>(RuleSet::builtin());
  rules->append(RuleSet::parse(kLie, "lie.rules"));
  return rules;
}

Graph products_and_sigmoids() {
  Graph graph = parallel_products();
  const ValueId x = graph.add_input("v", {DType::kFloat32, {64, 64}});
  graph.add_output("s", graph.add("Sigmoid", {graph.add("Sigmoid", {x})}));
  return graph;
}

std::vector<std::string> rules_of(const Optimized& result, const RuleSet& rules) {
  std::vector<std::string> names;
  for (const RewriteStep& step : result.search.rewrites) names.push_back(rules.name(step.rule));
  return names;
}

TEST(Optimize, AFailedCheckLeavesOutOneRewriteWhateverTheMethod) {
  const Graph graph = products_and_sigmoids();
  const auto rules = with_a_lie();
  OptimizeConfig config;
  config.verify.inputs = 1;
  config.search.budget = 20;
  for (const std::string name : {"greedy", "taso", "beam", "rulelist", "saturation_greedy"}) {
    const SearchMethod method = method_named(name, SolverSettings("rewrite"));
    const Optimized result = optimize(graph, rules, costs(), method, config);
    EXPECT_THAT(rules_of(result, *rules), AllOf(Not(IsEmpty()), Not(Contains("lie")))) << name;
    EXPECT_TRUE(result.changed) << name;
    EXPECT_TRUE(result.verified.agree) << name;
    EXPECT_GT(result.improvement_percent(), 0) << name;
    EXPECT_THAT(result.objections, Contains(AllOf(HasSubstr("lie"), HasSubstr("'s' differs by"))))
        << name;
  }
}

TEST(Automatic, AFailedCheckLeavesOutOneRewrite) {
  const Graph graph = products_and_sigmoids();
  OptimizeConfig config;
  config.search.time_limit = 60;
  config.verify.inputs = 1;
  for (const bool confirmed : {false, true}) {
    const auto machine = confirmed ? std::make_shared<FakeMachine>(graph) : nullptr;
    const Optimized result = optimize_automatically(graph, with_a_lie(), costs(), machine, config);
    EXPECT_TRUE(result.changed);
    EXPECT_TRUE(result.verified.agree);
    EXPECT_THAT(rules_of(result, *with_a_lie()), AllOf(Not(IsEmpty()), Not(Contains("lie"))));
  }
}

TEST(Optimize, WhatCannotBeCheckedStaysAsItIs) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {0, 16}});
  graph.add_output("y", graph.add("Sigmoid", {x}));
  const auto lie = std::make_shared<RuleSet>();
  lie->append(RuleSet::parse(kLie, "lie.rules"));
  const Optimized result = optimize(graph, lie, costs(), on_rewrites(search::Greedy()), {});
  EXPECT_FALSE(result.changed);
  EXPECT_THAT(result.objections, ElementsAre(HasSubstr("nothing was checked")));
  const Optimized same = optimize(graph, builtin(), costs(), on_rewrites(search::Greedy()), {});
  EXPECT_FALSE(same.changed);
  EXPECT_THAT(same.objections, IsEmpty()) << "nothing was rewritten";
}

class ContendersFromAFile : public ::testing::Test {
 protected:
  Optimized run(const std::string& nodes, bool fix_shapes, bool differs = false) {
    testing::write_message(testing::parse(R"(
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[batch,24] x) => (float[batch,24] y) {)" +
                                          nodes + "}"),
                           file_);
    model_ = import_onnx(file_);
    OptimizeConfig config;
    config.search.time_limit = 60;
    config.verify.inputs = 1;
    config.fix_shapes = fix_shapes;
    const auto machine = std::make_shared<FakeRuntime>();
    machine->differs = differs;
    return optimize_automatically({model_, file_}, builtin(), costs(), machine, config);
  }

  TemporaryDirectory folder_;
  std::filesystem::path file_ = folder_ / "model.onnx";
  ImportedModel model_;
};

TEST_F(ContendersFromAFile, TheSimplifiedOriginalIsOne) {
  const Optimized result = run("i = Identity(x) y = Exp(i)", false);
  EXPECT_TRUE(result.simplified);
  EXPECT_TRUE(result.changed);
  EXPECT_FALSE(result.constant_shapes);
  EXPECT_FALSE(run("y = Exp(x)", false).changed) << "nothing is simplified";
}

TEST_F(ContendersFromAFile, IsNotTakenWhereTheRuntimeComputesSomethingElse) {
  const Optimized result = run("i = Identity(x) y = Exp(i)", false, true);
  EXPECT_FALSE(result.changed);
  EXPECT_THAT(result.objections, ElementsAre(HasSubstr("in the runtime")));
  const Optimized rewritten = run("i = Relu(x) y = Relu(i)", false, true);
  EXPECT_FALSE(rewritten.changed);
  EXPECT_THAT(rewritten.objections,
              Contains(AllOf(HasSubstr("rewrite 1 of 1"), HasSubstr("in the runtime"))));
  EXPECT_TRUE(run("i = Relu(x) y = Relu(i)", false).changed);
}

TEST_F(ContendersFromAFile, OneHasConstantShapesWhereThatIsAllowed) {
  const Optimized result = run("y = Exp(x)", true);
  EXPECT_TRUE(result.constant_shapes);
  EXPECT_TRUE(result.changed);
  const Optimized rewritten = run("m = Relu(x) n = Relu(m) y = Exp(n)", true);
  EXPECT_TRUE(rewritten.constant_shapes);
  EXPECT_FALSE(rewritten.simplified);
  EXPECT_TRUE(rewritten.verified.agree);
}

TEST(Automatic, TriesMergedGroupsWhateverTheyCost) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 32, 8, 8}});
  const ValueId c =
      graph.add("Conv", {x, weight(graph, {32, 8, 3, 3}, "w")}, {{"group", int64_t{4}}});
  graph.add_output(
      "y", graph.add("Conv", {c, weight(graph, {32, 16, 1, 1}, "v")}, {{"group", int64_t{2}}}));
  const RewriteState start(graph, builtin(), make_cost_model("roofline:cpu"));
  std::set<std::vector<int64_t>> groups;
  for (const Candidate& candidate : automatic_candidates(start, {}, true)) {
    std::vector<int64_t> of_candidate;
    for (const NodeId node : candidate.result.best.topological_order())
      if (candidate.result.best.op(node).is("Conv"))
        of_candidate.push_back(candidate.result.best.attributes(node).integer("group"));
    groups.insert(of_candidate);
  }
  EXPECT_THAT(groups, Contains(std::vector<int64_t>{4, 2}));
  EXPECT_THAT(groups, Contains(std::vector<int64_t>{2, 1})) << "each once";
}

TEST(Automatic, HoldsTheBoundOfTheWeights) {
  const Graph graph = parallel_products();
  const RewriteState start(graph, builtin(), costs());
  RewriteSearchOptions options;
  options.max_weight_growth = 1.05;
  for (const Candidate& candidate : automatic_candidates(start, options, true))
    EXPECT_LE(candidate.result.best.weight_bytes(), 1.05 * graph.weight_bytes());
}

}  // namespace
}  // namespace reverie
