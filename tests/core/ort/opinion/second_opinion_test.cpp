#include "tests/core/ort/opinion/second_opinion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/onnx/newer_opsets.h"
#include "tests/core/exec/operator_cases.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/core/ort/opinion/forms.h"
#include "tests/support/newer_opset_models.h"
#include "tests/support/onnx_cases.h"
#include "tests/support/random_graph.h"

namespace reverie::testing {
namespace {

using ::testing::IsEmpty;

class SecondOpinionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ort::is_installed()) GTEST_SKIP() << "ONNX Runtime is not installed";
    opinion_ = std::make_unique<SecondOpinion>();
  }
  void TearDown() override {
    if (opinion_ == nullptr) return;
    std::cout << opinion_->account();
    EXPECT_THAT(opinion_->disagreements(), IsEmpty());
  }

  /// What a case asks is left out with the objection where there is one.
  template <typename Function>
  void try_to(const std::string& where, const Function& function) {
    try {
      function();
    } catch (const InputError& error) {
      opinion_->leave_out(std::string("objection: ") + std::string(error.what()).substr(0, 120));
    } catch (const std::exception& error) {
      opinion_->disagree(where + ": " + error.what());
    }
  }

  TemporaryDirectory folder_;
  std::unique_ptr<SecondOpinion> opinion_;
};

std::vector<NamedTensor> inputs_of(const Case& test) {
  std::vector<NamedTensor> inputs;
  for (const onnx::TensorProto& tensor : test.inputs)
    inputs.push_back({tensor.name(), tensor_of(tensor)});
  return inputs;
}

/// The graph of the case, where all of it is known.
std::optional<Graph> graph_of(const std::filesystem::path& file,
                              const std::vector<NamedTensor>& inputs) {
  ImportedModel model = import_onnx(file);
  if (!model.warnings.empty()) return std::nullopt;
  for (const NamedTensor& input : inputs)
    for (const NodeId node : model.graph.inputs())
      if (model.graph.input_name(node) == input.name &&
          model.graph.type(model.graph.output(node)) != input.tensor.type())
        return std::nullopt;  // its data do not have the types that it declares
  return std::move(model.graph);
}

constexpr int kNewestOfRuntime = 24;  // the newest opset that the installed ONNX Runtime takes

/// Whether one of its operators changed at that opset.
bool has_news(const Graph& graph, int opset) {
  return opset == proto::kOldestWritten || opset == kNewestOfRuntime ||
         std::ranges::any_of(graph.nodes(), [&](NodeId node) {
           return proto::since_version(graph.op(node).name, opset) == opset;
         });
}

TEST_F(SecondOpinionTest, AgreesOnTheCasesOfOnnx) {
  const auto folders = case_folders("node");
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  for (const std::filesystem::path& folder : folders) {
    Case test(folder);
    if (!has_only_tensors(test)) continue;
    adapt(&test);
    const std::string name = folder.filename().string();
    try_to(name, [&] {
      bake_shaping_inputs(&test);
      const std::string file = folder_ / "model.onnx";
      write_message(test.model, file);
      const std::vector<NamedTensor> inputs = inputs_of(test);
      const auto graph = graph_of(file, inputs);
      if (!graph) return;
      opinion_->ask(name, file, inputs);
      for (int opset = proto::kOldestWritten; opset <= kNewestOfRuntime; ++opset)
        if (has_news(*graph, opset)) opinion_->ask_at(name, *graph, {opset}, inputs);
    });
  }
  EXPECT_GE(opinion_->compared(), 6500);
}

TEST_F(SecondOpinionTest, AgreesOnRandomGraphsAtEveryOpset) {
  constexpr int kGraphs = 40;
  std::map<int, int> written;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    const Graph graph = random_graph(seed, 12);
    const auto inputs = ort::random_inputs(graph, seed);
    for (int opset = proto::kOldestWritten; opset <= kNewestOfRuntime; ++opset)
      try_to(fmt::format("random graph {}", seed), [&] {
        written[opset] +=
            opinion_->ask_at(fmt::format("random graph {}", seed), graph, {opset}, inputs);
      });
  }
  for (int opset = proto::kOldestWritten; opset <= kNewestOfRuntime; ++opset)
    EXPECT_GE(written[opset], kGraphs / 4) << opset;
  EXPECT_GE(opinion_->compared(), 900);
}

TEST_F(SecondOpinionTest, AgreesOnNodesOfNewerOpsets) {
  std::vector<NewerNodes> rows = newer_nodes();
  std::ranges::copy(nodes_of_newer_operators(), std::back_inserter(rows));
  std::erase_if(rows, [](const NewerNodes& row) { return row.opset > kNewestOfRuntime; });
  for (const NewerNodes& row : rows)
    try_to(row.nodes, [&] {
      onnx::ModelProto model = parse(newer_model(row.opset, row.nodes));
      model.mutable_graph()
          ->mutable_output(0)
          ->mutable_type()
          ->mutable_tensor_type()
          ->clear_shape();
      write_message(model, folder_ / "model.onnx");
      const std::string where = fmt::format("opset {}: {}", row.opset, row.nodes);
      opinion_->ask(where, folder_ / "model.onnx");
      const Graph graph = import_onnx(folder_ / "model.onnx").graph;
      EXPECT_TRUE(opinion_->ask_at(where, graph, {row.opset}, ort::random_inputs(graph))) << where;
    });
  EXPECT_GE(opinion_->compared(), 4 * static_cast<int>(rows.size()) - 8);
}

/// Rows that only ONNX Runtime has, or has at older opsets, too.
TEST_F(SecondOpinionTest, AgreesOnOperatorsThatTheRuntimeAdds) {
  std::vector<OperatorCase> cases = transformer_cases();
  for (OperatorCase& one : operator_cases())
    if (one.name.starts_with("LayerNormalization") || one.name.starts_with("Gelu"))
      cases.push_back(std::move(one));
  int asked = 0;
  for (const OperatorCase& one : cases)
    for (const int opset : {12, 17})
      try_to(one.name, [&] {
        asked += opinion_->ask_at(one.name, one.graph, {opset, proto::Dialect::kRuntime},
                                  ort::random_inputs(one.graph));
      });
  EXPECT_EQ(asked, 2 * static_cast<int>(cases.size()));
}

/// Whether the text is a model at all; what an opset does not have is refused.
std::optional<onnx::ModelProto> model_of(int opset, const std::string& nodes) {
  onnx::ModelProto model;
  if (!onnx::OnnxParser::Parse(model, newer_model(opset, nodes).c_str()).IsOK())
    return std::nullopt;
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  return model;
}

TEST_F(SecondOpinionTest, AgreesOnTheFormsOfEveryOpset) {
  int refused = 0, known = 0;
  for (const std::string& nodes : forms_of_operators())
    for (int opset = proto::kOldestWritten; opset <= kNewestOfRuntime; ++opset) {
      const auto model = model_of(opset, nodes);
      ASSERT_TRUE(model) << nodes;
      write_message(*model, folder_ / "model.onnx");
      const std::string where = fmt::format("opset {}: {}", opset, nodes);
      try {
        opinion_->ask(where, folder_ / "model.onnx");
        ++known;
      } catch (const InputError&) {
        ++refused;
      } catch (const std::exception& error) {
        opinion_->disagree(where + ": " + error.what());
      }
    }
  std::cout << known << " forms, " << refused << " that the opset does not have\n";
  EXPECT_GE(opinion_->compared(), 6500);
}

}  // namespace
}  // namespace reverie::testing
