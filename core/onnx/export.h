#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <string>

#include "core/ir/graph.h"
#include "core/onnx/model_info.h"

namespace reverie {

struct ExportOptions {
  /// Weights of more bytes than this in total go to `<file>.data` beside the model, or to
  /// `<file>.2.data`, ... where such a file may hold another model's weights: protobuf allows no
  /// message of 2 GiB.
  int64_t max_inline_bytes = int64_t{3} << 29;
  /// Symbolic dimensions that inputs and outputs keep instead of the extents that were bound. Then
  /// Reshape copies and infers what extents it can. Whether the graph holds for other extents is
  /// not looked at here: see core/onnx/symbols.h.
  std::set<std::string> symbols = {};
  /// Otherwise what is computed from constants stays operators.
  bool fold_constants = true;
  /// Constants that the import computed stay operators as far as the weights would have more bytes
  /// with them.
  int64_t max_weight_bytes = std::numeric_limits<int64_t>::max();
  /// Of a graph that no rewrite has changed, the file it was imported from. Where nothing was
  /// folded or left out either, that is copied byte by byte, with the files of its weights.
  std::filesystem::path original = {};
};

/// Writes lower(graph) as an ONNX model of standard operators (opaque nodes as they came), or of
/// ONNX Runtime's where the original holds some and the standard lacks them. The opset is the
/// original's, at least 7, raised where nodes need a newer one. Where that would change what opaque
/// nodes or functions mean, newer operators are spelled out in older ones instead
/// (LayerNormalization, HardSwish, Softmax along an inner axis, Gemm without a term). The ONNX
/// checker and full shape inference accept the file before it gets its name, except that they may
/// object to opaque nodes by themselves. Importing it gives a
/// graph isomorphic to lower(graph), as long as nothing had to be spelled out and large fills and
/// lazy weights keep their identity (the former: names are unique; the latter: the identity is that
/// of the content).
///
/// A large fill that is known by its name becomes a ConstantOfShape. One that is known by its
/// formula (core/ir/formula.h) becomes an Expand of one element where it is very large; smaller
/// ones and identities are stored with their elements and say so in the initializer's doc_string,
/// as do large tensors that are known (Weight::known). So each is read as what it was.
///
/// Nodes have the names and the metadata_props that the graph has for them (Graph::names).
///
/// InputError when the folder cannot be written to, or when other nodes need a newer opset than the
/// one that opaque nodes were written for.
void export_onnx(const Graph& graph, const ModelInfo& info, const std::filesystem::path& path,
                 const ExportOptions& options = {});

}  // namespace reverie
