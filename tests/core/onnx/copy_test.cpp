#include "core/onnx/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/base/files.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/node_notes.h"
#include "core/onnx/symbols.h"
#include "core/onnx/wire.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCount = 1024;

class Copy : public ::testing::Test {
 protected:
  /// In a folder of that name: x + w, where w is `value` everywhere and lies in weights.bin.
  fs::path model_with(const std::string& name, float value) {
    const fs::path folder = folder_ / name;
    fs::create_directories(folder);
    const std::vector<float> values(kCount, value);
    const auto bytes = static_cast<int64_t>(values.size() * sizeof(float));
    write_file(folder / "weights.bin",
               {reinterpret_cast<const char*>(values.data()), static_cast<size_t>(bytes)});
    onnx::ModelProto model = parse(R"(<ir_version: 8, opset_import: ["" : 13]>
                                      g (float[1, 1024] x) => (float[1, 1024] y) { y = Add(x, w) })");
    onnx::TensorProto* weight = model.mutable_graph()->add_initializer();
    proto::write_type({DType::kFloat32, {kCount}}, "w", weight);
    proto::set_external("weights.bin", 0, bytes, weight);
    write_message(model, folder / (name + ".onnx"));
    return folder / (name + ".onnx");
  }

  /// The first element of the model's large weight.
  static double weight_in(const fs::path& path) {
    const Graph graph = import_onnx(path).graph;
    for (const NodeId node : graph.nodes())
      if (const WeightPtr& weight = graph.weight(node))
        return weight->materialize().to_doubles()[0];
    return -1;
  }

  void copy(const fs::path& from, const fs::path& to) {
    copy_model(from, import_onnx(from).info, to);
  }

  TemporaryDirectory folder_;
};

TEST_F(Copy, DataFilesOfOneNameKeepTheirContent) {
  const fs::path one = model_with("one", 1), two = model_with("two", 2), out = folder_ / "out";
  fs::create_directories(out);
  for (int i = 0; i < 2; ++i) {
    copy(one, out / "one.onnx");
    copy(two, out / "two.onnx");
    EXPECT_EQ(weight_in(out / "one.onnx"), 1);
    EXPECT_EQ(weight_in(out / "two.onnx"), 2);
  }
  EXPECT_EQ(read_file(out / "one.onnx"), read_file(one));
  EXPECT_TRUE(fs::exists(out / "two.onnx.data"));
  EXPECT_FALSE(fs::exists(out / "two.onnx.2.data"));
}

TEST_F(Copy, EqualDataFilesAreShared) {
  const fs::path one = model_with("one", 1), two = model_with("two", 1), out = folder_ / "out";
  fs::create_directories(out);
  copy(one, out / "one.onnx");
  copy(two, out / "two.onnx");
  EXPECT_EQ(read_file(out / "two.onnx"), read_file(two));
  EXPECT_FALSE(fs::exists(out / "two.onnx.data"));
}

TEST_F(Copy, AWrittenModelLeavesWeightsThatAnotherOneUses) {
  const auto write = [&](float value) {
    const ImportedModel model = import_onnx(model_with("in", value));
    export_onnx(model.graph, model.info, folder_ / "m.onnx", {.max_inline_bytes = 0});
  };
  write(1);
  write(2);
  EXPECT_FALSE(fs::exists(folder_ / "m.onnx.2.data"));
  fs::copy_file(folder_ / "m.onnx", folder_ / "kept.onnx");
  write(3);
  EXPECT_EQ(weight_in(folder_ / "m.onnx"), 3);
  EXPECT_EQ(weight_in(folder_ / "kept.onnx"), 2);
}

TEST_F(Copy, AnUnchangedModelIsWrittenByteByByte) {
  const fs::path original = model_with("in", 1);
  fs::create_directories(folder_ / "out");
  for (const char* place : {"out/in.onnx", "in/again.onnx"}) {
    const ImportedModel model = import_onnx(original);
    export_with_symbols(original, model, model.graph, folder_ / place);
    EXPECT_EQ(read_file(folder_ / place), read_file(original)) << place;
  }
  EXPECT_EQ(weight_in(folder_ / "out/in.onnx"), 1);
  EXPECT_FALSE(fs::exists(folder_ / "in/again.onnx.data"));
}

