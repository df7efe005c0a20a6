#pragma once

#include "core/models/zoo/layers.h"

namespace reverie::zoo {

/// He et al. 2015, with groups Xie et al. 2016.
struct ResNet {
  Ints counts;              ///< blocks of each stage
  bool bottleneck = false;  ///< three convolutions a block, four times the channels
  Norm norm = Norm::kKept;
  int64_t groups = 1;
  int64_t group_width = 64;  ///< of the first stage, in a bottleneck
  size_t dilated_from = 4;   ///< stages that dilate instead of striding
  int64_t channels = 64;     ///< of the first stage
};

/// What each stage makes of an image with three channels.
Values resnet_stages(Net& net, const Value& image, const ResNet& options);
/// The channels behind a stage.
int64_t stage_channels(const ResNet& options, size_t stage);

}  // namespace reverie::zoo
