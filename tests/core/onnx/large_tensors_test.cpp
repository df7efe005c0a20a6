#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/random.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "core/onnx/wire.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kSide = 96;  // 36 KiB
const TensorType kMatrix = {DType::kFloat32, {kSide, kSide}};

Tensor random_matrix(uint64_t seed = 1) {
  Tensor tensor(kMatrix);
  Rng rng(seed);
  for (float& value : tensor.data<float>()) value = static_cast<float>(rng.normal());
  return tensor;
}

void set_raw(const Tensor& tensor, onnx::TensorProto* out) {
  proto::write_tensor(tensor, out->name(), out);
}

/// y = x w, as somebody else would write it.
onnx::ModelProto product() {
  onnx::ModelProto model = testing::parse(fmt::format(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[2, {0}] x) => (float[2, {0}] y) {{ y = MatMul(x, w) }})",
                                                      kSide));
  onnx::TensorProto* w = model.mutable_graph()->add_initializer();
  w->set_name("w");
  set_raw(random_matrix(), w);
  return model;
}

WeightPtr weight_of(const Graph& graph) {
  for (const NodeId node : graph.nodes())
    if (graph.weight(node) != nullptr && graph.weight(node)->type() == kMatrix)
      return graph.weight(node);
  return nullptr;
}

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class LargeTensors : public ::testing::Test {
 protected:
  std::string error_of(const onnx::ModelProto& model) {
    testing::write_message(model, path_);
    return error();
  }
  std::string error() {
    try {
      import_onnx(path_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory folder_;
  fs::path path_ = folder_ / "model.onnx";
};

TEST_F(LargeTensors, AreLeftInTheFile) {
  testing::write_message(product(), path_);
  const onnx::ModelProto model = proto::parse_model(proto::InputFile(path_));
  ASSERT_EQ(model.graph().initializer_size(), 1);
  const onnx::TensorProto& w = model.graph().initializer(0);
  EXPECT_FALSE(w.has_raw_data());
  EXPECT_EQ(w.data_location(), onnx::TensorProto::EXTERNAL);
  EXPECT_LT(model.ByteSizeLong(), 500u);
}

TEST_F(LargeTensors, AreLeftInTheFileHoweverTheyAreStored) {
  const std::string raw = product().graph().initializer(0).raw_data();
  onnx::ModelProto floats = product(), said = product();
  onnx::TensorProto* w = floats.mutable_graph()->mutable_initializer(0);
  w->clear_raw_data();
  w->mutable_float_data()->Resize(kSide * kSide, 0);
  std::memcpy(w->mutable_float_data()->mutable_data(), raw.data(), raw.size());
  said.mutable_graph()->mutable_initializer(0)->set_data_location(onnx::TensorProto::DEFAULT);
  for (const onnx::ModelProto& model : {floats, said}) {
    testing::write_message(model, path_);
    EXPECT_LT(proto::parse_model(proto::InputFile(path_)).ByteSizeLong(), 500u);
    const WeightPtr weight = weight_of(import_onnx(path_).graph);
    ASSERT_NE(weight, nullptr);
    EXPECT_EQ(weight->identity(), Weight::dense(random_matrix())->identity());
  }
}

/// A field of bytes.
std::string field(int number, const std::string& content) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  size_t length = content.size();
  for (; length >= 128; length >>= 7) field += static_cast<char>(length | 128);
  return field + static_cast<char>(length) + content;
}

TEST_F(LargeTensors, OfFloatsInTwoPartsAreReadInTheirOrder) {
  constexpr int kHalf = 8000;
  onnx::TensorProto first, second, rest;
  first.mutable_float_data()->Resize(kHalf, 1);
  second.mutable_float_data()->Resize(kHalf, 2);
  rest.set_name("w");
  rest.add_dims(2 * kHalf);
  rest.set_data_type(onnx::TensorProto::FLOAT);
  const onnx::ModelProto model = testing::parse(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[16000] x) => (float[16000] y) { y = Add(x, w) })");
  const std::string tensor =
      first.SerializeAsString() + second.SerializeAsString() + rest.SerializeAsString();
  std::ofstream(path_, std::ios::binary)
      << model.SerializeAsString()
      << field(onnx::ModelProto::kGraphFieldNumber,
               field(onnx::GraphProto::kInitializerFieldNumber, tensor));
  const onnx::TensorProto w = proto::parse_model(proto::InputFile(path_)).graph().initializer(0);
  ASSERT_EQ(w.float_data_size(), 2 * kHalf);
  EXPECT_EQ(w.float_data(kHalf - 1), 1);
  EXPECT_EQ(w.float_data(kHalf), 2);
}

TEST_F(LargeTensors, HaveTheValuesAndTheIdentityOfOnesInMemory) {
  testing::write_message(product(), path_);
  const WeightPtr weight = weight_of(import_onnx(path_).graph);
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->identity(), Weight::dense(random_matrix())->identity());
  EXPECT_EQ(weight->name(), "w");
  EXPECT_TRUE(std::ranges::equal(weight->materialize().bytes(), random_matrix().bytes()));
}

