#pragma once

#include "core/onnx/external.h"
#include "core/onnx/proto.h"

namespace reverie::proto {

/// Brings data of the graph's sparse tensors that lie in files into them (ONNX's checker takes them
/// to be there), subgraphs included. InputError where indices are not what the tensor needs.
void embed_and_check_sparse_tensors(onnx::GraphProto* graph, ExternalFiles& files);

}  // namespace reverie::proto
