#include <gtest/gtest.h>

#include <filesystem>

#include "core/ir/text.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "env/rewrite/search/search.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

/// What core/README.md shows under "From C++".
void optimize() {
  const ImportedModel model = import_onnx("model.onnx");
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const RewriteState start(model.graph, rules, make_cost_model("roofline:cpu"));
  export_onnx(search_rewrites(start, {}, search::Greedy()).best, model.info, "better.onnx");
}

TEST(ReadmeExample, WritesAModelWithFewerNodes) {
  const TemporaryDirectory folder;
  std::filesystem::current_path(folder.path());
  export_onnx(parse_graph(R"(
x = Input : float32 1x2x4x4
w = Constant {fill=0.5, name="w"} : float32 3x2x1x1
c = Conv(x, w)
a = Relu(c)
y = Relu(a)
output y = y
)"),
              {}, "model.onnx");
  optimize();
  EXPECT_LT(import_onnx("better.onnx").nodes, import_onnx("model.onnx").nodes);
  std::filesystem::current_path("/");
}

}  // namespace
}  // namespace reverie
