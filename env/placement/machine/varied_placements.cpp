#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/random.h"
#include "env/placement/machine/reality_check.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/evaluator.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

class Drawer {
 public:
  Drawer(Simulator& simulator, int count)
      : simulator_(simulator), entities_(simulator.graph()), count_(static_cast<size_t>(count)) {}

  std::vector<DrawnPlacement> draw(uint64_t seed) && {
    add_single_devices();
    const Placement best = add_methods(seed);
    Rng rng(seed);
    for (size_t tries = 0; drawn_.size() < count_ && tries < kTriesEach * count_; ++tries) {
      if (tries % 3 == 0) add("shares", longest_path_first(shares(rng)), Dispatch::kReady);
      if (tries % 3 == 1) add("stretches", longest_path_first(stretches(rng)), Dispatch::kReady);
      if (tries % 3 == 2) add("moves", moved(best, rng), Dispatch::kInOrder);
    }
    if (drawn_.size() > count_) drawn_.resize(count_);
    return std::move(drawn_);
  }

 private:
  static constexpr size_t kTriesEach = 20;

  uint64_t devices() const { return static_cast<uint64_t>(simulator_.topology().size()); }

  void add(const std::string& from, const Placement& placement, Dispatch dispatch) {
    Timeline timeline;
    simulator_.run(placement, dispatch, &timeline);
    if (!seen_.insert(order_by_device(timeline, simulator_.topology().size())).second) return;
    Placement ordered;
    ordered.device = placement.device;
    ordered.priority.resize(placement.device.size());
    int64_t next = 0;
    for (const Timeline::Run& run : timeline.runs)
      ordered.priority[static_cast<size_t>(run.node)] = next--;
    drawn_.push_back({from, std::move(ordered)});
  }

  Placement longest_path_first(std::vector<int> devices) const {
    Placement placement;
    placement.device = std::move(devices);
    placement.priority = path_priorities(simulator_);
    return placement;
  }

  void add_single_devices() {
    for (int device = 0; device < simulator_.topology().size(); ++device)
      add("one_device", on_one_device(simulator_, device), Dispatch::kInOrder);
  }

  /// Returns local search's.
  Placement add_methods(uint64_t seed) {
    constexpr int64_t kEvaluations = 3000;
    const auto run = [&](const PlaceMethod& method) {
      Evaluator evaluator(simulator_.graph(), simulator_.topology(), PlacementObjective::kMakespan,
                          {.evaluations = kEvaluations});
      method.run(evaluator, seed);
      return evaluator.best();
    };
    for (const PlaceMethod& method : place_methods())
      if (!method.searches && method.suits(simulator_.graph()))
        add(method.name, run(method), Dispatch::kInOrder);
    const Placement best = run(place_method(place_methods(), "local"));
    add("local", best, Dispatch::kInOrder);
    return best;
  }

  std::vector<int> shares(Rng& rng) const {
    std::vector<double> until;
    for (uint64_t device = 0; device < devices(); ++device)
      until.push_back((until.empty() ? 0 : until.back()) + std::pow(rng.uniform(), 3));
    std::vector<int> drawn;
    for (int entity = 0; entity < entities_.size(); ++entity) {
      const auto device = std::ranges::upper_bound(until, rng.uniform() * until.back());
      drawn.push_back(static_cast<int>(std::min(device, until.end() - 1) - until.begin()));
    }
    return entities_.spread(drawn);
  }

  std::vector<int> stretches(Rng& rng) const {
    const double change = std::pow(0.5, rng.uniform(0, 8));
    std::vector<int> drawn(static_cast<size_t>(entities_.size()));
    auto device = static_cast<int>(rng.below(devices()));
    for (const int node : simulator_.graph().order()) {
      if (rng.uniform() < change) device = static_cast<int>(rng.below(devices()));
      drawn[static_cast<size_t>(entities_.of(node))] = device;
    }
    return entities_.spread(drawn);
  }

  Placement moved(const Placement& start, Rng& rng) const {
    OrderedPlacement placement(simulator_.graph(), static_cast<int>(devices()), start);
    const double moves = std::pow(2, rng.uniform(0, 6));
    for (int move = 0; move < moves; ++move) {
      const int kind = static_cast<int>(rng.below(OrderedPlacement::kKinds));
      const auto choices = static_cast<uint64_t>(placement.moves(kind));
      if (choices > 0) placement.apply({kind, static_cast<int>(rng.below(choices))});
    }
    return placement.placement();
  }

  Simulator& simulator_;
  PlacementEntities entities_;
  size_t count_;
  std::vector<DrawnPlacement> drawn_;
  std::set<OrderByDevice> seen_;
};

}  // namespace

std::vector<DrawnPlacement> varied_placements(Simulator& simulator, int count, uint64_t seed) {
  return Drawer(simulator, count).draw(seed);
}

}  // namespace reverie
