#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "env/placement/graph/cost_graph.h"

namespace reverie {

/// Families of synthetic graphs that look like training: a forward pass, and the gradient of each
/// of its nodes, which reads those of the node's readers and what the node had read. A node's
/// gradients, and the update of its weights, are in its colocation group.
///
/// | family    | forward pass                                                                     |
/// | --------- | -------------------------------------------------------------------------------- |
/// | layers    | a chain of layers, some of them with a shortcut                                  |
/// | branches  | cells of four to eight branches of one to four operators, joined at their ends   |
/// | recurrent | a grid of LSTM cells, two to eight layers by time; each layer has one set of     |
/// |           | weights, and what uses it is one colocation group                                |
/// | random    | ranks of nodes that read one to three nodes of the three ranks before            |
///
/// Bytes of tensors and FLOPs are log-normal, with means by operator. Costs follow from them by the
/// roofline rates of cpu, t4, v100, a100, h100 and h200 (core/cost/roofline.h), without occupancy.
struct GeneratorOptions {
  std::string family;
  int nodes = 0;  ///< forward and backward together, 100 to 200,000; a graph may have 5 % more
  uint64_t seed = 0;
  /// Mean time that a tensor takes over the link, latency apart, over the mean cost of a node on a
  /// v100. FLOPs are scaled to meet it.
  double communication_to_computation = 0.5;
  double link_bytes_per_second = 150e9;
};

/// Equal options give equal graphs. InputError for an unknown family, a number of nodes out of
/// range, and a ratio that nodes without arithmetic would not reach.
CostGraph generate_graph(const GeneratorOptions& options);

/// "generate:FAMILY:NODES:SEED", such as "generate:recurrent:2000:1". InputError says what is
/// wrong.
CostGraph generated_graph(const std::string& text);
/// Whether a text is meant as one of these: it begins with "generate:".
bool is_generated_graph(const std::string& text);

}  // namespace reverie
