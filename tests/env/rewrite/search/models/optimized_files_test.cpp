#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "env/rewrite/optimize/optimize.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/light_models.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

int opset_of(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (import.domain().empty()) return static_cast<int>(import.version());
  return 0;
}

template <typename Messages>
std::vector<std::string> texts(const Messages& messages) {
  std::vector<std::string> result;
  for (const auto& message : messages) result.push_back(message.SerializeAsString());
  return result;
}

/// Opsets at which the operators came to be what they are at `opset`.
std::vector<int> versions(const onnx::ModelProto& model, int opset) {
  std::vector<int> result;
  for (const auto& node : model.graph().node()) {
    const auto* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, node.domain());
    EXPECT_NE(schema, nullptr) << node.op_type();
    if (schema != nullptr) result.push_back(schema->since_version());
  }
  return result;
}

/// A light model with everything that a file can say beside its graph, and what TASO's search makes
/// of it.
class OptimizedFile : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    original_ = testing::read_message<onnx::ModelProto>(testing::light_model(GetParam()));
    describe(original_);
    testing::write_message(original_, folder_ / "original.onnx");
    const ImportedModel model = import_onnx(folder_ / "original.onnx");
    const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
    const RewriteState start(model.graph, rules, make_cost_model("roofline:t4"));
    RewriteSearchOptions options;
    options.budget = 20;
    const SearchResult result = search_rewrites(start, options, search::Taso());
    ASSERT_FALSE(result.rewrites.empty());
    export_onnx(result.best, model.info, folder_ / "optimized.onnx");
    optimized_ = testing::read_message<onnx::ModelProto>(folder_ / "optimized.onnx");
  }

  static void describe(onnx::ModelProto& model) {
    model.set_doc_string("of the model");
    model.set_domain("org.example");
    model.set_model_version(7);
    model.mutable_graph()->set_doc_string("of the graph");
    model.mutable_graph()->mutable_input(0)->set_doc_string("of the input");
    model.mutable_graph()->mutable_output(0)->set_doc_string("of the output");
    auto* entry = model.add_metadata_props();
    entry->set_key("licence");
    entry->set_value("free");
  }

  onnx::ModelProto original_, optimized_;
  TemporaryDirectory folder_;
};

TEST_P(OptimizedFile, IsAcceptedByCheckerAndFullShapeInference) {
  onnx::checker::check_model(optimized_);
  onnx::ModelProto model = optimized_;
  for (auto& output : *model.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                     onnx::ShapeInferenceOptions(true, 1, true));
  for (int i = 0; i < model.graph().output_size(); ++i)
    EXPECT_EQ(model.graph().output(i).SerializeAsString(),
              original_.graph().output(i).SerializeAsString());
}

TEST_P(OptimizedFile, KeepsInterfaceAndMetadata) {
  EXPECT_EQ(texts(optimized_.graph().input()), texts(original_.graph().input()));
  EXPECT_EQ(texts(optimized_.graph().output()), texts(original_.graph().output()));
  EXPECT_EQ(texts(optimized_.metadata_props()), texts(original_.metadata_props()));
  EXPECT_EQ(optimized_.graph().name(), original_.graph().name());
  EXPECT_EQ(optimized_.graph().doc_string(), original_.graph().doc_string());
  EXPECT_EQ(optimized_.doc_string(), original_.doc_string());
  EXPECT_EQ(optimized_.domain(), original_.domain());
  EXPECT_EQ(optimized_.model_version(), original_.model_version());
  EXPECT_EQ(optimized_.producer_name(), original_.producer_name());
  EXPECT_EQ(optimized_.producer_version(), original_.producer_version());
}

TEST_P(OptimizedFile, HasStandardOperatorsOfTheOldestOpsetThatTheyNeed) {
  for (const auto& node : optimized_.graph().node()) EXPECT_EQ(node.domain(), "");
  ASSERT_EQ(optimized_.opset_import_size(), 1);
  const int opset = opset_of(optimized_);
  const std::vector<int> since = versions(optimized_, opset);
  EXPECT_EQ(opset, std::max(opset_of(original_), *std::max_element(since.begin(), since.end())));
}

INSTANTIATE_TEST_SUITE_P(All, OptimizedFile, ::testing::ValuesIn(testing::light_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
