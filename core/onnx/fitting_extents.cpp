#include "core/onnx/fitting_extents.h"

#include <iterator>

namespace reverie::proto {
namespace {

/// Of images and windows, where nothing else is known.
constexpr int64_t kUsual[] = {1, 32, 28, 64, 96, 112, 128, 256, 299, 320, 384, 416, 512, 640};

/// Each symbol by itself, then those that have one extent.
std::vector<std::vector<std::string>> groups_of(const Extents& extents) {
  std::vector<std::vector<std::string>> groups;
  std::map<int64_t, std::vector<std::string>> alike;
  for (const auto& [symbol, extent] : extents) {
    groups.push_back({symbol});
    alike[extent].push_back(symbol);
  }
  for (auto& [extent, symbols] : alike)
    if (symbols.size() > 1) groups.push_back(std::move(symbols));
  return groups;
}

std::vector<Extents> candidates(const Extents& extents, const Misfit& misfit) {
  std::vector<int64_t> values = misfit.hints;
  values.insert(values.end(), std::begin(kUsual), std::end(kUsual));
  const auto groups = groups_of(extents);
  std::vector<Extents> result;
  for (const int64_t value : values)
    for (const auto& symbols : groups) {
      Extents candidate = extents;
      for (const std::string& symbol : symbols) candidate[symbol] = value;
      if (value > 0 && candidate != extents) result.push_back(std::move(candidate));
    }
  return result;
}

}  // namespace

std::optional<Extents> find_fitting_extents(
    Extents assumed, Misfit misfit,
    const std::function<std::optional<Misfit>(const Extents&)>& misfit_with, int most_trials) {
  std::vector<Extents> open = candidates(assumed, misfit);
  size_t next = 0;
  for (int trials = 0; trials < most_trials && next < open.size(); ++trials) {
    const Extents extents = open[next++];
    std::optional<Misfit> other = misfit_with(extents);
    if (!other) return extents;
    if (other->node <= misfit.node) continue;
    misfit = *std::move(other);
    open = candidates(extents, misfit);
    next = 0;
  }
  return std::nullopt;
}

}  // namespace reverie::proto
