#pragma once

#include <vector>

#include "core/onnx/sampled_file.h"

namespace reverie::proto {

/// ONNX's `op` (Add, Sub, Mul or Div) of two numbers; one that is the same at every sample is a
/// constant.
struct SampledTerm {
  const char* op;
  Sampled a, b;
};

bool is_fixed(const Sampled& number);

/// All terms of two numbers at hand, or of one and a constant, that are `number` at every sample.
std::vector<SampledTerm> terms_of(const Sampled& number, const std::vector<Sampled>& at_hand);

}  // namespace reverie::proto
