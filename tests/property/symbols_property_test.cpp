#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/exec/graph_interface.h"
#include "core/onnx/symbols.h"
#include "core/rules/rewrite_state.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/rewrite_checks.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

/// A random model of x [b, 4, h, w] with symbolic b, h and w, in ONNX's text form.
class SymbolicModel {
 public:
  explicit SymbolicModel(uint64_t seed) : rng_(seed) {}

  std::string text() {
    for (int i = 0; i < 7; ++i) extend();
    return "<ir_version: 8, opset_import: [\"\" : 13]> g (float[b, 4, h, w] x) => (float[p, q, r, "
           "s] y) {\n"
           "none = Constant<value_ints = [0]>() one = Constant<value_ints = [1]>()\n"
           "two = Constant<value_ints = [2]>() three = Constant<value_ints = [3]>()\n"
           "half = Constant<value_floats = [1.0, 1.0, 0.5, 0.5]>()\n"
           "double = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()\n" +
           body_ + "y = Relu(" + at_ + ")\n}";
  }

 private:
  std::string fresh() { return "v" + std::to_string(next_++); }
  std::string add(const std::string& node) {
    const std::string name = fresh();
    body_ += name + " = " + node + "\n";
    return name;
  }
  std::string floats(const std::string& shape, int64_t count) {
    std::string values;
    for (int64_t i = 0; i < count; ++i)
      values += (i > 0 ? ", " : "") + std::to_string(rng_.normal());
    const std::string flat = add("Constant<value_floats = [" + values + "]>()");
    const std::string to = add("Constant<value_ints = [" + shape + "]>()");
    return add("Reshape(" + flat + ", " + to + ")");
  }
  /// Axes `from` to `to` of the shape of a value.
  std::string extents(const std::string& value, const std::string& from, const std::string& to) {
    return add("Slice(" + add("Shape(" + value + ")") + ", " + from + ", " + to + ", none)");
  }
  std::string channels() { return std::to_string(channels_); }

  void convolve() {
    const int64_t out = 2 + 2 * static_cast<int64_t>(rng_.below(3));
    const std::string w =
        floats(std::to_string(out) + ", " + channels() + ", 3, 3", out * channels_ * 9);
    const std::array<const char*, 4> ways = {
        "<pads = [1, 1, 1, 1]>", "<strides = [2, 2], pads = [1, 1, 1, 1]>",
        "<auto_pad = \"SAME_UPPER\", strides = [2, 2]>", "<auto_pad = \"SAME_LOWER\">"};
    at_ = add(std::string("Conv") + ways[rng_.below(4)] + "(" + at_ + ", " + w + ")");
    channels_ = out;
  }
  void scale_channels() {
    const std::string shape = channels() + ", 1, 1";
    at_ = add("Mul(" + at_ + ", " + floats(shape, channels_) + ")");
    at_ = add("Add(" + at_ + ", " + floats(shape, channels_) + ")");
  }
  void pool() {
    const std::array<const char*, 3> ways = {
        "MaxPool<kernel_shape = [2, 2], strides = [2, 2]>",
        "MaxPool<kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1>",
        "AveragePool<kernel_shape = [3, 3], strides = [1, 1], pads = [1, 1, 1, 1]>"};
    at_ = add(std::string(ways[rng_.below(3)]) + "(" + at_ + ")");
  }
  void pad() {
    at_ = add("Pad(" + at_ + ", " + add("Constant<value_ints = [0, 0, 1, 2, 0, 0, 0, 1]>()") + ")");
  }
  void resize() {
    at_ = add("Resize<mode = \"nearest\">(" + at_ + ", , " +
              (rng_.below(2) == 0 ? "double" : "half") + ")");
  }
  void resize_to_input() {
    const std::string four = add("Constant<value_ints = [4]>()");
    const std::string image = extents("x", "two", four);
    const std::string sizes =
        add("Concat<axis = 0>(" + extents(at_, "none", "two") + ", " + image + ")");
    at_ = add("Resize<mode = \"linear\">(" + at_ + ", , , " + sizes + ")");
  }
  void transpose_there_and_back() {
    const std::string turned = add("Transpose<perm = [0, 2, 3, 1]>(" + at_ + ")");
    const std::string active = rng_.below(2) == 0 ? add("Relu(" + turned + ")") : turned;
    at_ = add("Transpose<perm = [0, 3, 1, 2]>(" + active + ")");
  }
  void mix_positions() {
    const std::string flat = add("Constant<value_ints = [0, " + channels() + ", -1]>()");
    const std::string tokens =
        add("Transpose<perm = [0, 2, 1]>(" + add("Reshape(" + at_ + ", " + flat + ")") + ")");
    const std::string w = floats(channels() + ", " + channels(), channels_ * channels_);
    const std::string mixed =
        add("Softmax<axis = -1>(" + add("MatMul(" + tokens + ", " + w + ")") + ")");
    const std::string turned = add("Transpose<perm = [0, 2, 1]>(" + mixed + ")");
    at_ = add("Reshape(" + turned + ", " + add("Shape(" + at_ + ")") + ")");
  }
  void flatten_batch() {
    const std::string four = add("Constant<value_ints = [4]>()");
    const std::string rows =
        add("Mul(" + extents(at_, "none", "one") + ", " + extents(at_, "one", "two") + ")");
    const std::string to =
        add("Concat<axis = 0>(" + rows + ", one, " + extents(at_, "two", four) + ")");
    const std::string flat = add("Relu(" + add("Reshape(" + at_ + ", " + to + ")") + ")");
    at_ = add("Reshape(" + flat + ", " + add("Shape(" + at_ + ")") + ")");
  }
  /// A transposition that moves an axis of extent 1 alone, as in detectors.
  void sum_channels() {
    const std::string sum = add("ReduceSum<keepdims = 1>(" + at_ + ", one)");
    const std::string turned = add("Transpose<perm = [0, 2, 1, 3]>(" + sum + ")");
    at_ = add("Transpose<perm = [0, 2, 1, 3]>(" + add("Neg(" + turned + ")") + ")");
    channels_ = 1;
  }
  void turn_half() {
    const std::string rows = add("Div(" + extents(at_, "two", "three") + ", two)");
    const std::string top = add("Slice(" + at_ + ", none, " + rows + ", two)");
    const std::string end = add("Constant<value_ints = [9223372036854775807]>()");
    const std::string bottom = add("Slice(" + at_ + ", " + rows + ", " + end + ", two)");
    at_ = add("Concat<axis = 2>(" + bottom + ", " + top + ")");
  }
  void excite() {
    const std::string mean = add("ReduceMean<axes = [2, 3], keepdims = 1>(" + at_ + ")");
    at_ = add("Mul(" + at_ + ", " + add("Sigmoid(" + mean + ")") + ")");
  }
  void split() {
    if (channels_ % 2 != 0) return;
    const std::string a = fresh(), b = fresh();
    body_ += a + ", " + b + " = Split<axis = 1>(" + at_ + ")\n";
    at_ = add("Concat<axis = 1>(" + add("Relu(" + b + ")") + ", " + a + ")");
  }
  void expand() {
    const std::string one = floats("1", 1);
    at_ = add("Add(" + at_ + ", " + add("Expand(" + one + ", " + add("Shape(" + at_ + ")") + ")") +
              ")");
  }

