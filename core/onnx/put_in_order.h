#pragma once

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Turns what ONNX Runtime reads, but ONNX's checker does not, into what both do, in subgraphs and
/// functions, too:
///  - nodes stand behind those that they read from (core/onnx/sort_nodes.h);
///  - every domain that a node names is imported, and once. Of several imports the last counts, as
///    in ONNX Runtime. A missing one is that of the newest version that the ONNX library knows, 1
///    where it does not know the domain;
///  - the standard domain is imported at an opset that the project supports where no node is of it;
///  - of several initializers of one name the last stays, entries of `value_info` without a type
///    go, and every graph has a name.
/// Whether anything had to be changed. InputError for nodes that form a cycle, for values that have
/// two sources, and for inputs and outputs without a name.
bool put_in_order(onnx::ModelProto* model);

}  // namespace reverie::proto
