#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/base/error.h"
#include "core/ir/half.h"
#include "core/ir/types.h"

namespace reverie {

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::kFloat16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBFloat16;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kInt16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kUInt16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kUInt32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kUInt64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};

/// A dense row-major tensor in host memory. Copies share the data; `clone` does not.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised, aligned to 64 bytes.
  explicit Tensor(TensorType type);

  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor tensor({DTypeOf<T>::value, std::move(shape)});
    REVERIE_CHECK_EQ(static_cast<int64_t>(values.size()), tensor.type().elements());
    std::copy(values.begin(), values.end(), tensor.data<T>().begin());
    return tensor;
  }
  template <typename T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  int64_t elements() const { return type_.elements(); }

  template <typename T>
  std::span<T> data() {
    REVERIE_CHECK(type_.dtype == DTypeOf<T>::value, "tensor is {}", name_of(type_.dtype));
    return {reinterpret_cast<T*>(data_.get()), static_cast<size_t>(elements())};
  }
  template <typename T>
  std::span<const T> data() const {
    return const_cast<Tensor*>(this)->data<T>();
  }
  std::span<std::byte> bytes() { return {data_.get(), static_cast<size_t>(type_.bytes())}; }
  std::span<const std::byte> bytes() const {
    return {data_.get(), static_cast<size_t>(type_.bytes())};
  }

  Tensor clone() const;
  /// The same data under another shape with as many elements.
  Tensor reshaped(Shape shape) const;
  /// Element-wise conversion between numeric types (floating to integer truncates).
  Tensor cast(DType dtype) const;
  /// All elements as double or int64; for small tensors.
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_integers() const;

 private:
  TensorType type_;
  std::shared_ptr<std::byte[]> data_;
};

}  // namespace reverie
