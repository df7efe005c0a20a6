#include "env/placement/search/m_sct.h"

#include <algorithm>
#include <tuple>

#include "env/placement/search/plan.h"

namespace reverie {
namespace {

class Sct {
 public:
  Sct(const Simulator& simulator, const std::vector<int>& favourites, double reserve)
      : simulator_(simulator),
        graph_(simulator.graph()),
        favourites_(favourites),
        ranks_(upward_ranks(simulator, /*with_transfers=*/false)),
        plan_(simulator, reserve),
        ready_(graph_),
        is_ready_(static_cast<size_t>(graph_.size())),
        last_(static_cast<size_t>(simulator.topology().size()), -1) {}

  Placement run() {
    while (!ready_.nodes().empty()) {
      for (const int node : ready_.nodes()) is_ready_[static_cast<size_t>(node)] = true;
      // when, whether it is no favourite, -rank, node, device
      std::tuple<int64_t, bool, Rank, int, int> best{INT64_MAX, true, 0, 0, 0};
      for (const int node : ready_.nodes())
        for (const int device : plan_.choices(node))
          best = std::min(best, {when(node, device), favourite_on(device) != node,
                                 -ranks_[static_cast<size_t>(node)], node, device});
      const int node = std::get<3>(best), device = std::get<4>(best);
      plan_.put(node, device, plan_.earliest(node, device, /*gaps=*/false));
      last_[static_cast<size_t>(device)] = node;
      ready_.done(node);
    }
    return plan_.placement();
  }

 private:
  /// The unplaced favourite of the last node on a device, whose inputs are all computed; -1: none.
  int favourite_on(int device) const {
    const int last = last_[static_cast<size_t>(device)];
    const int favourite = last < 0 ? -1 : favourites_[static_cast<size_t>(last)];
    const bool waits =
        favourite >= 0 && plan_.device(favourite) < 0 && is_ready_[static_cast<size_t>(favourite)];
    return waits ? favourite : -1;
  }

  /// When all that a node reads could be on any device.
  int64_t everywhere(int node) const {
    int64_t time = 0;
    for (int device = 0; device < simulator_.topology().size(); ++device)
      time = std::max(time, plan_.ready(node, device));
    return time;
  }

  /// When a node may start on a device that waits for its favourite.
  int64_t when(int node, int device) const {
    const int64_t start = plan_.earliest(node, device, /*gaps=*/false);
    const int favourite = favourite_on(device);
    if (favourite < 0 || favourite == node) return start;
    const int64_t awake = everywhere(favourite);
    if (plan_.ready(favourite, device) >= awake) return start;
    return std::max(start, std::min(awake, everywhere(node)));
  }

  const Simulator& simulator_;
  const CostGraph& graph_;
  const std::vector<int>& favourites_;
  std::vector<Rank> ranks_;
  Plan plan_;
  ReadyNodes ready_;
  std::vector<bool> is_ready_;
  std::vector<int> last_;  ///< node by device; -1: none
};

}  // namespace

Placement m_sct(const Simulator& simulator, const std::vector<int>& favourites, double reserve) {
  return Sct(simulator, favourites, reserve).run();
}

}  // namespace reverie
