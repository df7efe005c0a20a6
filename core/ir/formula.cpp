#include "core/ir/formula.h"

#include <algorithm>
#include <cstring>

namespace reverie {
namespace {

bool all_equal(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const auto size = static_cast<size_t>(size_of(tensor.type().dtype));
  return bytes.size() > size &&
         std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

/// Whether at most `count` elements have a bit that is set.
bool has_few_nonzero(const Tensor& tensor, int64_t count) {
  const auto bytes = tensor.bytes();
  const auto size = static_cast<size_t>(size_of(tensor.type().dtype));
  for (size_t at = 0; at < bytes.size() && count >= 0; at += size)
    if (std::ranges::any_of(bytes.subspan(at, size), [](std::byte b) { return b != std::byte{0}; }))
      --count;
  return count >= 0;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

/// nullptr where the shape has none.
WeightPtr identity_kernel_of(const TensorType& type) {
  const Shape& shape = type.shape;
  return shape.size() >= 2 && shape[0] == shape[1] ? Weight::identity_kernel(type) : nullptr;
}

}  // namespace

bool is_formula(const Weight& weight) {
  if (!weight.is_small() || weight.type().elements() <= Weight::kSmallWeight) return false;
  if (weight.is_fill()) return true;
  const WeightPtr identity = identity_kernel_of(weight.type());
  return identity != nullptr && identity->identity() == weight.identity();
}

WeightPtr known_weight(const Tensor& tensor) {
  const TensorType& type = tensor.type();
  if (type.elements() > Weight::kSmallWeight) {
    if (all_equal(tensor)) {
      const WeightPtr fill = Weight::constant(type, tensor.to_doubles()[0]);
      if (same_bytes(fill->materialize(), tensor)) return fill;
    }
    const WeightPtr identity = identity_kernel_of(type);
    if (identity != nullptr && has_few_nonzero(tensor, type.shape[0]) &&
        same_bytes(identity->materialize(), tensor))
      return identity;
  }
  const bool is_known = type.elements() <= Weight::kSmallWeight || !is_floating(type.dtype);
  return is_known ? Weight::dense(tensor) : nullptr;
}

}  // namespace reverie
