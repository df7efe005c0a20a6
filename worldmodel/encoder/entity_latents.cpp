#include "worldmodel/encoder/entity_latents.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "core/base/hash.h"

namespace reverie {
namespace {

constexpr int64_t kMostKept = int64_t{1} << 20;

using NeighbourLists = std::vector<std::vector<int32_t>>;

uint64_t hash_row(const std::vector<float>& values, int64_t row, size_t rows, uint64_t seed) {
  const size_t width = rows == 0 ? 0 : values.size() / rows;
  return hash_bytes(values.data() + static_cast<size_t>(row) * width, width * sizeof(float), seed);
}

/// By node, how many of its entity come before it.
std::vector<int32_t> places(const GraphFeatures& graph, int entities) {
  std::vector<int32_t> next(static_cast<size_t>(entities)), places;
  for (const int32_t entity : graph.node_entities)
    places.push_back(next[static_cast<size_t>(entity)]++);
  return places;
}

uint64_t hash_edge(const GraphFeatures& graph, int edge, const std::vector<int32_t>& place) {
  const auto ends = static_cast<uint64_t>(place[static_cast<size_t>(graph.senders[edge])]) << 32 |
                    static_cast<uint64_t>(place[static_cast<size_t>(graph.receivers[edge])]);
  return hash_row(graph.edges, edge, graph.senders.size(), ends);
}

/// By entity: its nodes, and the edges between them.
std::vector<uint64_t> contents(const GraphFeatures& graph, int entities,
                               const std::vector<int32_t>& place) {
  std::vector<uint64_t> contents(static_cast<size_t>(entities));
  for (int node = 0; node < graph.node_count(); ++node) {
    uint64_t& content = contents[static_cast<size_t>(graph.node_entities[node])];
    content = hash_combine(content, hash_row(graph.nodes, node, graph.node_types.size(),
                                             static_cast<uint64_t>(graph.node_types[node])));
  }
  for (int edge = 0; edge < graph.edge_count(); ++edge) {
    const int32_t entity = graph.node_entities[graph.senders[edge]];
    if (entity == graph.node_entities[graph.receivers[edge]])
      contents[static_cast<size_t>(entity)] += hash_edge(graph, edge, place);  // in any order
  }
  return contents;
}

/// By entity, what its latent depends on: its content, what can be done there, the contents of its
/// neighbours, and the edges to them.
std::vector<uint64_t> keys(const Observation& observation, const NeighbourLists& neighbours) {
  const GraphFeatures& graph = observation.graph;
  const ActionMask& mask = observation.mask;
  const std::vector<int32_t> place = places(graph, mask.entities);
  const std::vector<uint64_t> content = contents(graph, mask.entities, place);
  std::vector<uint64_t> keys = content;
  for (int action = 0; action < mask.primary_actions(); ++action)
    for (int entity = 0; entity < mask.entities; ++entity) {
      uint64_t& key = keys[static_cast<size_t>(entity)];
      const int cell = action * mask.entities + entity;
      key = hash_combine(key, hash_row(observation.action_features, cell, mask.counts.size(),
                                       mask.counts[static_cast<size_t>(cell)]));
    }
  for (size_t entity = 0; entity < keys.size(); ++entity)
    for (const int32_t number : neighbours[entity])
      keys[entity] = hash_combine(keys[entity], content[static_cast<size_t>(number - 1)]);
  for (int edge = 0; edge < graph.edge_count(); ++edge) {
    const auto from = static_cast<size_t>(graph.node_entities[graph.senders[edge]]),
               to = static_cast<size_t>(graph.node_entities[graph.receivers[edge]]);
    if (from == to) continue;
    const uint64_t hash = hash_edge(graph, edge, place);
    keys[from] += hash_combine(hash, content[to]);  // in any order
    keys[to] += hash_combine(~hash, content[from]);
  }
  return keys;
}

/// Columns of rows of `width` numbers each, by entity.
template <class T>
std::vector<T> columns(const std::vector<T>& values, size_t rows, int entities,
                       const std::vector<int32_t>& kept) {
  std::vector<T> some;
  const size_t width = values.size() / rows / static_cast<size_t>(entities);
  for (size_t row = 0; row < rows; ++row)
    for (const int32_t entity : kept) {
      const auto first =
          values.begin() +
          static_cast<std::ptrdiff_t>((row * static_cast<size_t>(entities) + entity) * width);
      some.insert(some.end(), first, first + static_cast<std::ptrdiff_t>(width));
    }
  return some;
}

void append_row(std::vector<float>& to, const std::vector<float>& from, int row, size_t rows) {
  const size_t width = from.size() / rows;
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(row * width);
  to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(width));
}

/// A state's entities of these numbers, ascending, and what joins them.
Observation part_of(const Observation& whole, const std::vector<int32_t>& kept) {
  const int entities = whole.mask.entities;
  std::vector<int32_t> number(static_cast<size_t>(entities), -1);
  for (size_t i = 0; i < kept.size(); ++i) number[kept[i]] = static_cast<int32_t>(i);
  Observation part;
  const GraphFeatures& from = whole.graph;
  GraphFeatures& to = part.graph;
  std::vector<int32_t> node_number(from.node_types.size(), -1);
  for (int node = 0; node < from.node_count(); ++node) {
    const int32_t entity = number[from.node_entities[node]];
    if (entity < 0) continue;
    node_number[node] = to.node_count();
    to.node_types.push_back(from.node_types[node]);
    to.node_entities.push_back(entity);
    append_row(to.nodes, from.nodes, node, from.node_types.size());
    append_row(to.node_targets, from.node_targets, node, from.node_types.size());
  }
  for (int edge = 0; edge < from.edge_count(); ++edge) {
    const int32_t sender = node_number[from.senders[edge]],
                  receiver = node_number[from.receivers[edge]];
    if (sender < 0 || receiver < 0) continue;
    to.senders.push_back(sender);
    to.receivers.push_back(receiver);
    append_row(to.edges, from.edges, edge, from.senders.size());
  }
  to.graph_targets = from.graph_targets;
  const int actions = whole.mask.primary_actions();
  part.mask = ActionMask(actions, static_cast<int>(kept.size()));
  part.mask.counts = columns(whole.mask.counts, static_cast<size_t>(actions), entities, kept);
  part.action_features =
      columns(whole.action_features, static_cast<size_t>(actions), entities, kept);
  return part;
}

/// Entities and their neighbours, ascending.
std::vector<int32_t> with_neighbours(const std::vector<int32_t>& entities,
                                     const NeighbourLists& neighbours) {
  std::vector<int32_t> all = entities;
  for (const int32_t entity : entities)
    for (const int32_t number : neighbours[static_cast<size_t>(entity)]) all.push_back(number - 1);
  std::ranges::sort(all);
  const auto rest = std::ranges::unique(all);
  all.erase(rest.begin(), rest.end());
  return all;
}

/// Parts of states that hold what is to be encoded.
class Parts {
 public:
  void add(const Observation& whole, const std::vector<int32_t>& entities,
           const NeighbourLists& neighbours) {
    const std::vector<int32_t> kept = with_neighbours(entities, neighbours);
    for (const int32_t entity : entities)
      wanted_.emplace_back(std::ssize(parts_),
                           std::ranges::lower_bound(kept, entity) - kept.begin());
    parts_.push_back(part_of(whole, kept));
  }

