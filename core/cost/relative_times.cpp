#include "core/cost/relative_times.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/statistics.h"
#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

uint64_t hash_of(const Graph& graph) { return StructuralHash(graph).value(); }

}  // namespace

struct RelativeTimes::Original {
  struct Known {
    Graph graph;
    std::vector<double> ratios;  // each measured, one at least
  };

  Original(const Graph& original, const EndToEndOptions& options)
      : graph(original), options(options) {}

  RelativeTime time(const Graph& rewritten, bool anew) {
    if (isomorphic(graph, rewritten)) return {1, 0};
    const uint64_t hash = hash_of(rewritten);
    const auto [begin, end] = known.equal_range(hash);
    const auto entry = std::find_if(
        begin, end, [&](const auto& each) { return isomorphic(each.second.graph, rewritten); });
    if (entry != end && !anew) return {median(entry->second.ratios), 0};
    const double ratio = measure(rewritten, anew);
    if (entry != end)
      entry->second.ratios.push_back(ratio);
    else
      known.emplace(hash, Known{rewritten, {ratio}});
    return {ratio, 1};
  }

  double measure(const Graph& rewritten, bool anew) {
    if (anew) return PairedTimer(graph, options).ratio(rewritten).median;
    if (!timer) timer.emplace(graph, options);
    return timer->ratio(rewritten).median;
  }

  Graph graph;
  EndToEndOptions options;
  std::optional<PairedTimer> timer;                // once there is something to time
  std::unordered_multimap<uint64_t, Known> known;  // by hash
};

RelativeTimes::RelativeTimes(const EndToEndOptions& options) : options_(options) {}
RelativeTimes::~RelativeTimes() = default;

RelativeTimes::Original& RelativeTimes::find_original(const Graph& graph) {
  const uint64_t hash = hash_of(graph);
  const auto [begin, end] = originals_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry)
    if (isomorphic(entry->second->graph, graph)) return *entry->second;
  return *originals_.emplace(hash, std::make_unique<Original>(graph, options_))->second;
}

RelativeTime RelativeTimes::of(const Graph& original, const Graph& graph, bool anew) {
  return find_original(original).time(graph, anew);
}

}  // namespace reverie
