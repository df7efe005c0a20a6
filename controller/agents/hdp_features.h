#pragma once

#include <cstdint>

#include "controller/agents/placed_groups.h"
#include "worldmodel/network/torch.h"

namespace reverie {

// What HDP's two networks read (hdp.h). Cost graphs know no shapes: in the place of their code's
// 5 x 5 dimensions of outputs stand the sizes of up to 5 outputs (PlacedGroups::outputs).

/// Neighbours that the grouper sees of an operator (their code).
inline constexpr int64_t kHdpNeighbours = 20;

/// Of each operator a row for the grouper: how many nodes are of each type (their code gives one
/// number, which orders types that have no order), sizes of outputs, and its neighbours: by place
/// in the topological order from 1 on, over the number of operators, those that it reads of with a
/// minus and first; cut off or padded with 0.
torch::Tensor hdp_operators(const PlacedGroups& operators);

/// Of each group a row for the placer: [groups, kTypes + kOutputs + 2 groups]. How many nodes are
/// of each type; the sums of the sizes of outputs; and how many tensors go to, and how many come
/// from, each group. Each row is divided by its largest entry + 1. Their code adds the sums to the
/// first types' counts, and leaves the columns meant for them 0. `group`: int64 [operators].
torch::Tensor hdp_groups(const PlacedGroups& operators, const torch::Tensor& group, int64_t groups);

}  // namespace reverie
