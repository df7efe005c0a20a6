#pragma once

#include <cstddef>
#include <cstdint>

namespace reverie {

/// Which inputs of an operator are constant, as bits; of inputs after the 32nd that is not told.
constexpr uint32_t constant_input(size_t index) { return index < 32 ? uint32_t{1} << index : 0; }
constexpr bool is_constant_input(uint32_t inputs, size_t index) {
  return (inputs & constant_input(index)) != 0;
}

}  // namespace reverie
