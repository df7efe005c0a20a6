#include "core/onnx/unfold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/exec/compare.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

class Unfold : public ::testing::Test {
 protected:
  ImportedModel import(const std::string& body) {
    write_message(parse("<ir_version: 8, opset_import: [\"\" : 13]> g " + body),
                  folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }
  int64_t written(const ImportedModel& model, int64_t max_bytes) {
    export_onnx(model.graph, model.info, folder_ / "out.onnx", {.max_weight_bytes = max_bytes});
    const ImportedModel again = import_onnx(folder_ / "out.onnx");
    EXPECT_TRUE(compare(model.graph, again.graph, {}).agree);
    return static_cast<int64_t>(std::filesystem::file_size(folder_ / "out.onnx"));
  }
  TemporaryDirectory folder_;
};

constexpr char kExpanded[] = R"((float[1, 3, 16, 16] x) => (float[64, 3, 16, 16] y)
    <float from = {0}, float to = {16}, float step = {1}, int64[4] s = {64, 3, 16, 16}>
    { r = Range(from, to, step)  z = Expand(r, s)  y = Add(x, z) })";
constexpr int64_t kBytes = 64 * 3 * 16 * 16 * 4;

TEST_F(Unfold, FoldedConstantsCountAsWhatTheyAreComputedFrom) {
  const ImportedModel model = import(kExpanded);
  EXPECT_LT(model.graph.weight_bytes(), 100);
  EXPECT_EQ(bytes_in_a_file(model.graph, kNoLimit), kBytes);
  EXPECT_EQ(bytes_in_a_file(model.graph, model.graph.weight_bytes()), model.graph.weight_bytes());
}

TEST_F(Unfold, AFileIsNoLargerThanTheBound) {
  const ImportedModel model = import(kExpanded);
  EXPECT_GT(written(model, kNoLimit), kBytes);
  EXPECT_LT(written(model, model.graph.weight_bytes()), 1000);
}

TEST_F(Unfold, OnlyAsManyAreWrittenAsOperatorsAsTheBoundAsksFor) {
  const ImportedModel model = import(R"((float[256] x) => (float[256] y, float[64] v)
      <float from = {0}, float many = {256}, float few = {64}, float step = {1}>
      { r = Range(from, many, step)  s = Sin(r)  y = Add(x, s)
        q = Range(from, few, step)  c = Cos(q)  v = Neg(c)  })");
  EXPECT_EQ(bytes_in_a_file(model.graph, kNoLimit), 256 * 4 + 64 * 4);
  const int64_t bound = 64 * 4 + 12;
  EXPECT_EQ(bytes_in_a_file(model.graph, bound), bound);
  written(model, bound);
  const auto file = read_message<onnx::ModelProto>(folder_ / "out.onnx");
  std::vector<std::string> operators;
  for (const auto& node : file.graph().node()) operators.push_back(node.op_type());
  EXPECT_THAT(operators, ::testing::UnorderedElementsAre("Range", "Sin", "Add"));
}

TEST_F(Unfold, TensorsOfOneNumberCountAsThatNumber) {
  const ImportedModel model = import(R"((float[64, 64] x) => (float[64, 64] y)
      <float one = {3}, int64[2] s = {64, 64}> { z = Expand(one, s)  y = Add(x, z) })");
  EXPECT_EQ(bytes_in_a_file(model.graph, kNoLimit), 64 * 64 * 4);
  EXPECT_EQ(bytes_in_a_file(model.graph, 4), 4);
  EXPECT_LT(written(model, 4), 1000);
}

}  // namespace
}  // namespace reverie::testing
