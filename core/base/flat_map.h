#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/hash.h"

namespace reverie {

/// From 64-bit keys (not ~0) to 32-bit values, without removal: a few million entries in little
/// room.
class FlatMap {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  explicit FlatMap(size_t expected = 0) { rehash(expected * 2); }

  uint32_t find(uint64_t key) const {
    for (size_t at = mix64(key) & mask_;; at = (at + 1) & mask_) {
      if (keys_[at] == key) return values_[at];
      if (keys_[at] == kEmpty) return kNone;
    }
  }
  /// The value that stands under the key, which is `value` unless there was one.
  uint32_t insert(uint64_t key, uint32_t value) {
    if ((size_ + 1) * 3 > keys_.size() * 2) rehash(keys_.size() * 2);
    size_t at = mix64(key) & mask_;
    for (; keys_[at] != kEmpty; at = (at + 1) & mask_)
      if (keys_[at] == key) return values_[at];
    keys_[at] = key;
    values_[at] = value;
    ++size_;
    return value;
  }
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  void rehash(size_t least) {
    size_t capacity = 16;
    while (capacity < least) capacity *= 2;
    std::vector<uint64_t> keys(capacity, kEmpty);
    std::vector<uint32_t> values(capacity, kNone);
    keys.swap(keys_);
    values.swap(values_);
    mask_ = capacity - 1;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == kEmpty) continue;
      size_t at = mix64(keys[i]) & mask_;
      while (keys_[at] != kEmpty) at = (at + 1) & mask_;
      keys_[at] = keys[i];
      values_[at] = values[i];
    }
  }

  std::vector<uint64_t> keys_;
  std::vector<uint32_t> values_;
  size_t size_ = 0, mask_ = 0;
};

}  // namespace reverie
