#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Names that the subgraphs of `node` (attributes of If, Loop, Scan) take from outside the node, in
/// order of first use.
std::vector<std::string> captured_names(const onnx::NodeProto& node);

/// Every name that a node, a subgraph or the outputs of the model's graph take.
std::set<std::string> names_taken(const onnx::GraphProto& graph);

/// Every name that is defined inside the subgraphs of `node`, at any depth.
std::set<std::string> local_names(const onnx::NodeProto& node);

/// Replaces captured names in the subgraphs of `node`.
void rename_captured(onnx::NodeProto* node, const std::map<std::string, std::string>& names);

/// Replaces names that are defined inside the subgraphs of `node`; captured ones have to be others.
void rename_local(onnx::NodeProto* node, const std::map<std::string, std::string>& names);

/// The names that captured values have in the canonical form of a node: "outer_0", "outer_1", ...,
/// with more underscores in front where a local name begins so.
std::vector<std::string> canonical_captures(const onnx::NodeProto& node, size_t count);

}  // namespace reverie::proto
