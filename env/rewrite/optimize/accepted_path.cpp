#include "env/rewrite/optimize/accepted_path.h"

#include <fmt/format.h>

#include <set>
#include <span>

#include "core/base/stopwatch.h"

namespace reverie {
namespace {

class Acceptance {
 public:
  Acceptance(const RewriteState& start, const ObjectionTo& objection_to,
             const RewriteSearchOptions& options)
      : start_(start), objection_to_(objection_to), options_(options) {}

  AcceptedPath run(std::vector<RewriteStep> path) {
    std::vector<std::string> left_out;
    std::set<int> barred;
    size_t good = 0;  // nothing speaks against so many first rewrites
    while (path.size() > good) {
      std::string objection = objection_to_(replay(start_, path).graph());
      if (objection.empty()) break;
      const size_t bad = bisect(path, good, objection);
      left_out.push_back(description(path, good, bad, objection));
      barred.insert(path[good].rule);
      const std::vector<RewriteStep> rest(path.begin() + static_cast<int64_t>(good), path.end());
      path.resize(good);
      if (!out_of_time()) go_on(path, rest, barred);
    }
    const RewriteState end = replay(start_, path);
    return {std::move(path), end.graph(), end.cost(), std::move(left_out)};
  }

 private:
  bool out_of_time() const {
    return options_.stop.requested() ||
           (options_.time_limit > 0 && watch_.seconds() > options_.time_limit);
  }

  /// Raises `good`, the number of first rewrites that nothing speaks against, and gives a number of
  /// them to which `objection` becomes that: one more, unless there is no time.
  size_t bisect(std::span<const RewriteStep> path, size_t& good, std::string& objection) const {
    size_t bad = path.size();
    while (bad - good > 1 && !out_of_time()) {
      const size_t middle = good + (bad - good) / 2;
      std::string found = objection_to_(replay(start_, path.first(middle)).graph());
      if (found.empty()) {
        good = middle;
      } else {
        bad = middle;
        objection = std::move(found);
      }
    }
    return bad;
  }

  std::string description(std::span<const RewriteStep> path, size_t good, size_t bad,
                          const std::string& why) const {
    if (bad - good > 1)
      return fmt::format(
          "the last {} of {} rewrites are left out, as no time was left to find out which one is "
          "to blame: {}",
          path.size() - good, path.size(), why);
    return fmt::format("rewrite {} of {}, by {}, is left out: {}", bad, path.size(),
                       start_.rules().name(path[good].rule), why);
  }

  /// Appends what greedy search finds with the rules of `rest` that are not barred.
  void go_on(std::vector<RewriteStep>& path, std::span<const RewriteStep> rest,
             const std::set<int>& barred) const {
    RuleSet allowed;
    std::set<int> seen = barred;
    for (const RewriteStep& step : rest)
      if (seen.insert(step.rule).second) allowed.add(start_.rules()[step.rule]);
    if (allowed.size() == 0) return;
    const auto rules = std::make_shared<const RuleSet>(std::move(allowed));
    const RewriteState at(replay(start_, path).graph(), rules, start_.shared_cost_model());
    RewriteSearchOptions greedy;
    greedy.stop = options_.stop;
    if (const auto bytes = static_cast<double>(at.graph().weight_bytes()); bytes > 0)
      greedy.max_weight_growth =
          options_.max_weight_growth * static_cast<double>(start_.graph().weight_bytes()) / bytes;
    SearchResult more = search_rewrites(at, greedy, search::Greedy());
    rename_rules(more.rewrites, *rules, start_.rules());
    path.insert(path.end(), more.rewrites.begin(), more.rewrites.end());
  }

  const RewriteState& start_;
  const ObjectionTo& objection_to_;
  const RewriteSearchOptions& options_;
  Stopwatch watch_;
};

}  // namespace

AcceptedPath accepted_path(const RewriteState& start, std::vector<RewriteStep> path,
                           const ObjectionTo& objection_to, const RewriteSearchOptions& options) {
  return Acceptance(start, objection_to, options).run(std::move(path));
}

void rename_rules(std::vector<RewriteStep>& steps, const RuleSet& own, const RuleSet& whole) {
  for (RewriteStep& step : steps) step.rule = whole.find(own.name(step.rule));
}

}  // namespace reverie
