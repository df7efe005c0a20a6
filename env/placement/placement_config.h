#pragma once

#include <cstdint>
#include <string>

#include "core/base/config.h"
#include "env/placement/graph/placement_input.h"

namespace reverie {

enum class PlacementForm : uint8_t { kConstructive, kImproving };
enum class PlacementReward : uint8_t { kRelative, kSquareRoot };

inline EnumNames<PlacementForm> enum_names(PlacementForm) {
  return {{PlacementForm::kConstructive, "constructive"}, {PlacementForm::kImproving, "improving"}};
}
inline EnumNames<PlacementReward> enum_names(PlacementReward) {
  return {{PlacementReward::kRelative, "relative"}, {PlacementReward::kSquareRoot, "sqrt"}};
}

struct PlacementEnvConfig {
  PlacementForm form = PlacementForm::kConstructive;
  PlacementReward reward = PlacementReward::kRelative;
  double memory_weight = 0;
  bool fusion = false;
  int horizon = 0;  ///< no setting of its own, but env.horizon

  template <class V>
  void fields(V& v) {
    v.field("form", form,
            "constructive: one group after the other is placed, and all are judged in the end; "
            "improving: any group, again and again, and each step is judged");
    v.field("reward", reward,
            "What a step gains, in percent of the best device alone: relative, or of square roots "
            "(sqrt)");
    v.field("memory_weight", memory_weight,
            "Share of peak memory in what is gained; the rest is makespan, and 1 makes peak memory "
            "the objective",
            between(0, 1));
    v.field("fusion", fusion,
            "Groups may also be fused with what reads from them; the graphs must say what their "
            "costs are made of");
  }
};

/// Settings of the environment `placement`. Its graphs are env.inputs.
struct PlacementConfig {
  static constexpr char kKind[] = "placement";

  std::string devices = "2xv100-nvlink";
  int max_groups = 64;
  PlacementInputConfig input;
  PlacementEnvConfig environment;

  template <class V>
  void fields(V& v) {
    v.field(
        "devices", devices,
        "A YAML file of devices and links, one that is built in, or cores:N or streams:N: cores "
        "of this machine or streams of its GPU, which run what is placed");
    v.field("max_groups", max_groups,
            "Groups of operators that are placed, at most; larger graphs have larger ones",
            at_least(1));
    input.fields(v);
    environment.fields(v);
  }
};

}  // namespace reverie
