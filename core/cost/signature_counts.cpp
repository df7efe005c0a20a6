#include "core/cost/signature_counts.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace reverie {

std::vector<SignatureCount> count_signatures(const Graph& graph) {
  std::vector<SignatureCount> counts;
  std::unordered_multimap<uint64_t, size_t> by_hash;
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node)) continue;
    OpSignature signature = signature_of(graph, node);
    const uint64_t hash = signature.hash();
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto known = std::find_if(
        begin, end, [&](const auto& entry) { return counts[entry.second].signature == signature; });
    if (known != end) {
      ++counts[known->second].count;
    } else {
      by_hash.emplace(hash, counts.size());
      counts.push_back({std::move(signature), 1});
    }
  }
  return counts;
}

}  // namespace reverie
