#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace reverie {

/// Maps small numbers of either sign to small unsigned ones: 0, -1, 1, -2, ... to 0, 1, 2, 3, ...
constexpr uint32_t zigzag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}
constexpr int32_t unzigzag(uint32_t value) {
  return static_cast<int32_t>(value >> 1) ^ -static_cast<int32_t>(value & 1);
}

/// A growing list of unsigned integers in 1, 2 or 4 bytes each: as few as its largest needs.
class CompactInts {
 public:
  CompactInts() = default;
  /// Little-endian elements of `width` bytes (1, 2 or 4) as they lie in memory.
  CompactInts(int width, std::vector<uint8_t> bytes) : width_(width), bytes_(std::move(bytes)) {}

  size_t size() const { return bytes_.size() / static_cast<size_t>(width_); }
  int width() const { return width_; }
  const uint8_t* data() const { return bytes_.data(); }
  size_t memory() const { return bytes_.capacity(); }

  uint32_t operator[](size_t index) const {
    uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + index * static_cast<size_t>(width_),
                static_cast<size_t>(width_));
    return value;
  }

  void push_back(uint32_t value) {
    const int needed = value > 0xffff ? 4 : value > 0xff ? 2 : 1;
    if (needed > width_) widen(needed);
    const size_t end = bytes_.size();
    bytes_.resize(end + static_cast<size_t>(width_));
    std::memcpy(bytes_.data() + end, &value, static_cast<size_t>(width_));
  }

 private:
  void widen(int width);

  static_assert(std::endian::native == std::endian::little, "elements lie little-endian");
  int width_ = 1;
  std::vector<uint8_t> bytes_;
};

}  // namespace reverie
