#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

/// What goes into a graph and comes out of it when it is run.
struct GraphInterface {
  explicit GraphInterface(const Graph& graph);

  /// InputError when there are more or fewer tensors than inputs, or one has another type.
  void check(std::span<const Tensor> tensors) const;

  std::vector<TensorType> input_types, output_types;
  std::vector<std::string> input_names;
  bool operator==(const GraphInterface&) const = default;
};

/// Says, once per executor, operator and process, that some of its nodes run on the reference
/// kernels.
void say_fallback(std::string_view executor, const std::string& op);

}  // namespace reverie
