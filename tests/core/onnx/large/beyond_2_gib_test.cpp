#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/random.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/wire.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

constexpr int64_t kRows = 640, kColumns = int64_t{1} << 20, kSide = 96;
const TensorType kTable = {DType::kFloat32, {kRows, kColumns}};  // 2.5 GiB
const TensorType kMatrix = {DType::kFloat32, {kSide, kSide}};

Tensor matrix(float factor) {
  Tensor tensor(kMatrix);
  Rng rng(1);
  for (float& value : tensor.data<float>()) value = factor * static_cast<float>(rng.normal());
  return tensor;
}

/// A table of noughts, which is a hole, and a matrix behind it, which is doubled.
void write_source(const std::string& path) {
  onnx::ModelProto model = testing::parse(fmt::format(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (int64[2] ids, float[2, {0}] x) => (float[2, {1}] rows, float[2, {0}] y) <float two = {{2}}>
      {{ rows = Gather(table, ids) doubled = Mul(w, two) y = MatMul(x, doubled) }})",
                                                      kSide, kColumns));
  int64_t offset = 0;
  for (const auto& [name, type] : {std::pair{"table", kTable}, std::pair{"w", kMatrix}}) {
    onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
    proto::write_type(type, name, tensor);
    proto::set_external("weights.bin", offset, type.bytes(), tensor);
    offset += type.bytes();
  }
  testing::write_message(model, path);
  const std::string weights = std::filesystem::path(path).replace_filename("weights.bin");
  std::ofstream file(weights, std::ios::binary);
  const Tensor w = matrix(1);
  file.seekp(kTable.bytes());
  file.write(reinterpret_cast<const char*>(w.bytes().data()), kMatrix.bytes());
}

WeightPtr weight_of(const Graph& graph, const TensorType& type) {
  for (const NodeId node : graph.nodes())
    if (graph.weight(node) != nullptr && graph.weight(node)->type() == type)
      return graph.weight(node);
  throw InputError("no weight is {}", to_string(type));
}

bool same_bytes(const Weight& weight, const Tensor& tensor) {
  return std::ranges::equal(weight.materialize().bytes(), tensor.bytes());
}

TEST(Beyond2GiB, AWeightIsReadRewrittenAndWritten) {
  const TemporaryDirectory folder;
  write_source(folder / "model.onnx");
  const ImportedModel model = import_onnx(folder / "model.onnx");
  EXPECT_TRUE(same_bytes(*weight_of(model.graph, kMatrix), matrix(1)));
  export_onnx(model.graph, model.info, folder / "copy.onnx");
  struct stat data = {};
  ASSERT_EQ(::stat((folder / "copy.onnx.data").c_str(), &data), 0);
  EXPECT_EQ(data.st_size, kTable.bytes() + kMatrix.bytes());
  EXPECT_LT(data.st_blocks * 512, 64 << 20) << "noughts are holes";
  const ImportedModel copy = import_onnx(folder / "copy.onnx");
  EXPECT_TRUE(same_bytes(*weight_of(copy.graph, kMatrix), matrix(2)));
  EXPECT_EQ(weight_of(copy.graph, kTable)->identity(), weight_of(model.graph, kTable)->identity());
}

}  // namespace
}  // namespace reverie
