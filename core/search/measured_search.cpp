#include "core/search/measured_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/cost/measured.h"
#include "core/search/algorithms.h"
#include "core/search/measured_run.h"
#include "core/search/rule_list.h"

namespace reverie {
namespace {

/// In a row: walks that end where others did, or rounds of the surrogate that find nothing new.
constexpr int kPatienceOfWalks = 200;
constexpr int kPatienceOfRounds = 5;
constexpr int64_t kExpansionsForEach = 10;

SearchMethod method_named(std::string_view name) {
  const auto methods = search_methods();
  const auto method = std::find_if(methods.begin(), methods.end(),
                                   [&](const NamedMethod& known) { return known.name == name; });
  REVERIE_CHECK(method != methods.end());
  return method->run;
}

/// A round: the posterior's mean, then samples, each says what to measure. Whether anything was.
bool measure_a_batch(MeasuredRun& run, const SearchMethod& inner, const Rng& rng) {
  const MeasuredOptions& options = run.options().measured;
  const auto fitted = std::make_shared<FittedCost>(run.start().shared_cost_model(), run.timed());
  run.note(*fitted);
  bool any = false;
  for (int64_t i = 0; i < options.batch && !run.over(); ++i) {
    const uint64_t seed = rng.fork(static_cast<uint64_t>(i)).bits();
    const std::shared_ptr<CostModel> costs = i == 0 ? fitted : fitted->sample(seed);
    for (const auto& found : run.cheapest(inner, costs, options.inner_budget, seed, 1))
      any |= run.measure(found.path);
  }
  return any;
}

void dream(MeasuredRun& run) {
  const SearchMethod inner = method_named(name_of(run.options().measured.inner));
  const Rng rng(run.options().seed);
  int in_vain = 0;
  for (uint64_t round = 0; in_vain < kPatienceOfRounds && !run.over(); ++round)
    in_vain = measure_a_batch(run, inner, rng.fork(round)) ? 0 : in_vain + 1;
}

/// With `budget_for_each` measurement at least.
MeasuredArm cheapest_of(SearchMethod method, int64_t budget_for_each) {
  return [method = std::move(method), budget_for_each](MeasuredRun& run) {
    const SearchOptions& options = run.options();
    const int64_t measurements = options.measured.budget;
    const auto found = run.cheapest(method, run.start().shared_cost_model(),
                                    std::max(options.budget, budget_for_each * measurements),
                                    options.seed, static_cast<size_t>(measurements));
    for (const auto& state : found) run.measure(state.path);
    run.over();  // says why it ends here
  };
}

MeasuredArm cheapest_of(std::string_view method) {
  return cheapest_of(method_named(method), kExpansionsForEach);
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
  const size_t steps = random_walk_length(run.walks().shared_start(), run.options_within(0.5));
  measure_ends(run, [&](const Rng& rng) { return walk_at_random(run.walks(), steps, rng); });
}

struct KnownArm {
  NamedArm named;
  MeasuredArm arm;
};

const std::vector<KnownArm>& arms() {
  static const std::vector<KnownArm> known = {
      {{"surrogate", "searches under costs fitted to the measurements so far"}, dream},
      {{"beam", "the cheapest states that beam search comes by"}, cheapest_of("beam")},
      {{"taso", "the cheapest states that taso comes by"}, cheapest_of("taso")},
      {{"greedy", "the cheapest states on greedy's path"}, cheapest_of("greedy")},
      {{"rulelist", "where random rule lists end"}, measure_rule_lists},
      {{"random", "where random walks end"}, measure_random_walks}};
  return known;
}

const MeasuredArm& arm_named(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownArm& known : arms()) {
    if (known.named.name == name) return known.arm;
    names.push_back(known.named.name);
  }
  throw InputError("no search against measurements is called '{}'; known are {}", name,
                   fmt::join(names, ", "));
}

}  // namespace

std::string_view name_of(InnerSearch search) {
  const auto names = enum_names(search);
  return std::find_if(names.begin(), names.end(),
                      [&](const auto& name) { return name.first == search; })
      ->second;
}

SearchMethod measured_search(MeasuredArm arm, NewTimer new_timer) {
  return [arm = std::move(arm), new_timer = std::move(new_timer)](const RewriteState& start,
                                                                  const SearchOptions& options) {
    if (options.measured.budget < 1)
      throw InputError("a search against measurements needs a budget of them (measured.budget)");
    MeasuredRun run(start, options, new_timer);
    arm(run);
    return run.finish();
  };
}

SearchMethod measured_search(const std::string& name, NewTimer new_timer) {
  return measured_search(arm_named(name), std::move(new_timer));
}

SearchMethod measured_search(SearchMethod search, NewTimer new_timer) {
  return measured_search(cheapest_of(std::move(search), 1), std::move(new_timer));
}

std::span<const NamedArm> measured_arms() {
  static const std::vector<NamedArm> named = [] {
    std::vector<NamedArm> result;
    for (const KnownArm& known : arms()) result.push_back(known.named);
    return result;
  }();
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