  bool empty() const { return parts_.empty(); }

  /// [entities that were added, latent], in this order.
  torch::Tensor encode(Encoder& encoder) const {
    std::vector<const Observation*> parts;
    for (const Observation& part : parts_) parts.push_back(&part);
    const torch::Tensor all = encoder.encode(parts).entities;
    std::vector<int64_t> rows;
    for (const auto& [part, entity] : wanted_) rows.push_back(part * all.size(1) + entity);
    return all.flatten(0, 1).index_select(0, torch::tensor(rows, torch::kInt64).to(all.device()));
  }

 private:
  std::deque<Observation> parts_;
  std::vector<std::pair<int64_t, int64_t>> wanted_;  ///< a part and an entity there
};

}  // namespace

void EntityLatents::clear() {
  rows_.clear();
  filled_ = 0;
}

void EntityLatents::keep(const torch::Tensor& latents) {
  while (latents_.size(0) < filled_ + latents.size(0))
    latents_ = torch::cat({latents_, torch::zeros_like(latents_)});
  latents_.narrow(0, filled_, latents.size(0)).copy_(latents);
  filled_ += latents.size(0);
  encoded_ += latents.size(0);
}

EncodedStates EntityLatents::see(std::span<const Observation> observations) {
  std::vector<const Observation*> states;
  std::vector<const ActionMask*> masks;
  for (const Observation& observation : observations) {
    states.push_back(&observation);
    masks.push_back(&observation.mask);
  }
  return {encode(states), to_device(batch_masks(masks, encoder_->spec()), encoder_->device())};
}

Latents EntityLatents::encode(std::span<const Observation* const> observations) {
  torch::NoGradGuard guard;
  if (filled_ > kMostKept) clear();
  if (filled_ == 0) {
    latents_ = torch::zeros({1024, encoder_->latent()}, encoder_->device());
    filled_ = 1;
  }
  int64_t entities = 1;
  for (const Observation* one : observations) {
    check_widths(*one, encoder_->spec());
    entities = std::max<int64_t>(entities, one->mask.entities);
  }
  std::vector<int64_t> rows(observations.size() * static_cast<size_t>(entities));
  std::vector<NeighbourLists> neighbours;
  Parts parts;
  auto row = rows.begin();
  for (const Observation* one : observations) {
    neighbours.push_back(neighbour_lists(one->graph, one->mask.entities));
    const std::vector<uint64_t> key = keys(*one, neighbours.back());
    std::vector<char> has_nodes(key.size());
    for (const int32_t entity : one->graph.node_entities) has_nodes[entity] = 1;
    std::vector<int32_t> fresh;
    for (size_t entity = 0; entity < key.size(); ++entity) {
      if (!has_nodes[entity]) continue;
      const auto [found, is_new] = rows_.try_emplace(key[entity], std::ssize(rows_) + 1);
      if (is_new) fresh.push_back(static_cast<int32_t>(entity));
      row[static_cast<std::ptrdiff_t>(entity)] = found->second;
    }
    if (!fresh.empty()) parts.add(*one, fresh, neighbours.back());
    row += entities;
  }
  if (!parts.empty()) keep(parts.encode(*encoder_));
  const auto index = torch::tensor(rows, torch::kInt64).to(encoder_->device());
  const auto latents =
      latents_.index_select(0, index).view({std::ssize(observations), entities, -1});
  return {encoder_->pool(latents), latents,
          padded_neighbours(neighbours, entities).to(encoder_->device())};
}

}  // namespace reverie