TEST_F(Copy, NodesMayTellMore) {
  const fs::path original = model_with("in", 1), out = folder_ / "out.onnx";
  auto model = read_message<onnx::ModelProto>(original);
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  proto::set_notes({{"by", "me"}, {"reverie.rule", "r"}, {"place", "old"}}, &node);
  *model.mutable_graph()->add_node() = node;
  model.mutable_graph()->mutable_node(1)->set_output(0, "z");
  write_message(model, original);
  copy_model(original, import_onnx(original).info, out, {"place", {{"y", "new"}}});
  const auto told = read_message<onnx::ModelProto>(out);
  proto::set_notes({{"by", "me"}, {"reverie.rule", "r"}, {"place", "new"}}, &node);
  proto::set_notes({{"by", "me"}, {"reverie.rule", "r"}}, model.mutable_graph()->mutable_node(1));
  EXPECT_EQ(told.SerializeAsString(), model.SerializeAsString()) << "all else stays";
  EXPECT_EQ(weight_in(out), 1);
  copy_model(out, import_onnx(out).info, out, {"place", {}});
  const auto untold = read_message<onnx::ModelProto>(out);
  EXPECT_EQ(untold.graph().node(0).unknown_fields().field_count(), 2) << "onto itself";
}

/// What is written of the model as it was imported.
std::string written(const onnx::ModelProto& model, const TemporaryDirectory& folder) {
  write_message(model, folder / "model.onnx");
  const ImportedModel imported = import_onnx(folder / "model.onnx");
  export_with_symbols(folder / "model.onnx", imported, imported.graph, folder / "out.onnx");
  return read_file(folder / "out.onnx");
}

TEST_F(Copy, AnUnchangedModelIsPutInOrder) {
  onnx::ModelProto model = parse(R"(<ir_version: 8, opset_import: ["" : 13, "other" : 2]>
      g (float[n, 3] x) => (float[n, 3] y) { a = Abs(x)  y = other.Foo(a) })");
  const std::string in_order = model.SerializeAsString();
  EXPECT_EQ(written(model, folder_), in_order);
  model.mutable_graph()->mutable_node()->SwapElements(0, 1);
  EXPECT_EQ(written(model, folder_), in_order);
  model.mutable_opset_import()->RemoveLast();
  onnx::ModelProto imported;
  ASSERT_TRUE(imported.ParseFromString(written(model, folder_)));
  EXPECT_EQ(imported.opset_import_size(), 2);
}

/// Byte by byte what Protobuf writes that holds them all.
TEST_F(Copy, LargeTensorsOfAModelThatIsPutInOrderStayAsTheyAre) {
  onnx::ModelProto model = parse(R"(<ir_version: 8, producer_name: "p", opset_import: ["" : 13]>
      g (float[80, 80] x) => (float[80, 80] y) {
        c = Constant()  a = MatMul(x, raw)
        b = MatMul(a, floats)  d = MatMul(b, said)  y = Add(d, c)
      })");
  std::vector<float> values(80 * 80);
  std::iota(values.begin(), values.end(), 0.5F);
  model.mutable_graph()->clear_initializer();
  model.mutable_graph()->set_doc_string("behind the initializers");
  const auto declare = [&](const std::string& name, onnx::TensorProto* tensor) {
    proto::write_type({DType::kFloat32, {80, 80}}, name, tensor);
    tensor->set_doc_string("behind the data");
    if (name == "floats")
      tensor->mutable_float_data()->Add(values.begin(), values.end());
    else
      tensor->set_raw_data(values.data(), values.size() * sizeof(float));
    if (name == "said") tensor->set_data_location(onnx::TensorProto::DEFAULT);
  };
  for (const char* name : {"raw", "floats", "said"})
    declare(name, model.mutable_graph()->add_initializer());
  onnx::AttributeProto* value = model.mutable_graph()->mutable_node(0)->add_attribute();
  value->set_name("value");
  value->set_type(onnx::AttributeProto::TENSOR);
  declare("", value->mutable_t());
  const std::string in_order = model.SerializeAsString();
  model.mutable_graph()->mutable_node()->SwapElements(1, 2);
  const fs::path path = folder_ / "model.onnx", out = folder_ / "out.onnx";
  write_message(model, path);
  for (const fs::path& to : {out, path}) {
    copy_model(path, import_onnx(path).info, to, {"place", {}});
    EXPECT_EQ(read_file(to), in_order);
  }
}

TEST_F(Copy, SymbolicDimensionsAndShapesDoNotChangeAModel) {
  const onnx::ModelProto model = parse(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[n, 3, 4] x) => (float[n, 12] y) <int64[2] s = {0, 12}> { r = Relu(x)  y = Reshape(r, s) })");
  EXPECT_EQ(written(model, folder_), model.SerializeAsString());
}

TEST_F(Copy, WhatIsFoldedOrLeftOutChangesAModel) {
  for (const char* nodes : {"r = Relu(x)  i = Identity(r)  y = Tanh(i)",
                            "unused = Tanh(x)  y = Relu(x)", "c = Neg(w)  y = Add(x, c)"}) {
    const onnx::ModelProto model = parse(fmt::format(R"(<ir_version: 8, opset_import: ["" : 13]>
                             g (float[2] x) => (float[2] y) <float[2] w = {{1, 2}}> {{ {} }})",
                                                     nodes));
    EXPECT_NE(written(model, folder_), model.SerializeAsString()) << nodes;
  }
}

}  // namespace
}  // namespace reverie::testing
