#pragma once

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Puts every node behind those that it reads from, in the order of the file where that allows it,
/// and so inside of its subgraphs. Whether any was not. InputError that names the nodes where some
/// form a cycle, or where two give one value.
bool sort_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes);

}  // namespace reverie::proto
