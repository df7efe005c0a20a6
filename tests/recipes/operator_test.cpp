#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TensorType kThree = {DType::kFloat32, {3}};

TEST(OperatorRecipe, TheRowInfersTypes) {
  const OpSchema& row = op_named("Softsign");
  const std::vector<TensorType> floats = {kThree}, integers = {{DType::kInt64, {3}}};
  EXPECT_THAT(row.infer({floats, {}, {}}), ElementsAre(kThree));
  EXPECT_THROW(row.infer({integers, {}, {}}), InputError);
}

TEST(OperatorRecipe, TheKernelComputes) {
  const std::vector<Tensor> inputs = {Tensor::of<float>({3}, {-1, 0, 3})};
  EXPECT_THAT(evaluate_node(op_named("Softsign"), {}, inputs).at(0).to_doubles(),
              ElementsAre(-0.5, 0, 0.75));
}

TEST(OperatorRecipe, AFileBringsItBack) {
  const TemporaryDirectory folder;
  Graph graph;
  graph.add_output("y", graph.add("Softsign", {graph.add_input("x", kThree)}));
  export_onnx(graph, {}, folder / "model.onnx");
  const ImportedModel again = import_onnx(folder / "model.onnx");
  EXPECT_THAT(again.warnings, IsEmpty());
  const ValueId y = again.graph.outputs()[0].value;
  EXPECT_EQ(again.graph.op(again.graph.producer(y)).name, "Softsign");
}

}  // namespace
}  // namespace reverie
