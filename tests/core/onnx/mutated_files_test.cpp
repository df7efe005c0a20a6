#include <gtest/gtest.h>

#include "core/base/random.h"
#include "core/exec/compare.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/model_mutator.h"
#include "tests/support/random_graph.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

onnx::ModelProto with_branches() {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 13, "com.x" : 1, "ai.onnx.ml" : 1, "my" : 1]>
      g (float[n, 4] x, bool c) => (float[n, 4] y, float[m] z)
      <float[4] w = {1, 2, 3, 4}, int64[2] s = {-1, 4}> {
        a = Add(x, w)  i = If(c)  b = Reshape(i, s)  f = my.F(b)  d = com.x.Foo(f, w)
        e = ai.onnx.ml.Scaler(d)  y = LeakyRelu <alpha = 0.5> (e)
        q = NonZero(a)  r = Cast <to = 1> (q)  z = ReduceMax <axes = [0]> (r) })");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = model.mutable_graph()->mutable_node(1)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = parse(
                                  "<ir_version: 8, opset_import: [\"\" : 13]> t () => (float[n, 4] "
                                  "v) { u = Exp(a)  v = Neg(u) }")
                                  .graph();
  }
  onnx::FunctionProto* function = model.add_functions();
  function->set_domain("my");
  function->set_name("F");
  function->add_input("p");
  function->add_output("o");
  function->add_opset_import()->set_version(13);
  const onnx::ModelProto body = parse(
      "<ir_version: 8, opset_import: [\"\" : 13]> f (float[2] p) => (float[2] o) { k = Exp(p)  o = "
      "Neg(k) }");
  *function->mutable_node() = body.graph().node();
  return model;
}

onnx::ModelProto with_many_operators() {
  return parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[1, 2, 8, 8] x, int64[2] at) => (float[1, k] y, float[1, 3, 4, 4] z)
      <float[3, 2, 3, 3] w, float[3] s, float[4] scales = {1, 1, 2, 2}, int64[1] axes = {1}> {
        c = Conv <pads = [1, 1, 1, 1]> (x, w)  n = BatchNormalization(c, s, s, s, s)
        p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (n)
        u = Resize <mode = "nearest"> (p, , scales)  g = Gather <axis = 2> (u, at)
        t = Transpose <perm = [0, 2, 1, 3]> (g)  r = ReduceMean <axes = [1], keepdims = 1> (t)
        h = Squeeze(r, axes)  f = Flatten(h)  l, m = Split <axis = 1> (f)
        o = Concat <axis = 1> (l, m)  y = Softmax <axis = 1> (o)
        e = Einsum <equation = "abcd,abcd->abcd"> (p, p)  z = Clip(e) })");
}

class MutatedFiles : public ::testing::Test {
 protected:
  /// What comes of it is an error in a sentence, or a file that can be read again, unless extents
  /// that depend on data hide what is wrong in it.
  void read_and_write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    try {
      const ImportedModel model = import_onnx(path_);
      ++read_;
      if (is_small(model.graph))
        compare(model.graph, model.graph, {.inputs = 1, .extremes = false});
      export_onnx(model.graph, model.info, copy_, {.symbols = symbols_of(model)});
      ++written_;
      if (!model.info.data_extents.empty()) return;
      EXPECT_NO_THROW(import_onnx(copy_)) << kept();
    } catch (const InputError&) {
      return;
    } catch (const std::exception& fault) {
      ADD_FAILURE() << fault.what() << ": " << kept();
    }
  }

  static bool is_small(const Graph& graph) {
    constexpr int64_t kMostElements = 1 << 14;
    return std::ranges::all_of(graph.nodes(), [&](NodeId node) {
      return std::ranges::all_of(graph.outputs(node), [&](ValueId value) {
        return !graph.type(value).known() || graph.type(value).elements() <= kMostElements;
      });
    });
  }

  std::string kept() const {
    std::filesystem::copy_file(path_, "mutated.onnx",
                               std::filesystem::copy_options::overwrite_existing);
    return "mutated.onnx";
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "model.onnx";
  std::string copy_ = folder_ / "copy.onnx";
  int read_ = 0;
  int written_ = 0;
};

/// Other cases: --gtest_shuffle --gtest_random_seed=N.
TEST_F(MutatedFiles, GiveAnErrorOrAModel) {
  std::vector<std::string> models = {with_branches().SerializeAsString(),
                                     with_many_operators().SerializeAsString()};
  for (const uint64_t seed : {3, 4}) {
    export_onnx(RandomGraph::make(seed, 12), {}, path_);
    models.push_back(read_message<onnx::ModelProto>(path_).SerializeAsString());
  }
  const auto seed = static_cast<uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  constexpr int kCases = 400, kMostChanges = 3;
  for (int i = 0; i < kCases; ++i) {
    ModelMutator mutator(Rng(seed).fork(static_cast<uint64_t>(i)).bits());
    read_and_write(
        mutator.mutated(models[static_cast<size_t>(i) % models.size()], 1 + i % kMostChanges));
  }
  EXPECT_GT(read_, kCases / 5);
  EXPECT_GT(written_, kCases / 10);
}

}  // namespace
}  // namespace reverie::testing
