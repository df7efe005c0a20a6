#include "env/placement/graph/cost_graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Half of what 64 bits hold: no sum of times overflows.
constexpr Picoseconds kMostInAll{int64_t{1} << 62};

class Total {
 public:
  void add(Picoseconds time) {
    if (time > kMostInAll - sum_)
      throw InputError("the times sum to more than 53 days; give them in a larger unit");
    sum_ += time;
  }

 private:
  Picoseconds sum_;
};

}  // namespace

CostGraph::CostGraph(std::string name, std::vector<std::string> kinds, std::vector<CostNode> nodes,
                     std::vector<Picoseconds> costs, std::vector<CostTensor> tensors,
                     std::optional<CostParts> parts)
    : name_(std::move(name)),
      kinds_(std::move(kinds)),
      nodes_(std::move(nodes)),
      costs_(std::move(costs)),
      tensors_(std::move(tensors)),
      parts_(std::move(parts)) {
  settle_forbidden();
  require_numbers();
  if (parts_) require_parts();
  std::ranges::stable_sort(tensors_, {}, &CostTensor::producer);
  connect();
  sort();
}

/// Searches that know of times alone stay away from what is longer than all the rest.
void CostGraph::settle_forbidden() {
  const auto is_forbidden = [](Picoseconds cost) { return cost == kCannotRun; };
  const int64_t forbidden = std::ranges::count_if(costs_, is_forbidden);
  if (forbidden == 0) return;
  constexpr Picoseconds kHour{int64_t{3600} * 1'000'000'000'000};
  Picoseconds rest;
  for (size_t first = 0; first < costs_.size(); first += kinds_.size()) {
    const auto of_node = std::span(costs_).subspan(first, kinds_.size());
    if (std::ranges::all_of(of_node, is_forbidden))
      throw InputError("node '{}' can run on no kind of device",
                       nodes_[first / kinds_.size()].name);
    rest += std::min(std::ranges::max(of_node), kMostInAll);
    if (rest > kMostInAll) return;  // require_numbers refuses it
  }
  const Picoseconds longest{(kMostInAll - rest).count / (forbidden + 1)};
  for (const Picoseconds cost : costs_) can_run_.push_back(!is_forbidden(cost));
  std::ranges::replace_if(costs_, is_forbidden, std::min(std::max(rest, kHour), longest));
}

int CostGraph::kind_named(const std::string& name) const {
  const auto found = std::ranges::find(kinds_, name);
  if (found == kinds_.end())
    throw InputError("'{}' has no costs on devices of kind '{}'; it knows {}", name_, name,
                     fmt::join(kinds_, ", "));
  return static_cast<int>(found - kinds_.begin());
}

void CostGraph::require_numbers() const {
  if (nodes_.empty()) throw InputError("'{}' has no nodes", name_);
  REVERIE_CHECK(costs_.size() == nodes_.size() * kinds_.size());
  Total total;
  for (int node = 0; node < size(); ++node) {
    const CostNode& one = nodes_[static_cast<size_t>(node)];
    Picoseconds most;
    for (size_t kind = 0; kind < kinds_.size(); ++kind) {
      const Picoseconds time = cost(node, static_cast<int>(kind));
      if (time < Picoseconds{}) throw InputError("node '{}' has a negative cost", one.name);
      most = std::max(most, time);
    }
    total.add(most);
    if (one.persistent_bytes < 0 || one.temporary_bytes < 0)
      throw InputError("node '{}' has a negative number of bytes", one.name);
  }
  for (const CostTensor& tensor : tensors_) {
    if (tensor.producer < 0 || tensor.producer >= size())
      throw InputError("an edge begins at node {}; there are {}", tensor.producer, size());
    const std::string& from = nodes_[static_cast<size_t>(tensor.producer)].name;
    if (tensor.bytes < 0) throw InputError("node '{}' sends a negative number of bytes", from);
    if (tensor.transfer < CostTensor::kByLink)
      throw InputError("a transfer from node '{}' takes a negative time", from);
    for (const int reader : tensor.readers) {
      if (reader < 0 || reader >= size())
        throw InputError("an edge of node '{}' ends at node {}; there are {}", from, reader,
                         size());
      total.add(std::max(tensor.transfer, Picoseconds{}));
    }
  }
}

void CostGraph::require_parts() const {
  REVERIE_CHECK(parts_->kinds.size() == kinds_.size() &&
                parts_->arithmetic.size() == costs_.size() &&
                parts_->moved_bytes.size() == nodes_.size());
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    if (!(parts_->kinds[kind].bytes_per_second > 0) || parts_->kinds[kind].launch < Picoseconds{})
      throw InputError("kind '{}' needs a bandwidth above 0 and a launch of at least 0",
                       kinds_[kind]);
  Total total;
  for (size_t i = 0; i < costs_.size(); ++i) {
    if (parts_->arithmetic[i] < Picoseconds{})
      throw InputError("node '{}' has a negative time of arithmetic",
                       nodes_[i / kinds_.size()].name);
    total.add(parts_->arithmetic[i]);
  }
  for (size_t node = 0; node < nodes_.size(); ++node)
    if (parts_->moved_bytes[node] < 0)
      throw InputError("node '{}' moves a negative number of bytes", nodes_[node].name);
}

void CostGraph::connect() {
  inputs_.resize(nodes_.size());
  first_output_.assign(nodes_.size() + 1, 0);
  for (size_t i = 0; i < tensors_.size(); ++i) {
    CostTensor& tensor = tensors_[i];
    std::ranges::sort(tensor.readers);
    const auto twice = std::ranges::adjacent_find(tensor.readers);
    if (twice != tensor.readers.end())
      throw InputError("two edges lead from node '{}' to node '{}'",
                       nodes_[static_cast<size_t>(tensor.producer)].name,
                       nodes_[static_cast<size_t>(*twice)].name);
    ++first_output_[static_cast<size_t>(tensor.producer) + 1];
    for (const int reader : tensor.readers)
      inputs_[static_cast<size_t>(reader)].push_back(static_cast<int>(i));
  }
  for (size_t i = 1; i < first_output_.size(); ++i) first_output_[i] += first_output_[i - 1];
}

void CostGraph::sort() {
  std::vector<size_t> waiting;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int node = 0; node < size(); ++node) {
    waiting.push_back(inputs(node).size());
    if (waiting.back() == 0) ready.push(node);
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order_.push_back(node);
    const auto [first, last] = outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : tensors_[static_cast<size_t>(tensor)].readers)
        if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
  }
  if (order_.size() == nodes_.size()) return;
  const auto stuck = std::ranges::find_if(waiting, [](size_t inputs) { return inputs > 0; });
  throw InputError("'{}' has a cycle: node '{}' waits for itself", name_,
                   nodes_[static_cast<size_t>(stuck - waiting.begin())].name);
}

CostGraph CostGraph::with_groups(const std::vector<int>& groups) const {
  REVERIE_CHECK(groups.size() == nodes_.size());
  CostGraph other = *this;
  for (size_t node = 0; node < groups.size(); ++node) other.nodes_[node].group = groups[node];
  return other;
}

}  // namespace reverie
