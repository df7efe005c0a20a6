#include "env/placement/search/local_search.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr int kKicks = 4;  ///< random moves after a local optimum

/// A placement that is changed move by move, each of which is evaluated.
class MoveWalk {
 public:
  MoveWalk(Evaluator& evaluator, const Placement& start)
      : evaluator_(&evaluator),
        state_(evaluator.graph(), evaluator.topology().size(), start),
        tried_(state_),
        cost_(evaluator.cost(evaluator.evaluate(state_.placement(), Dispatch::kInOrder))) {
    REVERIE_CHECK(evaluator.budget().evaluations > 0 || evaluator.budget().seconds > 0);
  }

  double cost() const { return cost_; }
  int moves() const {
    int all = 0;
    for (int kind = 0; kind < OrderedPlacement::kKinds; ++kind) all += state_.moves(kind);
    return all;
  }
  PlacementMove move(int number) const {
    int kind = 0;
    for (; number >= state_.moves(kind); ++kind) number -= state_.moves(kind);
    return {kind, number};
  }
  PlacementMove draw(Rng& rng) const {
    return move(static_cast<int>(rng.below(static_cast<uint64_t>(moves()))));
  }
  /// What the move adds to the cost; nothing where it is refused. `take` takes it then.
  std::optional<double> change(const PlacementMove& move) {
    tried_ = state_;
    if (!tried_.apply(move)) return std::nullopt;
    tried_cost_ = evaluator_->cost(evaluator_->evaluate(tried_.placement(), Dispatch::kInOrder));
    return tried_cost_ - cost_;
  }
  void take() {
    std::swap(state_, tried_);
    cost_ = tried_cost_;
  }

 private:
  Evaluator* evaluator_;
  OrderedPlacement state_, tried_;
  double cost_, tried_cost_ = 0;
};

/// Until no move gains anything or the evaluator is spent.
void descend(MoveWalk& walk, const Evaluator& evaluator, Rng& rng) {
  std::vector<int> order(static_cast<size_t>(walk.moves()));
  std::iota(order.begin(), order.end(), 0);
  bool gained = true;
  while (gained) {
    gained = false;
    std::ranges::shuffle(order, rng);
    for (const int number : order) {
      if (evaluator.spent()) return;
      const auto change = walk.change(walk.move(number));
      if (!change || *change > 0) continue;
      gained = gained || *change < 0;
      walk.take();
    }
  }
}

}  // namespace

void local_search(Evaluator& evaluator, const Placement& start, Rng rng) {
  MoveWalk walk(evaluator, start);
  if (walk.moves() == 0) return;
  MoveWalk best = walk;
  while (!evaluator.spent()) {
    descend(walk, evaluator, rng);
    if (walk.cost() <= best.cost()) best = walk;
    walk = best;
    for (int kick = 0; kick < kKicks && !evaluator.spent(); ++kick)
      if (walk.change(walk.draw(rng))) walk.take();
  }
}

}  // namespace reverie
