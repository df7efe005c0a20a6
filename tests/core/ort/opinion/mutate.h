#pragma once

#include <onnx/onnx_pb.h>

#include "core/base/random.h"

namespace reverie::testing {

/// Changes a model at random in one place as a model can be changed: an attribute, an operator, the
/// elements of a tensor, what a node reads; a node is left out, comes in, or comes twice. Runtimes
/// refuse some of what comes out.
void mutate(onnx::GraphProto* graph, Rng& rng);

/// Declared types of what nodes compute go, which no longer hold.
void forget_types(onnx::GraphProto* graph);

}  // namespace reverie::testing
