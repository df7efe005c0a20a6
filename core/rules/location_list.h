#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/match_store.h"
#include "core/rules/node_order.h"

namespace reverie {

/// The canonical order of the matches of a rule: by the position of the root, then of the other
/// matched nodes, then of what produces the values, then by how sequences share them. Never by id.
class MatchOrder {
 public:
  MatchOrder(const Graph& graph, const NodeOrder& order, const MatchStore& matches)
      : graph_(graph), order_(order), matches_(matches) {}
  bool operator()(int32_t a, int32_t b) const;

 private:
  const Graph& graph_;
  const NodeOrder& order_;
  const MatchStore& matches_;
};

/// Slots of a MatchStore in canonical order. Copies share their chunks; a change copies one of
/// them.
class LocationList {
 public:
  LocationList() = default;
  /// Of slots in order.
  explicit LocationList(const std::vector<int32_t>& slots);

  int size() const { return size_; }
  int32_t operator[](int index) const;
  /// `slot` must be in the list.
  int index_of(int32_t slot, const MatchOrder& before) const;
  void insert(int32_t slot, const MatchOrder& before);
  /// `slot` must be in the list, and the list be in order.
  void remove(int32_t slot, const MatchOrder& before);
  template <class Use>
  void for_each(const Use& use) const {
    for (const auto& chunk : chunks_)
      for (const int32_t slot : *chunk) use(slot);
  }

 private:
  using Chunk = std::vector<int32_t>;
  static constexpr size_t kMostSlots = 128;

  /// The chunk that holds the slot, or would.
  size_t chunk_of(int32_t slot, const MatchOrder& before) const;

  std::vector<std::shared_ptr<const Chunk>> chunks_;  // none is empty
  int size_ = 0;
};

}  // namespace reverie
