#include "core/ir/types.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {
namespace {

struct DTypeRow {
  std::string_view name;
  int64_t size;
};

constexpr std::array<DTypeRow, 15> kDTypes = {{{"none", 0},
                                               {"float32", 4},
                                               {"float64", 8},
                                               {"float16", 2},
                                               {"bfloat16", 2},
                                               {"int8", 1},
                                               {"int16", 2},
                                               {"int32", 4},
                                               {"int64", 8},
                                               {"uint8", 1},
                                               {"uint16", 2},
                                               {"uint32", 4},
                                               {"uint64", 8},
                                               {"bool", 1},
                                               {"string", 0}}};

}  // namespace

int64_t size_of(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].size; }

std::string_view name_of(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

DType dtype_named(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  throw InputError("unknown element type '{}'", name);
}

int64_t element_count(const Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 56;  // as bytes it still fits into 64 bits
  int64_t count = 1;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(count, extent, &count) || count > kMost)
      throw InputError("a tensor of {} is too large", to_string(shape));
  return count;
}

bool is_sane(const Shape& shape) {
  constexpr int64_t kMaxElements = int64_t{1} << 40;
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && elements > kMaxElements / extent)) return false;
    elements *= std::max<int64_t>(extent, 1);
  }
  return true;
}

void require_sane(const Shape& shape) {
  for (const int64_t extent : shape)
    if (extent < 0) throw InputError("an extent of {} is negative", extent);
  if (!is_sane(shape)) throw InputError("a tensor of {} is too large", to_string(shape));
}

std::string to_string(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string to_string(const TensorType& type) {
  return type.known() ? fmt::format("{} {}", name_of(type.dtype), to_string(type.shape))
                      : "unknown";
}

bool TensorType::operator==(const TensorType& other) const {
  if (dtype != other.dtype || shape != other.shape || varies() != other.varies()) return false;
  return other_samples == other.other_samples || *other_samples == *other.other_samples;
}

TensorType type_of_samples(std::span<const TensorType> samples) {
  std::vector<Shape> others;
  bool varies = false;
  for (const TensorType& type : samples.subspan(1)) {
    if (type.dtype != samples[0].dtype || type.rank() != samples[0].rank())
      throw InputError("is {} or {}, as symbolic dimensions have it", to_string(samples[0]),
                       to_string(type));
    varies |= type.shape != samples[0].shape;
    others.push_back(type.shape);
  }
  TensorType result = samples[0];
  if (varies) result.other_samples = std::make_shared<const std::vector<Shape>>(std::move(others));
  return result;
}

uint64_t hash_of(const TensorType& type) {
  const auto add = [](const Shape& shape, uint64_t seed) {
    return hash_bytes(shape.data(), shape.size() * sizeof(int64_t), seed);
  };
  uint64_t hash = add(type.shape, static_cast<uint64_t>(type.dtype) + 1);
  for (size_t sample = 1; sample < type.samples(); ++sample)
    hash = add(type.shape_at(sample), hash);
  return hash;
}

int normalize_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw InputError("axis {} is out of range for a tensor of rank {}", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Shape broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1)
      throw InputError("shapes {} and {} do not broadcast", to_string(a), to_string(b));
    result[i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace reverie
