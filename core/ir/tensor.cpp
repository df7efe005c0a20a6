#include "core/ir/tensor.h"

#include <cstring>
#include <new>

namespace reverie {
namespace {

constexpr size_t kAlignment = 64;

/// Calls `visit` with a value of the C++ type that `dtype` stands for.
template <typename Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kFloat32: return visit(float{});
    case DType::kFloat64: return visit(double{});
    case DType::kFloat16: return visit(Float16{});
    case DType::kBFloat16: return visit(BFloat16{});
    case DType::kInt8: return visit(int8_t{});
    case DType::kInt16: return visit(int16_t{});
    case DType::kInt32: return visit(int32_t{});
    case DType::kInt64: return visit(int64_t{});
    case DType::kUInt8: return visit(uint8_t{});
    case DType::kUInt16: return visit(uint16_t{});
    case DType::kUInt32: return visit(uint32_t{});
    case DType::kUInt64: return visit(uint64_t{});
    case DType::kBool: return visit(bool{});
    default: throw InputError("elements of type {} cannot be converted", name_of(dtype));
  }
}

template <typename Result>
std::vector<Result> converted(const Tensor& tensor) {
  return visit_dtype(tensor.type().dtype, [&](auto zero) {
    const auto data = tensor.data<decltype(zero)>();
    std::vector<Result> result(data.size());
    for (size_t i = 0; i < data.size(); ++i) result[i] = static_cast<Result>(data[i]);
    return result;
  });
}

}  // namespace

Tensor::Tensor(TensorType type) : type_(std::move(type)) {
  const size_t size = static_cast<size_t>(type_.bytes());
  auto* memory = static_cast<std::byte*>(
      ::operator new(size == 0 ? 1 : size, std::align_val_t{kAlignment}));
  data_ = std::shared_ptr<std::byte[]>(
      memory, [](std::byte* p) { ::operator delete(p, std::align_val_t{kAlignment}); });
}

Tensor Tensor::clone() const {
  Tensor copy(type_);
  std::memcpy(copy.data_.get(), data_.get(), static_cast<size_t>(type_.bytes()));
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  REVERIE_CHECK_EQ(element_count(shape), elements());
  Tensor result = *this;
  result.type_.shape = std::move(shape);
  return result;
}

Tensor Tensor::cast(DType dtype) const {
  if (dtype == type_.dtype) return *this;
  Tensor result({dtype, type_.shape});
  visit_dtype(type_.dtype, [&](auto from) {
    visit_dtype(dtype, [&](auto to) {
      const auto source = data<decltype(from)>();
      const auto target = result.data<decltype(to)>();
      for (size_t i = 0; i < source.size(); ++i) target[i] = static_cast<decltype(to)>(source[i]);
    });
  });
  return result;
}

std::vector<double> Tensor::to_doubles() const { return converted<double>(*this); }

std::vector<int64_t> Tensor::to_integers() const { return converted<int64_t>(*this); }

}  // namespace reverie
