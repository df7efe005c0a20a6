#include <algorithm>

#include "core/base/error.h"
#include "core/exec/reference/kernels.h"
#include "core/rulekit/field/kernels.h"
#include "core/rulekit/field/prime_field.h"

namespace reverie::field {
namespace {

/// As the reference executor pads with noughts; the value is put where a tensor of ones was padded.
std::vector<FieldTensor> pad(const Call& call) {
  Attributes noughts = call.attributes;
  noughts.set("value", 0.0);
  const TensorType type{DType::kUInt64, call.outputs[0].shape};
  const auto padded = [&](const Tensor& tensor) {
    return reference::find_kernel(op_named("Pad"))->run({{&tensor, 1}, {&type, 1}, noughts}).at(0);
  };
  FieldTensor result{padded(call.inputs[0].elements), call.degree(0)};
  const uint64_t value = element_of(call.attributes.number("value"));
  if (value == 0) return {result};
  Tensor ones({DType::kUInt64, call.shape(0)});
  std::ranges::fill(ones.data<uint64_t>(), uint64_t{1});
  const Tensor inside = padded(ones);
  const auto to = result.elements.data<uint64_t>();
  for (size_t i = 0; i < to.size(); ++i)
    if (inside.data<uint64_t>()[i] == 0) to[i] = value;
  return {result};
}

}  // namespace

std::vector<Kernel> movement_kernels() { return {{"Pad", pad}}; }

}  // namespace reverie::field
