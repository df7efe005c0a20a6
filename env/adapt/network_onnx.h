#pragma once

#include <string>

#include "env/adapt/network.h"

namespace reverie {

/// The architecture of an ONNX model; its weights are not taken over. Operators: Conv,
/// BatchNormalization, Relu, MaxPool, AveragePool, GlobalAveragePool, Flatten (or a Reshape that
/// flattens), Gemm, MatMul with an Add of a bias, and Add where it ends a residual block: one side
/// is a convolution before its ReLU that nothing else reads. Blocks have the names of their nodes.
/// InputError names the node and the operator that does not fit: groups, dilations, windows that
/// are not square, padding that is not equal on all sides, or any at pools.
Network network_from_onnx(const std::string& path);

}  // namespace reverie
