#include "tests/support/light_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/onnx/import.h"

namespace reverie {
namespace {

using ::testing::IsEmpty;

class LightModel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    path_ = testing::light_folder() / (GetParam() + ".onnx");
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << path_ << " is not there";
  }
  std::filesystem::path path_;
};

TEST_P(LightModel, ImportsWithoutOpaqueNodes) {
  const ImportedModel model = import_onnx(path_);
  EXPECT_THAT(model.warnings, IsEmpty());
  model.graph.validate();
  std::map<std::string, int> work;
  for (const NodeId node : model.graph.nodes())
    if (model.graph.is_work(node)) ++work[model.graph.op(node).name];
  EXPECT_FALSE(work.empty());
  for (const char* op : {"Constant", "Identity", "Shape", "Opaque"}) EXPECT_EQ(work.count(op), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, LightModel, ::testing::ValuesIn(testing::light_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
