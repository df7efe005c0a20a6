#include "core/cost/relative_times.h"

#include <optional>

#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

uint64_t hash_of(const Graph& graph) { return StructuralHash(graph).value(); }

}  // namespace

struct RelativeTimes::Original {
  struct Known {
    Graph graph;
    double ratio = 1;
  };

  Original(const Graph& original, const EndToEndOptions& options)
      : graph(original), options(options) {
    known.emplace(hash_of(original), Known{original, 1});
  }

  RelativeTime time(const Graph& rewritten, bool anew) {
    if (anew && !isomorphic(graph, rewritten))
      return {PairedTimer(graph, options).ratio(rewritten).median, 1};
    const uint64_t hash = hash_of(rewritten);
    const auto [begin, end] = known.equal_range(hash);
    for (auto entry = begin; entry != end; ++entry)
      if (isomorphic(entry->second.graph, rewritten)) return {entry->second.ratio, 0};
    if (!timer) timer.emplace(graph, options);
    const double ratio = timer->ratio(rewritten).median;
    known.emplace(hash, Known{rewritten, ratio});
    return {ratio, 1};
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
