#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "core/base/random.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/random_graph.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BadFile : public ::testing::Test {
 protected:
  std::string write(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return path_;
  }
  static std::string error(const std::string& path, const ImportOptions& options = {}) {
    try {
      import_onnx(path, options);
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
      return error.what();
    }
    return "no error";
  }
  static onnx::ModelProto parse(const std::string& text) {
    onnx::ModelProto model;
    const auto status = onnx::OnnxParser::Parse(model, text.c_str());
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    return model;
  }
  std::string error_of(const onnx::ModelProto& model, const ImportOptions& options = {}) {
    return error(write(model.SerializeAsString()), options);
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "model.onnx";
};

TEST_F(BadFile, MissingEmptyAndFolder) {
  EXPECT_THAT(error(folder_ / "absent.onnx"),
              AllOf(HasSubstr("absent.onnx"), HasSubstr("No such")));
  EXPECT_THAT(error(folder_.path()), HasSubstr("no regular file"));
  EXPECT_THAT(error(write("")), HasSubstr("is no ONNX model"));
}

TEST_F(BadFile, TruncatedAnywhereGivesAnErrorOrAModel) {
  export_onnx(RandomGraph::make(1), {}, path_);
  std::ifstream stream(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  int errors = 0;
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 150)
    errors += error(write(whole.substr(0, size))) != "no error";
  EXPECT_GT(errors, 140);
}

TEST_F(BadFile, RandomBytesAndFlippedBytesNeverCrash) {
  Rng rng(7);
  for (int i = 0; i < 100; ++i) {
    std::string noise(rng.below(300) + 1, '\0');
    for (char& c : noise) c = static_cast<char>(rng.bits());
    EXPECT_NE(error(write(noise)), "no error");
  }
  export_onnx(RandomGraph::make(2), {}, path_);
  std::ifstream stream(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    for (int k = 0; k < 3; ++k) damaged[rng.below(damaged.size())] = static_cast<char>(rng.bits());
    error(write(damaged));
  }
}

TEST_F(BadFile, OpsetsOutsideTheRange) {
  for (const int opset : {0, 25}) {
    onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) })");
    model.mutable_opset_import(0)->set_version(opset);
    EXPECT_THAT(error_of(model), HasSubstr(fmt::format("uses opset {}; opsets 1 to 24", opset)));
  }
}

TEST_F(BadFile, VersionsThatThereAreNot) {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Relu(x) })");
  for (const int64_t version : {int64_t{-1}, int64_t{1} << 32}) {
    model.set_ir_version(version);
    EXPECT_THAT(error_of(model), HasSubstr(fmt::format("IR version {}", version)));
  }
}

TEST_F(BadFile, BrokenGraphs) {
  onnx::ModelProto undefined = parse(R"(
      <ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(z) })");
  EXPECT_THAT(error_of(undefined), HasSubstr("value 'z' is used"));
  onnx::ModelProto shapes = parse(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2, 3] x, float[2, 3] w) => (float[2, 3] y) { y = MatMul(x, w) })");
  EXPECT_THAT(error_of(shapes), HasSubstr("MatMul"));
  shapes.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      99);
  EXPECT_THAT(error_of(shapes), HasSubstr("'x' has elements of type 99"));
}

TEST_F(BadFile, SplitsIntoOtherPartsThanOutputs) {
  for (const std::string outputs : {"y", "y, a, b"}) {
    const std::string heading =
        "<ir_version: 8, opset_import: [\"\" : {}]> "
        "g (float[6] x) => (float[n] y) {{ ";
    const std::string input = outputs + " = Split <axis = 0> (x, parts) }";
    const std::string attribute = outputs + " = Split <axis = 0, split = [2, 4]> (x) }";
    const std::string parts = "parts = Constant <value = int64[2] {2, 4}> () ";
    for (const std::string& text : {fmt::format(fmt::runtime(heading), 13) + parts + input,
                                    fmt::format(fmt::runtime(heading), 11) + attribute})
      EXPECT_THAT(error_of(parse(text)), HasSubstr("Split")) << text;
  }
}

/// Extents whose product overflows must not become a small tensor.
TEST_F(BadFile, ExtentsThatOverflowAreNoTensor) {
  const auto carried = [&](const std::string& nodes) {
    const onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[4] x) => (float[n] y)
      <int64[1] huge = {4611686018427387904}, int64[2] both = {4611686018427387904, 4},
       int64[2] column = {4, 1}, int64[2] wide = {4, 274877906944}, int64[1] flat = {1099511627776},
       int64[1] often = {16777216}, int64[3] line = {1, 1, 4}> {)" +
                                         nodes + "}");
    if (error_of(model) != "no error") return true;
    for (const NodeId node : import_onnx(path_).graph.nodes())
      if (&import_onnx(path_).graph.op(node) == &opaque_op()) return true;
    return false;
  };
  EXPECT_TRUE(carried("y = Tile(x, huge)"));
  EXPECT_TRUE(carried("e = Expand(x, both) y = Relu(e)"));
  EXPECT_TRUE(carried("c = ConstantOfShape(both) y = Relu(c)"));
  EXPECT_TRUE(carried(
      "c = Reshape(x, column) e = Expand(c, wide) f = Reshape(e, flat) y = Tile(f, often)"));
  const std::string window = "dilations = [16777216], kernel_shape = [1099511627776]";
  for (const std::string& attributes : {window, window + R"(, auto_pad = "SAME_UPPER")"})
    EXPECT_TRUE(carried("l = Reshape(x, line) y = MaxPool <" + attributes + "> (l)")) << attributes;
  EXPECT_TRUE(carried(R"(l = Reshape(x, line)
      y = MaxPool <kernel_shape = [1], strides = [9223372036854775807], auto_pad = "SAME_UPPER"> (l))"));
}

