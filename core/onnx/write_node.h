#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/onnx/opset.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Where nodes go, and which operator set they speak.
struct Target {
  onnx::GraphProto* graph;
  Language language;
  /// A name that nothing else has, from a stem.
  std::function<std::string(const std::string&)> fresh_name;
  /// Extents may change: Reshape copies the leading ones that it keeps and infers the next, Resize
  /// says by how much they grow.
  bool relative_shapes = false;

  /// The name of a new small initializer.
  std::string add_constant(const Tensor& tensor, const std::string& stem);
  std::string add_integers(const std::vector<int64_t>& values, const std::string& stem);
};

/// What the standard calls the operator at that opset.
std::string name_at(const OpSchema& op, int opset);

/// Whether a node of a lowered graph, not opaque, can be written in that language: the operator
/// exists there, takes these element types and can say what the attributes mean.
bool can_write(const Graph& graph, NodeId node, const Language& language);

/// Writes it; attributes that are inputs in ONNX become initializers.
void write_node(const Graph& graph, NodeId node, const std::string& name,
                const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                Target& target);

}  // namespace reverie::proto
