#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "core/base/random.h"
#include "core/base/sanitized.h"
#include "core/exec/compare.h"
#include "core/onnx/copy.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/peak_memory.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;

/// What work on a model costs in memory, as parts of the size of its weights.
class WeightMemory : public ::testing::Test {
 protected:
  static constexpr int64_t kSide = 480;  // 0.9 MB each
  static constexpr int kLayers = 60;

  using SetData = void (*)(const Tensor&, onnx::TensorProto*);
  static void set_raw(const Tensor& tensor, onnx::TensorProto* out) {
    out->set_raw_data(tensor.bytes().data(), tensor.bytes().size());
  }
  static void set_floats(const Tensor& tensor, onnx::TensorProto* out) {
    const auto floats = tensor.data<float>();
    out->mutable_float_data()->Add(floats.begin(), floats.end());
  }
  static void set_raw_and_say_so(const Tensor& tensor, onnx::TensorProto* out) {
    set_raw(tensor, out);
    out->set_data_location(onnx::TensorProto::DEFAULT);
  }

  void SetUp() override {
    if (REVERIE_SANITIZED) GTEST_SKIP() << "sanitizers keep memory of their own";
  }

  /// A chain of products with matrices; `layer` makes nodes of input {0} and weight {1}, which give
  /// {2}.
  void write_chain(const std::string& layer, SetData set_data, bool in_order = true,
                   const std::string& shape = "8, 480") const {
    peak_memory_of([&] {
      std::string nodes;
      for (int i = 0; i < kLayers; ++i)
        nodes +=
            fmt::format(fmt::runtime(layer), i == 0 ? "x" : fmt::format("x{}", i),
                        fmt::format("w{}", i), i + 1 == kLayers ? "y" : fmt::format("x{}", i + 1)) +
            "\n";
      onnx::ModelProto model =
          testing::parse(fmt::format(R"(<ir_version: 8, opset_import: ["" : 13]>
                         g (float[{0}] x) => (float[{0}] y) <float two = {{2}}> {{ {1} }})",
                                     shape, nodes));
      Rng rng(1);
      for (int i = 0; i < kLayers; ++i) {
        Tensor weight({DType::kFloat32, {kSide, kSide}});
        for (float& value : weight.data<float>()) value = static_cast<float>(rng.uniform(-1, 1));
        onnx::TensorProto* added = model.mutable_graph()->add_initializer();
        proto::write_type(weight.type(), fmt::format("w{}", i), added);
        set_data(weight, added);
      }
      auto* all = model.mutable_graph()->mutable_node();
      if (!in_order) std::reverse(all->pointer_begin(), all->pointer_end());
      testing::write_message(model, path_);
    });
  }

  /// Nodes that compute y from a table, and from ids or x.
  void write_table(const std::string& nodes) const {
    peak_memory_of([&] {
      onnx::ModelProto model =
          testing::parse(fmt::format(R"(<ir_version: 8, opset_import: ["" : 13]>
                         g (int64[4] ids, float[4, 12000] x) => (y) {{ {} }})",
                                     nodes));
      const TensorType type = {DType::kFloat32, {12000, 1000}};
      onnx::TensorProto* table = model.mutable_graph()->add_initializer();
      proto::write_type(type, "table", table);
      table->mutable_raw_data()->resize(static_cast<size_t>(type.bytes()), '\1');
      testing::write_message(model, path_);
    });
  }

  double share(const std::function<void()>& work) const {
    const int64_t own = peak_memory_of([] {});
    return static_cast<double>(peak_memory_of(work) - own) /
           static_cast<double>(fs::file_size(path_));
  }
  void import_and_copy() const {
    copy_model(path_, import_onnx(path_).info, folder_ / "copy.onnx");
  }

  TemporaryDirectory folder_;
  const fs::path path_ = folder_ / "model.onnx";
};

constexpr char kProduct[] = "{2} = MatMul({0}, {1})";

TEST_F(WeightMemory, ReadingAndCopyingHoldsNoWeight) {
  for (const SetData set_data : {set_raw, set_floats, set_raw_and_say_so}) {
    write_chain(kProduct, set_data);
    EXPECT_LT(share([&] { import_and_copy(); }), 0.4);
  }
}

TEST_F(WeightMemory, CopyingWhatIsOutOfOrderHoldsNoWeight) {
  write_chain(kProduct, set_raw, false);
  EXPECT_LT(share([&] { import_and_copy(); }), 0.4);
}

/// Folded weights of up to 1 MiB are kept, which takes 1.0. What the system's aligned blocks left
/// unused between them was twice that again.
TEST_F(WeightMemory, FoldingLeavesNoGaps) {
  write_chain("t{1} = Mul({1}, two)  {2} = MatMul({0}, t{1})", set_raw);
  EXPECT_LT(share([&] {
              const ImportedModel model = import_onnx(path_);
              export_onnx(model.graph, model.info, folder_ / "copy.onnx");
            }),
            1.5);
}

/// In double precision all of them would take 2.0.
TEST_F(WeightMemory, ComparingHoldsTheWeightsOfOneProductAtATime) {
  for (const auto& [layer, shape] :
       {std::pair{kProduct, "8, 480"}, std::pair{"{2} = MatMul({1}, {0})", "480, 8"}}) {
    write_chain(layer, set_raw, true, shape);
    EXPECT_LT(share([&] {
                const Graph graph = import_onnx(path_).graph;
                REVERIE_CHECK(compare(graph, graph, {.inputs = 1, .extremes = false}).agree);
              }),
              0.6)
        << layer;
  }
}

/// One weight of 48 MB. In double precision it would take 2.0, and its transpose as much again.
TEST_F(WeightMemory, ComparingHoldsALargeWeightInItsOwnType) {
  struct Case {
    const char* nodes;
    double limit;
  };
  for (const auto& [nodes, limit] :
       {Case{"y = Gather(table, ids)", 1.5}, Case{"y = MatMul(x, table)", 1.5},
        Case{"e = Gather(table, ids)  t = Transpose<perm = [1, 0]>(table)  y = MatMul(e, t)",
             2.5}}) {
    write_table(nodes);
    EXPECT_LT(share([&] {
                const Graph graph = import_onnx(path_).graph;
                REVERIE_CHECK(compare(graph, graph, {.inputs = 1}).agree);
              }),
              limit)
        << nodes;
  }
}

}  // namespace
}  // namespace reverie
