#pragma once

namespace reverie {

// What files that are written tell of their nodes (NodeNames::notes), for people and for viewers
// such as Netron. What an earlier run wrote under such keys is not read.

/// The last rewrite that made the node; of a node of the original there is none. Rewrites of which
/// a file shows nothing (env/rewrite/optimize/file_cost.h) do not count.
inline constexpr char kRuleNote[] = "reverie.rule";
/// Microseconds that the node takes by the costs of the search.
inline constexpr char kCostNote[] = "reverie.cost_us";
/// Where that number is from: "roofline:t4", or "cpu (estimated)" where cpu had none.
inline constexpr char kCostSourceNote[] = "reverie.cost_source";
/// Where it was placed.
inline constexpr char kDeviceNote[] = "reverie.device";

}  // namespace reverie
