#include "core/search/confirm.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"

namespace reverie {
namespace {

class MachineSitting : public Sitting {
 public:
  MachineSitting(const std::vector<const Graph*>& graphs, std::span<const int> contestants,
                 Machine& machine) {
    for (const int contestant : contestants)
      ready_[contestant] = machine.ready(*graphs[static_cast<size_t>(contestant)]);
  }

  double run(int contestant) override { return ready_.at(contestant)->seconds_of_run(); }
  int fallbacks(int contestant) const override { return ready_.at(contestant)->fallbacks(); }

 private:
  std::map<int, std::unique_ptr<ReadyGraph>> ready_;
};

bool is_new(const std::vector<Contender>& known, const Graph& graph) {
  return std::none_of(known.begin(), known.end(), [&](const Contender& contender) {
    return isomorphic(contender.graph, graph);
  });
}

/// The improvement whose cost is closest to `cost`.
const Improvement& closest(const std::vector<Improvement>& improvements, double cost) {
  const auto distance = [&](const Improvement& improvement) {
    return std::abs(static_cast<double>(improvement.cost.runtime.count) - cost);
  };
  return *std::min_element(
      improvements.begin(), improvements.end(),
      [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
}

}  // namespace

std::vector<Contender> contenders_of(const RewriteState& start, const SearchResult& result,
                                     int count) {
  std::vector<Contender> contenders;
  if (count < 1 || isomorphic(result.best, start.graph())) return contenders;
  contenders.push_back({result.best, result.best_cost, result.rewrites});
  const auto before = static_cast<double>(result.initial_cost.runtime.count);
  const auto after = static_cast<double>(result.best_cost.runtime.count);
  for (int i = 1; i < count && !result.improvements.empty(); ++i) {
    const double share = static_cast<double>(i) / count;
    const Improvement& found = closest(result.improvements, after + share * (before - after));
    const Graph graph = found.graph ? *found.graph : replay(start, found.rewrites).graph();
    if (is_new(contenders, graph)) contenders.push_back({graph, found.cost, found.rewrites});
  }
  return contenders;
}

ContestResult confirm_end_to_end(const Graph& original, const std::vector<Contender>& contenders,
                                 Machine& machine, const ContestOptions& options) {
  std::vector<const Graph*> graphs = {&original};
  for (const Contender& contender : contenders) graphs.push_back(&contender.graph);
  const NewSitting new_sitting = [&](std::span<const int> contestants) {
    return std::make_unique<MachineSitting>(graphs, contestants, machine);
  };
  return hold_contest(static_cast<int>(graphs.size()), new_sitting, options);
}

void take_winner(const Graph& original, const std::vector<Contender>& contenders, int winner,
                 SearchResult& result) {
  if (winner > 0) {
    const Contender& contender = contenders[static_cast<size_t>(winner - 1)];
    result.best = contender.graph;
    result.best_cost = contender.cost;
    result.rewrites = contender.rewrites;
  } else {
    result.best = original;
    result.best_cost = result.initial_cost;
    result.rewrites.clear();
  }
  if (!contenders.empty()) result.optimal &= winner == 1;
}

}  // namespace reverie
