#include "core/ir/tensor.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>

#include "core/ir/recycled_memory.h"

namespace reverie {
namespace {

constexpr size_t kAlignment = 64;

/// Aligned here, and how far it was moved for that stands in the byte before it. Aligned blocks of
/// glibc (2.36) leave gaps that no later block of their size fits into: folding weights of 1 MiB
/// one after the other kept three times the memory that was in use.
std::byte* take(size_t size) {
  auto* block = static_cast<std::byte*>(::operator new(size + kAlignment));
  const size_t moved = kAlignment - reinterpret_cast<uintptr_t>(block) % kAlignment;
  block[moved - 1] = static_cast<std::byte>(moved);
  return block + moved;
}
void give(std::byte* memory) { ::operator delete(memory - std::to_integer<size_t>(memory[-1])); }

}  // namespace

/// Blocks of memory by size, for one thread.
class MemoryBlocks {
 public:
  static constexpr size_t kSmallest = 1 << 16, kMost = size_t{256} << 20;  // bytes

  ~MemoryBlocks() {
    for (const auto& [size, memory] : kept_) give(memory);
  }

  /// Of at least `size` bytes and at most twice as many, which `size` becomes; null where there is
  /// none.
  std::byte* find(size_t& size) {
    const auto found = kept_.lower_bound(size);
    if (found == kept_.end() || found->first > 2 * size) return nullptr;
    std::byte* memory = found->second;
    size = found->first;
    bytes_ -= size;
    kept_.erase(found);
    return memory;
  }

  /// Smaller ones make room.
  void keep(std::byte* memory, size_t size) {
    for (; !kept_.empty() && bytes_ + size > kMost; kept_.erase(kept_.begin())) {
      bytes_ -= kept_.begin()->first;
      give(kept_.begin()->second);
    }
    if (bytes_ + size > kMost) return give(memory);
    bytes_ += size;
    kept_.emplace(size, memory);
  }

 private:
  std::multimap<size_t, std::byte*> kept_;
  size_t bytes_ = 0;
};

namespace {

thread_local MemoryBlocks* recycled = nullptr;

std::shared_ptr<std::byte[]> memory_of(size_t size) {
  if (size < MemoryBlocks::kSmallest || recycled == nullptr) return {take(size), give};
  std::byte* memory = recycled->find(size);
  if (memory == nullptr) memory = take(size);
  return {memory, [size](std::byte* freed) {
            recycled == nullptr ? give(freed) : recycled->keep(freed, size);
          }};
}

/// Calls `visit` with a value of the C++ type that `dtype` stands for.
template <typename Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    case DType::kFloat16:
      return visit(Float16{});
    case DType::kBFloat16:
      return visit(BFloat16{});
    case DType::kInt8:
      return visit(int8_t{});
    case DType::kInt16:
      return visit(int16_t{});
    case DType::kInt32:
      return visit(int32_t{});
    case DType::kInt64:
      return visit(int64_t{});
    case DType::kUInt8:
      return visit(uint8_t{});
    case DType::kUInt16:
      return visit(uint16_t{});
    case DType::kUInt32:
      return visit(uint32_t{});
    case DType::kUInt64:
      return visit(uint64_t{});
    case DType::kBool:
      return visit(bool{});
    default:
      throw InputError("elements of type {} cannot be converted", name_of(dtype));
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

Tensor::Tensor(TensorType type)
    : type_(std::move(type)), data_(memory_of(static_cast<size_t>(type_.bytes()))) {}

RecycledMemory::RecycledMemory() {
  if (recycled == nullptr) recycled = (blocks_ = std::make_unique<MemoryBlocks>()).get();
}

RecycledMemory::~RecycledMemory() {
  if (blocks_ != nullptr) recycled = nullptr;
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
