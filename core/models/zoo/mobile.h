#pragma once

#include "core/models/zoo/net.h"

namespace reverie::zoo {

/// MobileNetV3-small up to its last convolution: 576 channels at a 32nd of the size. `low`: what
/// its third block gives, 24 channels at an eighth.
Value mobilenet_v3_features(Net& net, Value x, Value* low = nullptr);
/// MobileNetV2 up to its last convolution: 1280 channels at a 32nd of the size.
Value mobilenet_v2_features(Net& net, Value x);

}  // namespace reverie::zoo