TEST_F(LargeTensors, AreFoundWhateverFolderTheProcessIsIn) {
  testing::write_message(product(), path_);
  const ImportedModel model = import_onnx(path_);
  const fs::path before = fs::current_path();
  for (const char* name : {"first", "second"}) {
    fs::create_directory(folder_ / name);
    fs::current_path(folder_ / name);
    EXPECT_NO_THROW(export_onnx(model.graph, model.info, "model.onnx"));
    fs::current_path(before);
    EXPECT_TRUE(fs::exists(fs::path(folder_.path()) / name / "model.onnx"));
  }
}

TEST_F(LargeTensors, LieInNoFileBesideTheModel) {
  testing::write_message(product(), path_);
  EXPECT_TRUE(import_onnx(path_).info.external_files.empty());
}

TEST_F(LargeTensors, OfConstantNodesToo) {
  onnx::ModelProto model = product();
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type("Constant");
  node->add_output("w");
  auto* value = node->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  *value->mutable_t() = model.graph().initializer(0);
  model.mutable_graph()->clear_initializer();
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  testing::write_message(model, path_);
  const onnx::ModelProto parsed = proto::parse_model(proto::InputFile(path_));
  EXPECT_FALSE(parsed.graph().node(0).attribute(0).t().has_raw_data());
  const WeightPtr weight = weight_of(import_onnx(path_).graph);
  ASSERT_NE(weight, nullptr);
  EXPECT_TRUE(std::ranges::equal(weight->materialize().bytes(), random_matrix().bytes()));
}

TEST_F(LargeTensors, OfNodesThatAreCarriedThroughComeAlong) {
  onnx::ModelProto model = product();
  model.mutable_graph()->mutable_node(0)->set_domain("somewhere");
  model.add_opset_import()->set_domain("somewhere");
  auto* table = model.mutable_graph()->mutable_node(0)->add_attribute();
  table->set_name("table");
  table->set_type(onnx::AttributeProto::TENSOR);
  set_raw(random_matrix(2), table->mutable_t());
  testing::write_message(model, path_);
  const ImportedModel imported = import_onnx(path_);
  const TemporaryDirectory elsewhere;
  export_onnx(imported.graph, imported.info, elsewhere / "copy.onnx");
  const auto copy = testing::read_message<onnx::ModelProto>(elsewhere / "copy.onnx");
  EXPECT_EQ(copy.graph().node(0).attribute(0).t().raw_data(), table->t().raw_data());
}

TEST_F(LargeTensors, AreWrittenAsTheyWereAndAreReadByProtobuf) {
  testing::write_message(product(), path_);
  const ImportedModel model = import_onnx(path_);
  export_onnx(model.graph, model.info, folder_ / "copy.onnx");
  const auto copy = testing::read_message<onnx::ModelProto>(folder_ / "copy.onnx");
  ASSERT_EQ(copy.graph().initializer_size(), 1);
  EXPECT_EQ(copy.graph().initializer(0).raw_data(), product().graph().initializer(0).raw_data());
  EXPECT_EQ(copy.graph().initializer(0).data_location(), onnx::TensorProto::DEFAULT);
  EXPECT_EQ(copy.graph().node_size(), 1);
  EXPECT_TRUE(isomorphic(import_onnx(folder_ / "copy.onnx").graph, model.graph));
}

TEST_F(LargeTensors, AreWrittenOverTheirOwnSource) {
  testing::write_message(product(), path_);
  const ImportedModel model = import_onnx(path_);
  for (const int64_t max_inline_bytes : {int64_t{1} << 30, int64_t{1000}, int64_t{1} << 30}) {
    export_onnx(model.graph, model.info, path_, {.max_inline_bytes = max_inline_bytes});
    EXPECT_TRUE(isomorphic(import_onnx(path_).graph, model.graph));
  }
}

TEST_F(LargeTensors, AreNotStoredASecondTimeWithTheirElementsMoved) {
  onnx::ModelProto model = product();
  onnx::GraphProto* graph = model.mutable_graph();
  onnx::NodeProto* transpose = graph->add_node();
  transpose->set_op_type("Transpose");
  transpose->add_input("w");
  transpose->add_output("t");
  onnx::NodeProto* product = graph->add_node();
  product->set_op_type("MatMul");
  product->add_input("x");
  product->add_input("t");
  product->add_output("z");
  *graph->add_output() = graph->output(0);
  graph->mutable_output(1)->set_name("z");
  testing::write_message(model, path_);
  export_onnx(import_onnx(path_).graph, {}, folder_ / "written.onnx");
  EXPECT_LT(fs::file_size(folder_ / "written.onnx"), 1.2 * fs::file_size(path_));
  EXPECT_NO_THROW(import_onnx(folder_ / "written.onnx"));
}

