#pragma once

#include <type_traits>

#include "core/onnx/proto.h"

namespace reverie::proto {

/// Visits the graphs among the node's attributes, not those inside of them.
template <typename Node, typename Visit>
void for_each_subgraph(Node& node, Visit visit) {
  if constexpr (std::is_const_v<Node>) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g());
      for (const auto& graph : attribute.graphs()) visit(graph);
    }
  } else {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) visit(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) visit(graph);
    }
  }
}

}  // namespace reverie::proto
