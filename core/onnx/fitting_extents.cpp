#include "core/onnx/fitting_extents.h"

#include <iterator>
#include <set>

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

/// An extent of 1 fits almost anything and says little about the model, so that it comes last.
bool flattens(int64_t value, int64_t extent) {
  constexpr int64_t kFew = 16;
  return value == 1 && extent > kFew;
}

std::vector<Extents> candidates(const Extents& extents, const Misfit& misfit) {
  std::vector<int64_t> values = misfit.hints;
  values.insert(values.end(), std::begin(kUsual), std::end(kUsual));
  const auto groups = groups_of(extents);
  std::set<int64_t> seen;
  std::vector<Extents> likely, flat;
  for (const int64_t value : values) {
    if (value <= 0 || !seen.insert(value).second) continue;
    for (const auto& symbols : groups) {
      Extents candidate = extents;
      for (const std::string& symbol : symbols) candidate[symbol] = value;
      const bool is_flat = flattens(value, extents.at(symbols.front()));
      if (candidate != extents) (is_flat ? flat : likely).push_back(std::move(candidate));
    }
  }
  likely.insert(likely.end(), flat.begin(), flat.end());
  return likely;
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