  void extend() {
    using Step = void (SymbolicModel::*)();
    constexpr std::array<Step, 14> kSteps = {&SymbolicModel::convolve,
                                             &SymbolicModel::scale_channels,
                                             &SymbolicModel::pool,
                                             &SymbolicModel::pad,
                                             &SymbolicModel::resize,
                                             &SymbolicModel::resize_to_input,
                                             &SymbolicModel::mix_positions,
                                             &SymbolicModel::flatten_batch,
                                             &SymbolicModel::transpose_there_and_back,
                                             &SymbolicModel::sum_channels,
                                             &SymbolicModel::turn_half,
                                             &SymbolicModel::excite,
                                             &SymbolicModel::split,
                                             &SymbolicModel::expand};
    (this->*kSteps[rng_.below(kSteps.size())])();
  }

  Rng rng_;
  std::string body_;
  std::string at_ = "x";
  int64_t channels_ = 4;
  int next_ = 0;
};

constexpr std::array<const char*, 8> kExtents = {"x=1,4,16,16", "x=2,4,32,16", "x=1,4,17,23",
                                                 "x=3,4,48,40", "x=1,4,24,56", "x=5,4,19,64",
                                                 "x=2,4,21,21", "x=1,4,64,33"};

class SymbolsProperty : public ::testing::Test {
 protected:
  std::optional<Graph> import_at(const std::filesystem::path& path, const std::string& shape) {
    try {
      return import_onnx(path, {{shape}}).graph;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  /// At how many extents the original runs; both files have to agree there.
  int expect_agreement() {
    int runs = 0;
    for (const std::string shape : kExtents) {
      const auto before = import_at(original_, shape);
      if (!before) continue;
      ++runs;
      const auto after = import_at(written_, shape);
      EXPECT_TRUE(after) << shape;
      if (!after) continue;
      EXPECT_TRUE(GraphInterface(*before) == GraphInterface(*after)) << shape;
      const Agreement agreement =
          compare(*before, *after,
                  {.inputs = 1, .tolerance = 1e-5, .redraw_weights = false, .extremes = false});
      EXPECT_TRUE(agreement.agree) << shape << ": " << agreement.reason;
    }
    return runs;
  }

  TemporaryDirectory folder_;
  std::filesystem::path original_ = folder_ / "original.onnx";
  std::filesystem::path written_ = folder_ / "written.onnx";
};

TEST_F(SymbolsProperty, FilesOfRandomRewritesHoldForOtherExtents) {
  constexpr int kModels = 200, kRewrites = 12;
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  int rewrites = 0, runs = 0, fixed = 0;
  for (uint64_t seed = 1; seed <= kModels; ++seed) {
    const std::string text = SymbolicModel(seed).text();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    testing::write_message(testing::parse(text), original_);
    const ImportedModel model =
        import_onnx(original_, {.shapes = {kExtents[0]}, .carried = ImportOptions::Carried::kAll});
    ASSERT_TRUE(model.file);
    RewriteState state(model.graph, rules, make_cost_model("roofline:t4"));
    Rng rng(seed);
    std::string path;
    for (int i = 0; i < kRewrites; ++i) {
      const Match match = random_match(state, rng);
      if (match.slot < 0) break;
      path += " " + rules->name(match.rule);
      state.commit(state.propose(match));
      ++rewrites;
    }
    SCOPED_TRACE(path);
    state.graph().validate();
    const CompareOptions options = {.inputs = 1};
    const TriedGraph tried = try_symbols(original_, model, state.graph(), options);
    export_tried(original_, model, tried, written_, options);
    if (!tried.lost.empty())
      ++fixed;
    else
      runs += expect_agreement();
    ASSERT_FALSE(HasFailure());
  }
  RecordProperty("rewrites", rewrites);
  RecordProperty("runs", runs);
  RecordProperty("fixed", fixed);
  EXPECT_GT(runs, kModels * 7);
  EXPECT_LT(fixed, kModels / 20);
}

}  // namespace
}  // namespace reverie