TEST_F(LargeTensors, AreFoundThroughALink) {
  fs::create_directory(folder_ / "store");
  testing::write_message(product(), folder_ / "store/blob");
  fs::create_symlink(folder_ / "store/blob", path_);
  EXPECT_EQ(error(), "no error");
}

TEST_F(LargeTensors, OfTheWrongSizeAreRefused) {
  onnx::ModelProto model = product();
  model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->append("abcd");
  EXPECT_THAT(error_of(model),
              HasSubstr("tensor 'w': holds 36868 bytes, float32 96x96 needs 36864"));
  model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->resize(kSide * kSide * 4);
  EXPECT_EQ(error_of(model), "no error");
}

/// As in ONNX Runtime.
TEST_F(LargeTensors, OfTwoKindsOfDataTheRawOnesCount) {
  onnx::ModelProto model = product();
  model.mutable_graph()->mutable_initializer(0)->add_float_data(1);
  EXPECT_EQ(error_of(model), "no error");
  model.mutable_graph()->mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_THAT(error_of(model), HasSubstr("is no path relative to the model"));
}

/// Every length that is cut or overwritten ends in a message.
TEST_F(LargeTensors, OfBrokenFilesAreRefused) {
  testing::write_message(product(), path_);
  const std::string whole = contents(path_);
  for (size_t size = 0; size < whole.size();
       size += size < 200 || size + 200 > whole.size() ? 1 : 997) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    EXPECT_NE(error(), "no error") << "cut at " << size;
  }
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    std::string broken = whole;
    for (int i = 0; i < 2; ++i) {
      const uint64_t at = rng.below(200);
      broken[at < 100 ? at : broken.size() - at + 99] = static_cast<char>(rng.below(256));
    }
    std::ofstream(path_, std::ios::binary) << broken;
    error();  // one or none, but no crash
  }
}

TEST_F(LargeTensors, ThatChangeWhileTheyAreNeededAreRefused) {
  testing::write_message(product(), path_);
  const ImportedModel model = import_onnx(path_);
  fs::resize_file(path_, fs::file_size(path_) - 100);
  try {
    export_onnx(model.graph, model.info, folder_ / "copy.onnx");
    ADD_FAILURE() << "half a weight was written";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("model.onnx: was changed while it was read"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "copy.onnx"));
}

TEST_F(LargeTensors, OfNoughtsTakeNoRoomBesideTheModel) {
  Graph graph;
  const TensorType large = {DType::kFloat32, {2048, kSide}};
  Tensor noughts(large);
  std::ranges::fill(noughts.bytes(), std::byte{0});
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2048, 2048}});
  const ValueId first = graph.add_constant(Weight::dense(noughts, "noughts"));
  const ValueId second = graph.add_constant(Weight::dense(random_matrix(), "w"));
  graph.add_output("y", graph.add("MatMul", {graph.add("MatMul", {x, first}), second}));
  graph.add_output("z", first);
  export_onnx(graph, {}, path_, {.max_inline_bytes = 0});
  struct stat status = {};
  ASSERT_EQ(::stat((path_.string() + ".data").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, large.bytes() + kMatrix.bytes());
  EXPECT_LT(status.st_blocks * 512, large.bytes() / 2);
  EXPECT_TRUE(isomorphic(import_onnx(path_).graph, lower(graph)));
}

/// A sparse one whose values and indices lie in a file of their own.
TEST_F(LargeTensors, SparseOnesInFilesComeAlong) {
  onnx::ModelProto model = testing::parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[4] x) => (float[4] y) { y = Add(x, s) })");
  const float values[] = {1.5, -2};
  const int64_t indices[] = {1, 3};
  onnx::SparseTensorProto* sparse = model.mutable_graph()->add_sparse_initializer();
  sparse->add_dims(4);
  sparse->mutable_values()->set_name("s");
  std::ofstream file(folder_ / "sparse.bin", std::ios::binary);
  file.write(reinterpret_cast<const char*>(values), sizeof(values));
  file.write(reinterpret_cast<const char*>(indices), sizeof(indices));
  file.close();
  for (auto* part : {sparse->mutable_values(), sparse->mutable_indices()}) {
    const bool first = part == sparse->mutable_values();
    part->add_dims(2);
    part->set_data_type(first ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
    proto::set_external("sparse.bin", first ? 0 : sizeof(values),
                        first ? sizeof(values) : sizeof(indices), part);
  }
  testing::write_message(model, path_);
  const ImportedModel imported = import_onnx(path_);
  const TemporaryDirectory elsewhere;
  export_onnx(imported.graph, imported.info, elsewhere / "copy.onnx");
  const auto copy = testing::read_message<onnx::ModelProto>(elsewhere / "copy.onnx");
  const auto& written = copy.graph().node(0).attribute(0).sparse_tensor();
  EXPECT_EQ(written.values().raw_data(),
            std::string(reinterpret_cast<const char*>(values), sizeof(values)));
  EXPECT_EQ(written.indices().raw_data(),
            std::string(reinterpret_cast<const char*>(indices), sizeof(indices)));
}

}  // namespace
}  // namespace reverie
