#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"

namespace reverie::testing {

/// One case of the ONNX project: a model with inputs and expected outputs.
struct Case {
  std::filesystem::path folder;
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs;
  std::vector<onnx::TensorProto> outputs;

  explicit Case(const std::filesystem::path& path) : folder(path) {
    model = read_message<onnx::ModelProto>(path / "model.onnx");
    inputs = tensors("input");
    outputs = tensors("output");
    declare(model.graph().input(), &inputs);
    declare(model.graph().output(), &outputs);
  }

  /// The files hold bfloat16 as uint16.
  template <typename Values>
  static void declare(const Values& values, std::vector<onnx::TensorProto>* tensors) {
    for (size_t i = 0; i < tensors->size() && static_cast<int>(i) < values.size(); ++i)
      if (values.Get(static_cast<int>(i)).type().tensor_type().elem_type() ==
          onnx::TensorProto::BFLOAT16)
        (*tensors)[i].set_data_type(onnx::TensorProto::BFLOAT16);
  }

  std::vector<onnx::TensorProto> tensors(const std::string& stem) const {
    std::vector<onnx::TensorProto> result;
    for (int i = 0;; ++i) {
      const std::filesystem::path file =
          folder / "test_data_set_0" / (stem + "_" + std::to_string(i) + ".pb");
      if (!std::filesystem::exists(file)) return result;
      result.push_back(read_message<onnx::TensorProto>(file));
    }
  }
};

/// Index of the first input that the table has as an attribute; -1 where all are values.
inline int first_shaping_input(const std::string& op) {
  static const std::set<std::string> from_first = {
      "ConstantOfShape", "Range",          "NonZero",        "HannWindow",
      "HammingWindow",   "BlackmanWindow", "MelWeightMatrix"};
  static const std::set<std::string> from_second = {
      "Reshape",  "Expand", "Slice",     "Pad",       "Clip",    "Split",
      "Squeeze",  "Tile",   "Unsqueeze", "ReduceSum", "Dropout", "Resize",
      "Upsample", "TopK",   "CumSum",    "Trilu",     "OneHot",  "Compress"};
  if (from_first.contains(op)) return 0;
  return from_second.contains(op) ? 1 : -1;
}

/// Makes inputs that shape the result constants, as they are in deployed models.
inline void bake_shaping_inputs(Case* test) {
  std::set<std::string> baked;
  for (const auto& node : test->model.graph().node()) {
    const int first = first_shaping_input(node.op_type());
    for (int i = first; first >= 0 && i < node.input_size(); ++i) baked.insert(node.input(i));
  }
  const auto& nodes = test->model.graph().node();
  const bool counts =
      std::ranges::any_of(nodes, [](const auto& node) { return node.op_type() == "Range"; });
  std::vector<onnx::TensorProto> kept;
  for (int i = 0; i < test->model.graph().input_size(); ++i) {
    const std::string& name = test->model.graph().input(i).name();
    onnx::TensorProto tensor = test->inputs.at(static_cast<size_t>(i));
    tensor.set_name(name);
    if (counts && tensor.dims_size() == 0) baked.insert(name);
    if (baked.contains(name))
      *test->model.mutable_graph()->add_initializer() = tensor;
    else
      kept.push_back(tensor);
  }
  test->inputs = kept;
  constexpr int kNoInputsSince =
      4;  // IR version; before, every initializer has to be an input, too
  if (test->model.ir_version() < kNoInputsSince) return;
  auto* inputs = test->model.mutable_graph()->mutable_input();
  inputs->erase(std::remove_if(inputs->begin(), inputs->end(),
                               [&](const auto& input) { return baked.contains(input.name()); }),
                inputs->end());
}

/// Of LayerNormalization the one output that the table knows.
inline void adapt(Case* test) {
  auto* graph = test->model.mutable_graph();
  if (graph->node(0).op_type() != "LayerNormalization") return;
  graph->mutable_node(0)->mutable_output()->DeleteSubrange(1, graph->node(0).output_size() - 1);
  graph->mutable_output()->DeleteSubrange(1, graph->output_size() - 1);
  test->outputs.resize(1);
}

inline bool has_only_tensors(const Case& test) {
  const auto tensor = [](const auto& value) { return value.type().has_tensor_type(); };
  const auto& graph = test.model.graph();
  return std::all_of(graph.input().begin(), graph.input().end(), tensor) &&
         std::all_of(graph.output().begin(), graph.output().end(), tensor);
}

/// Of the cases in data/`collection`; none where libonnx-testdata is not installed.
inline std::vector<std::filesystem::path> case_folders(const std::string& collection) {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path root =
      std::filesystem::path(REVERIE_ONNX_TESTDATA) / "data" / collection;
  if (!std::filesystem::exists(root)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace reverie::testing
