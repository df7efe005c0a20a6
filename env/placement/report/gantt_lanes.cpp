#include "env/placement/report/gantt_lanes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace reverie {
namespace {

/// What blocks are made of: a run or a transfer.
struct Item {
  int64_t start, end;
  int position;
  size_t rank;
};

struct Row {
  int device;
  bool sends;
  std::vector<Item> items;
};

std::vector<Row> rows_of(const Topology& topology, const Timeline& timeline,
                         const TypeRanks& types) {
  std::vector<Row> rows;
  for (int device = 0; device < topology.size(); ++device)
    for (const bool sends : {false, true}) rows.push_back({device, sends, {}});
  const auto add = [&](int device, bool sends, const Item& item) {
    rows[2 * static_cast<size_t>(device) + (sends ? 1 : 0)].items.push_back(item);
  };
  int position = 0;
  for (const Timeline::Run& run : timeline.runs)
    add(run.device, false, {run.start.count, run.end.count, position++, types.rank(run.node)});
  position = 0;
  for (const Timeline::Transfer& sent : timeline.transfers)
    add(sent.from, true, {sent.start.count, sent.end.count, position++, 0});
  std::erase_if(rows, [](const Row& row) { return row.sends && row.items.empty(); });
  for (Row& row : rows) std::ranges::stable_sort(row.items, {}, &Item::start);
  return rows;
}

/// Sums up the items of one block.
class Merging {
 public:
  explicit Merging(size_t types) : time_(std::max<size_t>(types, 1)) {}

  void begin(const Item& item) {
    for (const size_t rank : touched_) time_[rank] = 0;
    touched_.clear();
    block_ = {{item.start}, {item.end}, {0}, 0, item.position, item.rank};
    add(item);
  }
  void add(const Item& item) {
    const int64_t time = item.end - item.start;
    time_[item.rank] += time;
    touched_.push_back(item.rank);
    if (time_[item.rank] > time_[block_.rank]) block_.rank = item.rank;
    block_.end = std::max(block_.end, Picoseconds{item.end});
    block_.busy += Picoseconds{time};
    ++block_.count;
  }
  const GanttBlock& block() const { return block_; }

 private:
  GanttBlock block_;
  std::vector<int64_t> time_;  ///< by rank
  std::vector<size_t> touched_;
};

std::vector<GanttBlock> merge(const std::vector<Item>& items, size_t types, int64_t shortest) {
  std::vector<GanttBlock> blocks;
  Merging merging(types);
  bool open = false;  // the last block takes more
  for (const Item& item : items) {
    const bool is_short = item.end - item.start < shortest;
    if (open && is_short && item.start - blocks.back().start.count < shortest) {
      merging.add(item);
      blocks.back() = merging.block();
      continue;
    }
    merging.begin(item);
    blocks.push_back(merging.block());
    open = is_short;
  }
  return blocks;
}

size_t total(const std::vector<GanttLane>& lanes) {
  size_t blocks = 0;
  for (const GanttLane& lane : lanes) blocks += lane.blocks.size();
  return blocks;
}

}  // namespace

TypeRanks::TypeRanks(const CostGraph& graph, const Timeline& timeline, size_t named) {
  std::map<std::string, int64_t> times;
  for (const CostNode& node : graph.nodes()) times[node.op] = 0;
  int64_t all = 0;
  for (const Timeline::Run& run : timeline.runs) {
    const int64_t time = run.end.count - run.start.count;
    times[graph.nodes()[static_cast<size_t>(run.node)].op] += time;
    all += time;
  }
  std::vector<std::pair<std::string, int64_t>> longest(times.begin(), times.end());
  std::ranges::stable_sort(longest, std::ranges::greater(),
                           [](const auto& one) { return one.second; });
  types_ = longest.size();
  std::map<std::string, size_t> places;
  int64_t rest = all;
  const auto share = [&](int64_t time) {
    return all > 0 ? static_cast<double>(time) / static_cast<double>(all) : 0.0;
  };
  for (const auto& [type, time] : longest) {
    places.emplace(type, places.size());
    if (time == 0 || named_.size() == named) continue;
    named_.push_back(type);
    shares_.push_back(share(time));
    rest -= time;
  }
  shares_.push_back(share(rest));
  for (const CostNode& node : graph.nodes()) ranks_.push_back(places.at(node.op));
}

std::vector<GanttLane> gantt_lanes(const Topology& topology, const Timeline& timeline,
                                   const TypeRanks& types, Picoseconds shortest, size_t most) {
  const std::vector<Row> rows = rows_of(topology, timeline, types);
  int64_t end = 1;
  for (const Row& row : rows)
    for (const Item& item : row.items) end = std::max(end, item.end);
  for (int64_t length = std::max<int64_t>(1, shortest.count);; length *= 2) {
    std::vector<GanttLane> lanes;
    for (const Row& row : rows)
      lanes.push_back({row.device, row.sends, merge(row.items, types.types(), length)});
    if (total(lanes) <= most || length > end) return lanes;
  }
}

}  // namespace reverie
