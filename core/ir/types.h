#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reverie {

/// Element types. kNone is the type of a value that an opaque operator produces and that is no
/// tensor of known type (a sequence, an optional, a tensor of unknown shape).
enum class DType : uint8_t {
  kNone,
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kBool,
  kString,
};

/// Bytes of one element; 0 for kNone and kString.
int64_t size_of(DType dtype);
std::string_view name_of(DType dtype);
/// The inverse of name_of; InputError for an unknown name.
DType dtype_named(std::string_view name);
inline bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}

/// Extents, outermost first; empty for a scalar. Every extent is >= 0: symbolic dimensions are
/// bound at import.
using Shape = std::vector<int64_t>;

/// Product of the extents; 1 for a scalar. InputError beyond 2^56.
int64_t element_count(const Shape& shape);
/// Whether no extent is negative and those other than 0 multiply to 2^40 at most: no tensor of a
/// graph is larger.
bool is_sane(const Shape& shape);
/// InputError when it is not.
void require_sane(const Shape& shape);
/// "2x3x4", or "scalar".
std::string to_string(const Shape& shape);

/// A model with symbolic dimensions is imported at several extents of these, its *samples*, which a
/// graph carries side by side. `shape` is that at sample 0, which costs, executors and files see.
/// Rules and inference look at all samples, so that no rewrite takes an extent for a number that it
/// is by chance alone.
struct TensorType {
  DType dtype = DType::kNone;
  Shape shape;
  /// At samples 1, 2, ...; null where the shape is the same at every sample.
  std::shared_ptr<const std::vector<Shape>> other_samples = nullptr;

  /// False for what an opaque operator produces where nothing is known of it.
  bool known() const { return dtype != DType::kNone; }
  /// Whether its elements can be computed with: strings cannot.
  bool has_numbers() const { return size_of(dtype) > 0; }
  int64_t elements() const { return element_count(shape); }
  int64_t bytes() const { return elements() * size_of(dtype); }
  int rank() const { return static_cast<int>(shape.size()); }
  bool varies() const { return other_samples != nullptr; }
  /// How many samples are told apart; 1 where the shape does not vary.
  size_t samples() const { return varies() ? other_samples->size() + 1 : 1; }
  const Shape& shape_at(size_t sample) const {
    return sample == 0 || !varies() ? shape : other_samples->at(sample - 1);
  }
  /// At one sample alone.
  TensorType at(size_t sample) const { return {dtype, shape_at(sample)}; }
  bool operator==(const TensorType& other) const;
};

/// The type that has these at its samples. InputError where they differ in more than extents.
TensorType type_of_samples(std::span<const TensorType> samples);

/// "float32 2x3x4".
std::string to_string(const TensorType& type);
uint64_t hash_of(const TensorType& type);

/// The extent that `axis` (negative: from the end) names, in [0, rank). InputError otherwise.
int normalize_axis(int64_t axis, int rank);

/// The shape to which NumPy's rules broadcast both; InputError that names both where none exists.
Shape broadcast(const Shape& a, const Shape& b);

}  // namespace reverie
