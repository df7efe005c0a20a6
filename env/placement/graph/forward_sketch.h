#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"

namespace reverie {

/// A forward pass in outline, as the generator draws it (generator.h).
struct ForwardSketch {
  struct Node {
    std::string_view op;
    std::vector<int> inputs;    ///< nodes before it, each once
    double bytes = 0;           ///< that it gives out
    double flops_per_byte = 0;  ///< of what it gives out
    int weight = -1;            ///< that it reads; -1: none
    int group = -1;             ///< by weight, where many nodes share it
  };
  std::vector<Node> nodes;           ///< "Input" is given from outside, and has no gradient
  std::vector<double> weight_bytes;  ///< each updated once
};

/// Of a graph of about so many nodes with gradients, updates and loss. InputError lists the
/// families.
ForwardSketch draw_forward(const std::string& family, int nodes, Rng& rng);

}  // namespace reverie
