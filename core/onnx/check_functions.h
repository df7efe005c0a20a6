#pragma once

#include <cstdint>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// So many nodes may a model have when all its functions are written out, ...
constexpr int64_t kMostNodes = 1 << 18;
/// ... and so deep may these call one another.
constexpr int kDeepestCalls = 64;

/// InputError when a model's functions call themselves, or exceed these bounds.
void check_functions(const onnx::ModelProto& model);

}  // namespace reverie::proto
