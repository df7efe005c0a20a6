#include "core/rules/location_list.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reverie {

bool MatchOrder::operator()(int32_t a, int32_t b) const {
  const StoredMatch& x = matches_[a];
  const StoredMatch& y = matches_[b];
  if (x.root != y.root) return order_.position(x.root) < order_.position(y.root);
  const auto& nodes_x = x.binding->nodes;
  const auto& nodes_y = y.binding->nodes;
  for (size_t i = 0; i < nodes_x.size(); ++i)
    if (nodes_x[i] != nodes_y[i]) return order_.position(nodes_x[i]) < order_.position(nodes_y[i]);
  const auto& values_x = x.binding->values;
  const auto& values_y = y.binding->values;
  for (size_t i = 0; i < std::min(values_x.size(), values_y.size()); ++i) {
    if (values_x[i] == values_y[i]) continue;
    if (!values_x[i].valid() || !values_y[i].valid()) return !values_x[i].valid();
    const NodeId from_x = graph_.producer(values_x[i]);
    const NodeId from_y = graph_.producer(values_y[i]);
    if (from_x != from_y) return order_.position(from_x) < order_.position(from_y);
    return graph_.output_index(values_x[i]) < graph_.output_index(values_y[i]);
  }
  if (values_x.size() != values_y.size()) return values_x.size() < values_y.size();
  return x.binding->offsets < y.binding->offsets;
}

int32_t LocationList::operator[](int index) const {
  auto left = static_cast<size_t>(index);
  for (const auto& chunk : chunks_) {
    if (left < chunk->size()) return (*chunk)[left];
    left -= chunk->size();
  }
  REVERIE_CHECK(false, "there is no location {} of {}", index, size_);
  return -1;
}

int LocationList::index_of(int32_t slot, const MatchOrder& before) const {
  const size_t at = chunk_of(slot, before);
  size_t index = 0;
  for (size_t i = 0; i < at; ++i) index += chunks_[i]->size();
  const Chunk& chunk = *chunks_[at];
  const auto place = std::find(chunk.begin(), chunk.end(), slot);
  REVERIE_CHECK(place != chunk.end(), "match {} is not where it belongs", slot);
  return static_cast<int>(index) + static_cast<int>(place - chunk.begin());
}

size_t LocationList::chunk_of(int32_t slot, const MatchOrder& before) const {
  const auto after = std::upper_bound(
      chunks_.begin(), chunks_.end(), slot,
      [&](int32_t wanted, const auto& chunk) { return before(wanted, chunk->front()); });
  return after == chunks_.begin() ? 0 : static_cast<size_t>(after - chunks_.begin()) - 1;
}

LocationList::LocationList(const std::vector<int32_t>& slots)
    : size_(static_cast<int>(slots.size())) {
  for (size_t first = 0; first < slots.size(); first += kMostSlots / 2) {
    const auto begin = slots.begin() + static_cast<ptrdiff_t>(first);
    const auto count = std::min(kMostSlots / 2, slots.size() - first);
    chunks_.push_back(std::make_shared<Chunk>(begin, begin + static_cast<ptrdiff_t>(count)));
  }
}

void LocationList::insert(int32_t slot, const MatchOrder& before) {
  ++size_;
  if (chunks_.empty()) {
    chunks_.push_back(std::make_shared<Chunk>(1, slot));
    return;
  }
  const size_t at = chunk_of(slot, before);
  auto chunk = std::make_shared<Chunk>();
  chunk->reserve(chunks_[at]->size() + 1);
  *chunk = *chunks_[at];
  chunk->insert(std::lower_bound(chunk->begin(), chunk->end(), slot, before), slot);
  if (chunk->size() > kMostSlots) {
    const auto middle = chunk->begin() + kMostSlots / 2;
    auto second = std::make_shared<Chunk>(middle, chunk->end());
    chunk->erase(middle, chunk->end());
    chunks_.insert(chunks_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(second));
  }
  chunks_[at] = std::move(chunk);
}

void LocationList::remove(int32_t slot, const MatchOrder& before) {
  --size_;
  const size_t at = chunk_of(slot, before);
  auto chunk = std::make_shared<Chunk>(*chunks_[at]);
  const auto place = std::find(chunk->begin(), chunk->end(), slot);
  REVERIE_CHECK(place != chunk->end(), "match {} is not where it belongs", slot);
  chunk->erase(place);
  if (chunk->empty())
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(at));
  else
    chunks_[at] = std::move(chunk);
}

}  // namespace reverie