TEST_F(BadFile, UnboundAndMisboundDimensions) {
  const onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[batch, 3] x, float[batch, 3] w) => (float[batch, 3] y) { y = Add(x, w) })");
  EXPECT_EQ(error_of(model), "no error");
  EXPECT_THAT(import_onnx(path_).warnings, ::testing::ElementsAre(HasSubstr("batch=1")));
  EXPECT_THAT(error_of(model, {{"x=2,4"}}), HasSubstr("input 'x' is batch,3, which 2x4"));
  EXPECT_THAT(error_of(model, {{"x=2"}}), HasSubstr("which 2 does not fit"));
  EXPECT_THAT(error_of(model, {{"x=2,3", "w=4,3"}}),
              HasSubstr("dimension 'batch' is 2 in one place and 4 in input 'w'"));
  EXPECT_THAT(error_of(model, {{"q=2,3"}}), HasSubstr("the inputs are: x, w"));
  EXPECT_THAT(error_of(model, {{"x=2;3"}}), HasSubstr("name=1,3,224,224"));
  EXPECT_EQ(error_of(model, {{"x=2,3"}}), "no error");
  EXPECT_EQ(import_onnx(path_, {{"x=2,3"}})
                .graph.type(import_onnx(path_, {{"x=2,3"}}).graph.outputs()[0].value)
                .shape,
            (Shape{2, 3}));
}

TEST_F(BadFile, UntouchedNodesThatOnnxRejectsAreNotWritten) {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2, 3] x) => (float[4] y) { y = Shrink(x) })");
  testing::write_message(model, path_);
  const ImportedModel imported = import_onnx(path_);
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2, 3}});
  const TensorType wrong = {DType::kFloat32, {4}};
  onnx::NodeProto node = model.graph().node(0);
  const auto attributes =
      std::make_shared<const Attributes>(Attributes{{"op", std::string("Shrink")},
                                                    {"domain", std::string()},
                                                    {"proto", node.SerializeAsString()}});
  const ValueId inputs[] = {x};
  graph.add_output("y", graph.output(graph.add_node(opaque_op(), inputs, attributes, {&wrong, 1})));
  EXPECT_THROW(export_onnx(graph, imported.info, folder_ / "copy.onnx"), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.onnx"));
}

class ExternalData : public BadFile {
 protected:
  void SetUp() override {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 40}});
    const ValueId w = graph.add_constant(Weight::lazy(
        {DType::kFloat32, {40, 40}}, 1,
        [] {
          return Tensor({DType::kFloat32, {40, 40}});
        },
        "w"));
    graph.add_output("y", graph.add("MatMul", {x, w}));
    export_onnx(graph, {}, path_, {.max_inline_bytes = 0});
  }

  void set_entry(const std::string& key, const std::string& value) {
    auto model = testing::read_message<onnx::ModelProto>(path_);
    for (auto& entry : *model.mutable_graph()->mutable_initializer(0)->mutable_external_data())
      if (entry.key() == key) entry.set_value(value);
    testing::write_message(model, path_);
  }
};

TEST_F(ExternalData, IsFoundBesideTheModel) { EXPECT_EQ(error(path_), "no error"); }

TEST_F(ExternalData, MissingOrShortFile) {
  std::filesystem::resize_file(path_ + ".data", 100);
  EXPECT_THAT(error(path_), AllOf(HasSubstr("tensor 'w'"), HasSubstr("has 100 bytes")));
  std::filesystem::remove(path_ + ".data");
  EXPECT_THAT(error(path_), AllOf(HasSubstr("model.onnx.data"), HasSubstr("cannot be opened")));
}

TEST_F(ExternalData, MayNotLeaveTheFolder) {
  for (const char* location : {"../model.onnx.data", "/etc/passwd", "a/../../b", ""}) {
    set_entry("location", location);
    EXPECT_THAT(error(path_), ::testing::AnyOf(HasSubstr("outside the model's folder"),
                                               HasSubstr("no path relative to the model")));
  }
  set_entry("location", "link");
  std::filesystem::create_symlink("/etc/passwd", folder_ / "link");
  EXPECT_THAT(error(path_), HasSubstr("outside the model's folder"));
}

TEST_F(ExternalData, WrongOffsetsAndLengths) {
  set_entry("offset", "99999999999");
  EXPECT_THAT(error(path_), HasSubstr("are asked for"));
  set_entry("offset", "-4");
  EXPECT_THAT(error(path_), HasSubstr("its offset '-4' is no number"));
  set_entry("offset", "0");
  set_entry("length", "8");
  EXPECT_THAT(error(path_), HasSubstr("holds 8 bytes"));
}

}  // namespace
}  // namespace reverie
