#include <algorithm>
#include <numeric>

#include "core/base/separable_cmaes.h"
#include "core/search/rule_list.h"

namespace reverie {
namespace {

/// The first half of the numbers orders the rules, the larger first; a rule whose number in the
/// second half is above the upper quartile of a standard normal is forced.
RuleList decode(const std::vector<double>& numbers) {
  constexpr double kUpperQuartile = 0.6744897501960817;
  const size_t rules = numbers.size() / 2;
  RuleList list{std::vector<int>(rules), {}};
  std::iota(list.order.begin(), list.order.end(), 0);
  std::stable_sort(list.order.begin(), list.order.end(), [&](int a, int b) {
    return numbers[static_cast<size_t>(a)] > numbers[static_cast<size_t>(b)];
  });
  for (size_t i = 0; i < rules; ++i) list.forced.push_back(numbers[rules + i] > kUpperQuartile);
  return list;
}

/// Tells when the best of a generation has been the same for long (Hansen's tutorial, B.3).
class Stagnation {
 public:
  explicit Stagnation(const SeparableCmaEs& strategy)
      : patience_(10 + 30 * strategy.mean().size() / strategy.population()) {}
  bool after(double best) {
    same_ = best == last_ ? same_ + 1 : 1;
    last_ = best;
    return same_ >= patience_;
  }

 private:
  size_t patience_;
  size_t same_ = 0;
  double last_ = -1;
};

/// From one start until it stagnates; whether there is budget left.
void tune(SearchRun& run, int64_t& left, std::vector<double> mean, Rng rng) {
  SeparableCmaEs strategy(std::move(mean), 1.0);
  Stagnation stagnation(strategy);
  while (left > 0) {
    const auto& points = strategy.ask(rng);
    const int64_t count = std::min(left, static_cast<int64_t>(points.size()));
    std::vector<double> costs(points.size());
    run_walks(run, count, [&](SearchRun& part, int64_t i) {
      const auto place = static_cast<size_t>(i);
      costs[place] = run_list(part, decode(points[place])).least_cost();
    });
    left -= count;
    if (left == 0 || run.out_of_time()) return;
    strategy.tell(costs);
    if (stagnation.after(*std::min_element(costs.begin(), costs.end()))) return;
  }
}

}  // namespace

SearchResult rule_list_cmaes_search(const RewriteState& start, const SearchOptions& options) {
  RewriteRun run(start, options);
  const Rng seeds(options.seed);
  const auto size = static_cast<size_t>(start.rules().size()) * 2;
  if (options.budget > 0) begin_greedily(run);
  int64_t left = options.budget - 1;
  for (uint64_t restart = 0; left > 0 && size > 0 && !run.out_of_time(); ++restart) {
    Rng rng = seeds.fork(restart);
    std::vector<double> mean(size, 0.0);
    if (restart > 0)
      for (double& number : mean) number = rng.normal();
    tune(run, left, std::move(mean), rng);
  }
  if (!run.out_of_time()) run.out_of_budget();
  return run.finish();
}

}  // namespace reverie
