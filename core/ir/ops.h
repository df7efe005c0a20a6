#pragma once

#include <vector>

#include "core/ir/schema.h"

/// The families of the operator table, in core/ir/ops/. `schema.cpp` joins
/// them in this order, which decides the ids.
namespace reverie::ops {

std::vector<OpSchema> special();             // Input, Constant, Opaque
std::vector<OpSchema> unary_elementwise();   // Relu, Sigmoid, Clip, Cast, Identity, ...
std::vector<OpSchema> binary_elementwise();  // Add, Mul, Pow, comparisons, Where, ...
std::vector<OpSchema> linear();              // MatMul, Gemm
std::vector<OpSchema> spatial();             // Conv and pooling
std::vector<OpSchema> reduction();           // Reduce*, Softmax, normalizations
std::vector<OpSchema> movement();            // Transpose, Concat, Split, Slice, Gather, Pad, ...
std::vector<OpSchema> shapes();              // Reshape, Squeeze, Shape, ConstantOfShape, ...
std::vector<OpSchema> image();               // ConvTranspose, LpPool, GlobalLpPool
std::vector<OpSchema> resize();              // Resize, GridSample
std::vector<OpSchema> normalization();       // InstanceNormalization, LRN, LpNormalization
std::vector<OpSchema> quantization();        // QuantizeLinear, DequantizeLinear, MatMulInteger, ...
std::vector<OpSchema> recurrent();           // LSTM, GRU, RNN
std::vector<OpSchema> further_elementwise();  // Mod, Xor, Sin, PRelu, IsNaN, ...
std::vector<OpSchema> further_reductions();   // ReduceProd, LogSoftmax, ArgMax, TopK, CumSum, ...
std::vector<OpSchema> indexing();             // ScatterND, GatherND, NonZero, OneHot, ...
std::vector<OpSchema> rearranging();          // Trilu, DepthToSpace, ReverseSequence, ...
std::vector<OpSchema> further_linear();       // Einsum

}  // namespace reverie::ops
