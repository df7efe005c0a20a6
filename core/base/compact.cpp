#include "core/base/compact.h"

namespace reverie {

void CompactInts::widen(int width) {
  CompactInts wider;
  wider.width_ = width;
  wider.bytes_.reserve((size() + 1) * static_cast<size_t>(width));
  for (size_t i = 0; i < size(); ++i) {
    const uint32_t value = (*this)[i];
    const size_t end = wider.bytes_.size();
    wider.bytes_.resize(end + static_cast<size_t>(width));
    std::memcpy(wider.bytes_.data() + end, &value, static_cast<size_t>(width));
  }
  *this = std::move(wider);
}

}  // namespace reverie
