#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace reverie {

/// Finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection that mixes all bits.
constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Order-dependent combination of two hashes.
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return mix64(seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2)));
}

/// hash_bytes of `size` bytes that come in pieces, each but the last of a multiple of 8 bytes.
class PieceHash {
 public:
  explicit PieceHash(size_t size, uint64_t seed = 0) : hash_(mix64(seed ^ size)) {}

  void add(const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (; size >= 8; bytes += 8, size -= 8) {
      uint64_t word;
      std::memcpy(&word, bytes, 8);
      hash_ = mix64(hash_ ^ word);
    }
    if (size > 0) std::memcpy(&tail_, bytes, size);  // `data` may be null where there is nothing
  }
  uint64_t finish() const { return mix64(hash_ ^ tail_); }

 private:
  uint64_t hash_;
  uint64_t tail_ = 0;
};

/// The same for every process and machine of one byte order, unlike std::hash.
inline uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0) {
  PieceHash hash(size, seed);
  hash.add(data, size);
  return hash.finish();
}

inline uint64_t hash_string(std::string_view text) { return hash_bytes(text.data(), text.size()); }

}  // namespace reverie
