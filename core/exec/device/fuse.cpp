#include "core/exec/device/fuse.h"

namespace reverie {

Graph fused(const Graph& graph) {
  constexpr device::Pattern kInOrder[] = {device::with_attention, device::with_skip_normalization,
                                          device::with_pointwise};
  Graph result = graph;
  for (const device::Pattern pattern : kInOrder) result = pattern(result);
  return result;
}

}  // namespace reverie
