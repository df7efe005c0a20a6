#include "env/rewrite/regions.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/rules/pattern.h"

namespace reverie {
namespace {

/// For each node, by id, how many work nodes come before it in topological order.
std::vector<int> work_before(const Graph& graph, const std::vector<NodeId>& order, int* work) {
  std::vector<int> before(static_cast<size_t>(graph.node_capacity()), 0);
  *work = 0;
  for (const NodeId node : order) {
    before[static_cast<size_t>(node.index)] = *work;
    *work += graph.is_work(node);
  }
  return before;
}

/// live[i]: values that are made before work node i and used by it or after it.
std::vector<int64_t> live_values(const Graph& graph, const std::vector<NodeId>& order,
                                 const std::vector<int>& before, int work) {
  const auto place = [&](NodeId node) { return before[static_cast<size_t>(node.index)]; };
  std::vector<int64_t> live(static_cast<size_t>(work) + 1, 0);
  for (const NodeId node : order) {
    if (graph.is_constant(node)) continue;
    for (const ValueId value : graph.outputs(node)) {
      int last = place(node);
      for (const NodeId user : graph.users(value)) last = std::max(last, place(user));
      ++live[static_cast<size_t>(std::min(place(node) + 1, work))];
      --live[static_cast<size_t>(std::min(last + 1, work))];
    }
  }
  for (size_t i = 1; i < live.size(); ++i) live[i] += live[i - 1];
  return live;
}

/// Cuts positions 0 .. live.size() - 2 into runs; gives where each begins.
class Cutting {
 public:
  Cutting(const std::vector<int64_t>& live, int least, int most, int most_runs)
      : live_(live),
        size_(static_cast<int>(live.size()) - 1),
        least_(least),
        most_(most),
        most_runs_(std::min(most_runs, size_ / least)) {
    cost_.emplace_back(live.size(), kNone).front() = 0;
    from_.emplace_back(live.size(), 0);
    while (static_cast<int>(cost_.size()) <= most_runs_) add_run();
  }

  std::vector<int> begins() const {
    int runs = 1;
    for (int k = 2; k <= most_runs_; ++k)
      if (cost(k, size_) < cost(runs, size_)) runs = k;
    REVERIE_CHECK(cost(runs, size_) < kNone, "{} nodes in runs of {} to {}", size_, least_, most_);
    std::vector<int> begins;
    for (int end = size_; runs > 0; --runs)
      begins.push_back(end = from_[static_cast<size_t>(runs)][static_cast<size_t>(end)]);
    std::reverse(begins.begin(), begins.end());
    return begins;
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  /// A live value outweighs any difference in evenness.
  static constexpr int64_t kLiveValue = int64_t{1} << 40;

  int64_t cost(int runs, int end) const {
    return cost_[static_cast<size_t>(runs)][static_cast<size_t>(end)];
  }
  void add_run() {
    std::vector<int64_t> best(live_.size(), kNone);
    std::vector<int> from(live_.size(), 0);
    for (int end = least_; end <= size_; ++end) {
      for (int begin = std::max(0, end - most_); begin <= end - least_; ++begin) {
        const int64_t before = cost_.back()[static_cast<size_t>(begin)];
        if (before == kNone) continue;
        const int64_t cost = before + kLiveValue * live_[static_cast<size_t>(begin)] +
                             int64_t{end - begin} * (end - begin);
        if (cost >= best[static_cast<size_t>(end)]) continue;
        best[static_cast<size_t>(end)] = cost;
        from[static_cast<size_t>(end)] = begin;
      }
    }
    cost_.push_back(std::move(best));
    from_.push_back(std::move(from));
  }

  const std::vector<int64_t>& live_;
  int size_, least_, most_, most_runs_;
  std::vector<std::vector<int64_t>> cost_;  ///< [runs][end]: of the cuts before `end`
  std::vector<std::vector<int>> from_;      ///< [runs][end]: where the last run begins
};

}  // namespace

Regions::Regions(const Graph& graph, int most_nodes, int most_regions)
    : regions_(static_cast<size_t>(graph.node_capacity()), 0) {
  REVERIE_CHECK(most_nodes > 0 && most_regions > 0);
  const std::vector<NodeId> order = graph.topological_order();
  int work = 0;
  const std::vector<int> before = work_before(graph, order, &work);
  const int most = std::max(most_nodes, (work + most_regions - 1) / most_regions);
  const int least = (most + 1) / 2;
  if (work <= least) return;
  const std::vector<int64_t> live = live_values(graph, order, before, work);
  const std::vector<int> begins = Cutting(live, least, most, most_regions).begins();
  count_ = static_cast<int>(begins.size());
  for (const NodeId node : order) {
    const auto next =
        std::upper_bound(begins.begin(), begins.end(), before[static_cast<size_t>(node.index)]);
    regions_[static_cast<size_t>(node.index)] = static_cast<int32_t>(next - begins.begin() - 1);
  }
}

MatchPlace Regions::place(const Rule& rule, const Match& match) const {
  MatchPlace place{match.root, of(match.root), of(match.root)};
  const RulePattern& pattern = rule.pattern();
  for (const MappedOutput& output : pattern.outputs) {
    const int maker = pattern.values[static_cast<size_t>(output.source)].producer;
    const NodeId node = match.nodes()[static_cast<size_t>(maker)];
    const int region = of(node);
    place.reach = std::max(place.reach, region);
    if (region < place.region) {
      place.node = node;
      place.region = region;
    }
  }
  return place;
}

void Regions::extend(const Graph& graph, int region) {
  regions_.resize(static_cast<size_t>(graph.node_capacity()), region);
}

uint64_t Regions::hash(std::span<const NodeId> order) const {
  uint64_t hash = static_cast<uint64_t>(count_);
  for (const NodeId node : order) hash = hash_combine(hash, static_cast<uint64_t>(of(node)));
  return hash;
}

}  // namespace reverie
