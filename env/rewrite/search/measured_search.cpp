#include "env/rewrite/search/measured_search.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/cost/measured.h"
#include "core/search/algorithms.h"
#include "env/rewrite/search/measured_run.h"
#include "env/rewrite/search/rule_list.h"

namespace reverie {
namespace {

/// In a row: walks that end where others did, or rounds of the surrogate that find nothing new.
constexpr int kPatienceOfWalks = 200;
constexpr int kPatienceOfRounds = 5;
constexpr int64_t kExpansionsForEach = 10;

/// A round: the posterior's mean, then samples, each says what to measure. Whether anything was.
bool measure_a_batch(MeasuredRun& run, const SearchMethod& inner, const Rng& rng) {
  const auto fitted = fitted_cost(run.start().shared_cost_model(), run.timed());
  run.note(*fitted);
  bool any = false;
  for (int64_t i = 0; i < run.measured().batch && !run.over(); ++i) {
    const uint64_t seed = rng.fork(static_cast<uint64_t>(i)).bits();
    const std::shared_ptr<CostModel> costs = i == 0 ? fitted : fitted->sample(seed);
    for (const auto& found : run.cheapest(inner, costs, run.measured().inner_budget, seed, 1))
      any |= run.measure(found.path);
  }
  return any;
}

MeasuredArm surrogate(SearchMethod inner) {
  return [inner = std::move(inner)](MeasuredRun& run) {
    const Rng rng(run.options().seed);
    int in_vain = 0;
    for (uint64_t round = 0; in_vain < kPatienceOfRounds && !run.over(); ++round)
      in_vain = measure_a_batch(run, inner, rng.fork(round)) ? 0 : in_vain + 1;
  };
}

/// With `budget_for_each` measurement at least.
MeasuredArm cheapest_within(SearchMethod method, int64_t budget_for_each) {
  return [method = std::move(method), budget_for_each](MeasuredRun& run) {
    const int64_t measurements = run.measured().budget;
    const auto found = run.cheapest(method, run.start().shared_cost_model(),
                                    std::max(run.options().budget, budget_for_each * measurements),
                                    run.options().seed, static_cast<size_t>(measurements));
    for (const auto& state : found) run.measure(state.path);
    run.over();  // says why it ends here
  };
}

void measure_ends(MeasuredRun& run, const std::function<Walk(const Rng& rng)>& walk) {
  const Rng rng(run.options().seed);
  int in_vain = 0;
  for (uint64_t i = 0; in_vain < kPatienceOfWalks && !run.over(); ++i)
    in_vain = run.measure(steps_of(walk(rng.fork(i)).path())) ? 0 : in_vain + 1;
}

void measure_rule_lists(MeasuredRun& run) {
  Walk greedy(run.walks());
  descend(greedy, run.walks());
  run.measure(steps_of(greedy.path()));
  measure_ends(run, [&](const Rng& rng) {
    return run_list(run.walks(), draw_forced_order(run.start().rules().size(), rng));
  });
}

void measure_random_walks(MeasuredRun& run) {
  const size_t steps =
      search::random_walk_length(run.walks().shared_start(), run.options_within(0.5));
  measure_ends(run,
               [&](const Rng& rng) { return search::walk_at_random(run.walks(), steps, rng); });
}

constexpr char kSurrogate[] = "surrogate", kRuleList[] = "rulelist", kRandom[] = "random";

}  // namespace

SearchMethod measured_search(MeasuredArm arm, const MeasuredOptions& measured, NewTimer new_timer) {
  return [arm = std::move(arm), measured, new_timer = std::move(new_timer)](
             const RewriteState& start, const RewriteSearchOptions& options) {
    if (measured.budget < 1)
      throw InputError("a search against measurements needs a budget of them (measured.budget)");
    MeasuredRun run(start, options, measured, new_timer);
    arm(run);
    return run.finish();
  };
}

MeasuredArm measured_arm(const std::string& name, const MeasuredOptions& measured,
                         const SolverSettings& settings) {
  if (name == kSurrogate) return surrogate(method_named(measured.inner, settings));
  if (name == kRuleList) return measure_rule_lists;
  if (name == kRandom) return measure_random_walks;
  return cheapest_within(method_named(name, settings), kExpansionsForEach);
}

MeasuredArm cheapest_of(SearchMethod method) { return cheapest_within(std::move(method), 1); }

std::span<const NamedArm> measured_arms() {
  static const std::vector<NamedArm> named = {
      {kSurrogate, "searches under costs fitted to the measurements so far"},
      {kRuleList, "where random rule lists end"},
      {kRandom, "where random walks end"}};
  return named;
}

NewTimer timer_on(std::shared_ptr<Machine> machine, const MeasuredOptions& options) {
  const EndToEndOptions timing{.repeats = static_cast<int>(options.rounds),
                               .min_seconds = options.seconds,
                               .machine = std::move(machine)};
  return [timing](const Graph& original) {
    const auto timer = std::make_shared<PairedTimer>(original, timing);
    return [timer](const Graph& graph) { return timer->seconds(graph); };
  };
}

}  // namespace reverie
