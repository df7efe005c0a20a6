#include "env/placement/search/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/placement_problem.h"

namespace reverie {
namespace {

/// The search's time is the evaluator's budget, from the best device on to where it is spent.
void search_from_one_device(Evaluator& evaluator, uint64_t seed, const Search& search) {
  each_device(evaluator);
  if (evaluator.spent()) return;
  const std::shared_ptr<Evaluator> shared(std::shared_ptr<void>(), &evaluator);
  const auto start = std::make_shared<PlacementProblem>(shared, Placement(evaluator.best()));
  constexpr double kOver = 2;  // whenever the search's clock began
  const auto used = [&] { return evaluator.spent() ? kOver : evaluator.used(); };
  const SearchOptions options{.budget = int64_t{1} << 40,
                              .time_limit = std::max(1 - evaluator.used(), 1e-9),
                              .seed = seed,
                              .clock = used};
  SearchRun run(start, options);
  if (!evaluator.spent()) search(run);
}

}  // namespace

PlaceMethod search_method(std::string name, std::string what, Search search) {
  return {std::move(name), std::move(what),
          [search = std::move(search)](Evaluator& evaluator, uint64_t seed) {
            search_from_one_device(evaluator, seed, search);
          }};
}

const PlaceMethod& place_method(std::span<const PlaceMethod> methods, const std::string& name) {
  const auto found = std::ranges::find(methods, name, &PlaceMethod::name);
  if (found != methods.end()) return *found;
  std::vector<std::string> names;
  for (const PlaceMethod& method : methods) names.push_back(method.name);
  throw InputError("no method '{}'; there are {}", name, fmt::join(names, ", "));
}

}  // namespace reverie
