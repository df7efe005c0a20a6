#include "tools/python/module/arrays.h"

#include <algorithm>

namespace reverie::python {
namespace {

float bounded(float value) { return std::clamp(value, -kFeatureBound, kFeatureBound); }

void copy_features(std::span<const float> from, float* to) {
  std::ranges::transform(from, to, bounded);
}

/// The features of a primary action at an entity.
std::span<const float> features_of(const Observation& observation, const Action& action,
                                   int width) {
  const size_t cell =
      static_cast<size_t>(action.primary) * static_cast<size_t>(observation.mask.entities) +
      static_cast<size_t>(action.entity);
  return std::span(observation.action_features)
      .subspan(cell * static_cast<size_t>(width), static_cast<size_t>(width));
}

template <class T>
T* row_of(py::array_t<T>& array, int row, int64_t size) {
  return array.mutable_data() + row * size;
}

}  // namespace

ArrayLayout::ArrayLayout(const EnvSpec& spec)
    : node_features(static_cast<int>(spec.node_features.size())),
      edge_features(static_cast<int>(spec.edge_features.size())),
      action_features(static_cast<int>(spec.action_features.size())) {}

template <class T>
py::array_t<T> PaddedArrays::array(std::vector<py::ssize_t> shape) const {
  if (rows_ > 0) shape.insert(shape.begin(), rows_);
  return py::array_t<T>(shape);
}

PaddedArrays::PaddedArrays(const ArrayLayout& layout, const ActionNumbers& numbers, int rows)
    : layout_(layout),
      numbers_(numbers),
      rows_(rows),
      x_(array<float>({layout.max_nodes, layout.node_features})),
      edge_attr_(array<float>({layout.max_edges, layout.edge_features})),
      action_attr_(array<float>({numbers.size(), layout.action_features})),
      node_type_(array<int64_t>({layout.max_nodes})),
      node_entity_(array<int64_t>({layout.max_nodes})),
      edge_index_(array<int64_t>({2, layout.max_edges})),
      node_mask_(array<int8_t>({layout.max_nodes})),
      edge_mask_(array<int8_t>({layout.max_edges})),
      action_mask_(array<int8_t>({numbers.size()})) {}

int PaddedArrays::write(int row, const Observation& observation) {
  const int kept = std::min(observation.graph.node_count(), layout_.max_nodes);
  write_nodes(row, observation.graph, kept);
  write_edges(row, observation.graph, kept);
  write_actions(row, observation);
  return observation.graph.node_count() - kept;
}

void PaddedArrays::write_nodes(int row, const GraphFeatures& graph, int kept) {
  const int64_t nodes = layout_.max_nodes, features = int64_t{kept} * layout_.node_features;
  float* const x = row_of(x_, row, nodes * layout_.node_features);
  copy_features(std::span(graph.nodes).first(static_cast<size_t>(features)), x);
  std::fill(x + features, x + nodes * layout_.node_features, 0.0f);
  int64_t* const types = row_of(node_type_, row, nodes);
  std::fill(std::copy_n(graph.node_types.begin(), kept, types), types + nodes, 0);
  int64_t* const entities = row_of(node_entity_, row, nodes);
  std::fill(std::copy_n(graph.node_entities.begin(), kept, entities), entities + nodes, 0);
  int8_t* const mask = row_of(node_mask_, row, nodes);
  std::fill(std::fill_n(mask, kept, int8_t{1}), mask + nodes, int8_t{0});
}

void PaddedArrays::write_edges(int row, const GraphFeatures& graph, int kept) {
  const int64_t edges = layout_.max_edges, width = layout_.edge_features;
  int64_t* const senders = row_of(edge_index_, row, 2 * edges);
  int64_t* const receivers = senders + edges;
  float* const features = row_of(edge_attr_, row, edges * width);
  int64_t count = 0;
  for (size_t edge = 0; edge < graph.senders.size() && count < edges; ++edge) {
    if (graph.senders[edge] >= kept || graph.receivers[edge] >= kept) continue;
    senders[count] = graph.senders[edge];
    receivers[count] = graph.receivers[edge];
    const auto size = static_cast<size_t>(width);
    copy_features(std::span(graph.edges).subspan(edge * size, size), features + count++ * width);
  }
  std::fill(senders + count, senders + edges, 0);
  std::fill(receivers + count, receivers + edges, 0);
  std::fill(features + count * width, features + edges * width, 0.0f);
  int8_t* const mask = row_of(edge_mask_, row, edges);
  std::fill(std::fill_n(mask, count, int8_t{1}), mask + edges, int8_t{0});
}

void PaddedArrays::write_actions(int row, const Observation& observation) {
  const int64_t actions = numbers_.size(), width = layout_.action_features;
  int8_t* const mask = row_of(action_mask_, row, actions);
  float* const features = row_of(action_attr_, row, actions * width);
  std::fill_n(mask, actions, int8_t{0});
  std::fill_n(features, actions * width, 0.0f);
  numbers_.visit(observation.mask, [&](int number, const Action& action) {
    mask[number] = 1;
    copy_features(features_of(observation, action, layout_.action_features),
                  features + number * width);
  });
}

py::dict PaddedArrays::dict() const {
  using namespace py::literals;
  return py::dict("x"_a = x_, "node_type"_a = node_type_, "node_entity"_a = node_entity_,
                  "node_mask"_a = node_mask_, "edge_index"_a = edge_index_,
                  "edge_attr"_a = edge_attr_, "edge_mask"_a = edge_mask_,
                  "action_mask"_a = action_mask_, "action_attr"_a = action_attr_);
}

GraphArrays::GraphArrays(const ArrayLayout& layout, const ActionNumbers& numbers,
                         std::span<const Observation* const> observations, bool batch)
    : layout_(layout),
      numbers_(numbers),
      observations_(observations.begin(), observations.end()),
      batch_(batch),
      nodes_{0},
      edges_{0},
      entities_{0},
      choices_{0} {
  for (const Observation* one : observations) {
    int64_t choices = 0;
    numbers.visit(one->mask, [&](int, const Action&) { ++choices; });
    nodes_.push_back(nodes_.back() + one->graph.node_count());
    edges_.push_back(edges_.back() + one->graph.edge_count());
    entities_.push_back(entities_.back() + one->mask.entities);
    choices_.push_back(choices_.back() + choices);
  }
  const py::ssize_t nodes = nodes_.back(), edges = edges_.back(), choices = choices_.back();
  using Shape = std::vector<py::ssize_t>;
  x_ = py::array_t<float>(Shape{nodes, layout.node_features});
  edge_attr_ = py::array_t<float>(Shape{edges, layout.edge_features});
  action_attr_ = py::array_t<float>(Shape{choices, layout.action_features});
  node_type_ = py::array_t<int64_t>(Shape{nodes});
  node_entity_ = py::array_t<int64_t>(Shape{nodes});
  edge_index_ = py::array_t<int64_t>(Shape{2, edges});
  actions_ = py::array_t<int64_t>(Shape{choices, 3});
  Shape mask = {numbers.size()};
  if (batch) mask.insert(mask.begin(), std::ssize(observations));
  action_mask_ = py::array_t<int8_t>(mask);
  node_batch_ = py::array_t<int64_t>(Shape{batch ? nodes : 0});
  action_batch_ = py::array_t<int64_t>(Shape{batch ? choices : 0});
  ptr_ = py::array_t<int64_t>(Shape{std::ssize(nodes_)}, nodes_.data());
}

void GraphArrays::write(int row) {
  const auto at = static_cast<size_t>(row);
  const Observation& observation = *observations_[at];
  const GraphFeatures& graph = observation.graph;
  const int64_t node = nodes_[at], edge = edges_[at], entity = entities_[at], edges = edges_.back();
  const auto behind = [](int64_t first) {
    return [first](int32_t value) { return first + value; };
  };
  copy_features(graph.nodes, row_of(x_, 0, 0) + node * layout_.node_features);
  std::ranges::copy(graph.node_types, row_of(node_type_, 0, 0) + node);
  std::ranges::transform(graph.node_entities, row_of(node_entity_, 0, 0) + node, behind(entity));
  int64_t* const senders = row_of(edge_index_, 0, 0) + edge;
  std::ranges::transform(graph.senders, senders, behind(node));
  std::ranges::transform(graph.receivers, senders + edges, behind(node));
  copy_features(graph.edges, row_of(edge_attr_, 0, 0) + edge * layout_.edge_features);

  int8_t* const mask = row_of(action_mask_, row, numbers_.size());
  std::fill_n(mask, numbers_.size(), int8_t{0});
  int64_t choice = choices_[at];
  numbers_.visit(observation.mask, [&](int number, const Action& action) {
    mask[number] = 1;
    int64_t* const named = row_of(actions_, 0, 0) + 3 * choice;
    named[0] = action.primary;
    named[1] = entity + action.entity;
    named[2] = action.index;
    copy_features(features_of(observation, action, layout_.action_features),
                  row_of(action_attr_, 0, 0) + choice++ * layout_.action_features);
  });
  if (!batch_) return;
  std::fill_n(row_of(node_batch_, 0, 0) + node, graph.node_count(), row);
  std::fill(row_of(action_batch_, 0, 0) + choices_[at], row_of(action_batch_, 0, 0) + choice, row);
}

py::dict GraphArrays::dict() const {
  using namespace py::literals;
  py::dict all("x"_a = x_, "node_type"_a = node_type_, "node_entity"_a = node_entity_,
               "edge_index"_a = edge_index_, "edge_attr"_a = edge_attr_,
               "action_mask"_a = action_mask_, "actions"_a = actions_,
               "action_attr"_a = action_attr_, "num_entities"_a = entities_.back());
  if (!batch_) return all;
  all["batch"] = node_batch_;
  all["ptr"] = ptr_;
  all["action_batch"] = action_batch_;
  return all;
}

}  // namespace reverie::python
