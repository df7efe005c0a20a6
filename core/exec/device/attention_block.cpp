#include "core/exec/device/attention_block.h"

namespace reverie::device {
namespace {

HeadPlaces places_of(const HeadStrides& strides) {
  return {strides[0], strides[1], strides[2], strides[3]};
}

}  // namespace

AttentionWork work_of(const Attention& call) {
  return {.dtype = call.dtype,
          .outer = call.outer,
          .heads = call.heads,
          .queries = static_cast<int>(call.queries),
          .keys = static_cast<int>(call.keys),
          .depth = static_cast<int>(call.depth),
          .width = static_cast<int>(call.width),
          .scale = static_cast<float>(call.scale),
          .q = places_of(call.q),
          .k = places_of(call.k),
          .v = places_of(call.v),
          .mask = places_of(call.mask),
          .result = places_of(call.result),
          .has_mask = call.has_mask};
}

}  // namespace reverie::device
