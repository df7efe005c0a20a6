#include "core/onnx/other_extents.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace reverie::proto {
namespace {

/// Another extent for a symbol; `number` tells symbols apart.
using OtherExtent = int64_t (*)(int64_t bound, int64_t number);

/// What images grow and shrink by, so that networks with many strides take them.
int64_t step(int64_t bound) { return bound >= 64 ? 32 : 1; }

// Halves and quarters of these are even and odd, for the first symbols as for later ones: an extent
// that is halved twice cannot be taken for one that is halved once.
constexpr OtherExtent kOthers[] = {
    [](int64_t bound, int64_t number) { return bound * (2 + number); },
    [](int64_t bound, int64_t number) {
      return bound < 4 ? bound + 5 + 3 * number : bound / 2 + step(bound) * number;
    },
    [](int64_t bound, int64_t number) { return bound + step(bound) * (3 + 2 * number); },
    [](int64_t bound, int64_t number) { return bound + 11 + 4 * number; },
    [](int64_t bound, int64_t number) {
      return bound > 4 + 2 * number ? bound - 1 - 2 * number : bound + 13 + number;
    },
    [](int64_t bound, int64_t number) { return bound + 6 + 12 * number; },
    [](int64_t bound, int64_t number) { return bound + bound / 2 + 7 + 6 * number; },
    [](int64_t bound, int64_t number) { return bound + 5 + 2 * number; },
};

constexpr OtherExtent kHeldOut[] = {
    [](int64_t bound, int64_t number) {
      return bound < 4 ? bound + 2 + number : bound / 2 + 2 * step(bound) * (1 + number);
    },
    [](int64_t bound, int64_t number) { return bound + step(bound) * (1 + 3 * number); },
    [](int64_t bound, int64_t number) { return bound + 9 + 6 * number; },
    [](int64_t bound, int64_t number) {
      return bound > 8 + number ? bound - 2 - number : bound + 15 + 2 * number;
    },
    [](int64_t bound, int64_t number) { return bound + 18 + 7 * number; },
    [](int64_t bound, int64_t number) { return 3 * bound + 4 + 5 * number; },
    [](int64_t bound, int64_t number) { return bound * (3 + number); },
};

std::vector<Extents> moved_by(std::span<const OtherExtent> others, const Extents& bound,
                              const std::set<std::string>& moved, bool tied) {
  std::vector<Extents> result;
  for (const OtherExtent other : others) {
    Extents& extents = result.emplace_back(bound);
    int64_t number = 0;
    for (const std::string& symbol : moved)
      extents.at(symbol) = other(bound.at(symbol), tied ? 0 : number++);
  }
  return result;
}

/// All of `extents` but that of `open`, as dimensions are given.
std::vector<std::string> dims_without(const Extents& extents, const std::string& open) {
  std::vector<std::string> dims;
  for (const auto& [symbol, extent] : extents)
    if (symbol != open) dims.push_back(fmt::format("{}={}", symbol, extent));
  return dims;
}

}  // namespace

std::vector<Extents> fitted_extents(const Extents& bound, const std::set<std::string>& moved,
                                    const std::vector<Extents>& others, const BindDims& bind) {
  constexpr size_t kEnough = 2, kMostTried = 16;
  const auto have_moved = [&](const Extents& extents) {
    return std::ranges::all_of(
        moved, [&](const std::string& symbol) { return extents.at(symbol) != bound.at(symbol); });
  };
  std::vector<Extents> fitted;
  if (moved.size() < 2) return fitted;
  size_t tried = 0;
  for (const Extents& extents : others)
    for (const std::string& open : moved) {
      if (fitted.size() == kEnough || tried++ == kMostTried) return fitted;
      const auto found = bind(dims_without(extents, open));
      if (found && have_moved(*found)) fitted.push_back(*found);
    }
  return fitted;
}

std::vector<Extents> other_extents(const Extents& bound, const std::set<std::string>& moved,
                                   bool tied) {
  return moved_by(kOthers, bound, moved, tied);
}

std::vector<Extents> held_out_extents(const Extents& bound, const std::set<std::string>& moved,
                                      bool tied) {
  return moved_by(kHeldOut, bound, moved, tied);
}

}  // namespace reverie::proto
