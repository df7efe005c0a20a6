#pragma once

#include <cstdint>
#include <string>

#include "env/placement/graph/placement_input.h"
#include "env/placement/placement_environment.h"

namespace reverie {

/// Settings of the environment `placement`. Its graphs are env.inputs.
struct PlacementConfig {
  std::string devices = "2xv100-nvlink";
  int max_groups = 64;
  PlacementInputConfig input;
  PlacementEnvConfig environment;

  template <class V>
  void fields(V& v) {
    v.field("devices", devices, "A YAML file of devices and links, one that is built in, or cores:N: cores of this "
            "machine, which run what is placed");
    v.field("max_groups", max_groups,
            "Groups of operators that are placed, at most; larger graphs have larger ones",
            at_least(1));
    input.fields(v);
    environment.fields(v);
  }
};

/// What a policy is compared with in placement.
struct PlacementEvaluationConfig {
  int64_t evaluations = 1000;

  template <class V>
  void fields(V& v) {
    v.field("evaluations", evaluations, "Placements that each search may simulate", at_least(1));
  }
};

}  // namespace reverie
