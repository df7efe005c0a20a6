#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace reverie {

/// What an ONNX file holds besides its graph; carried from import to export.
struct ModelInfo {
  int64_t ir_version = 8;
  /// Version by domain; the standard domain is "".
  std::map<std::string, int64_t> opset_imports = {{"", 17}};
  std::string producer_name = "reverie";
  std::string producer_version;
  std::string domain;
  int64_t model_version = 0;
  std::string doc_string;
  std::string graph_name = "graph";
  std::string graph_doc_string;
  std::vector<std::pair<std::string, std::string>> metadata;
  /// It holds operators that only ONNX Runtime knows, so that what is written may, too.
  bool for_onnx_runtime = false;
  /// Model-local functions, each a serialised FunctionProto.
  std::vector<std::string> functions;
  /// Nothing in it had to be put in order (core/onnx/put_in_order.h).
  bool is_in_order = true;
  /// Files that hold weights, relative to the model's folder.
  std::vector<std::string> external_files;
  /// Serialised ValueInfoProto by name of those graph inputs and outputs that have a documentation
  /// string, denotations or a type that TensorType cannot express, and of outputs of opaque nodes
  /// whose type only the file tells.
  std::map<std::string, std::string> value_infos;
  /// Extents that depend on data, and the number that stands for each in the graph. The name is
  /// that of the dimension where the file declares one, else its place: "found[1]".
  std::map<std::string, int64_t> data_extents;
};

/// What a file needs that holds `graph` alone: the opsets that its opaque nodes were written for
/// (attribute `opsets`), and defaults. It may be for ONNX Runtime.
ModelInfo info_for(const Graph& graph);

}  // namespace reverie
