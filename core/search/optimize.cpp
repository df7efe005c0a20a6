#include "core/search/optimize.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "core/base/stopwatch.h"
#include "core/search/automatic.h"
#include "core/search/file_cost.h"

namespace reverie {
namespace {

/// What is left of a limit; 0 still means none.
double left_of(double time_limit, const Stopwatch& watch) {
  constexpr double kNoTime = 1e-9;
  return time_limit > 0 ? std::max(time_limit - watch.seconds(), kNoTime) : 0;
}

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr int64_t kKibibyte = 1024;
  return usage.ru_maxrss * kKibibyte;
}

ContestOptions contest_options(const OptimizeConfig& config) {
  ContestOptions options;
  options.max_seconds = config.confirm_seconds;
  options.min_sittings = config.confirm_sittings;
  options.max_sittings = std::max(options.max_sittings, options.min_sittings);
  options.seed = config.search.seed;
  options.stop = config.search.stop;
  options.on_sitting = config.on_sitting;
  return options;
}

/// `contestants` are those of the subject and of result.contenders.
/// False where it was interrupted.
bool confirm(const Subject& subject, Contestants& contestants, Machine& machine,
             const ContestOptions& options, Optimized& result) {
  const ContestResult contest =
      confirm_end_to_end(contestants, static_cast<int>(result.contenders.size()), options);
  if (options.stop.requested()) return false;
  result.contest = contest;
  result.machine = machine.info();
  take_winner(subject.graph, result.contenders, contest.winner, result.search);
  return true;
}

/// One optimization from its first look at costs to its verification.
class Optimization {
 public:
  Optimization(const Subject& subject, std::shared_ptr<const RuleSet> rules,
               std::shared_ptr<CostModel> cost, const OptimizeConfig& config)
      : subject_(subject),
        config_(config),
        cost_(std::move(cost)),
        before_(cost_->counters()),
        start_(subject.graph, std::move(rules), cost_) {}

  const RewriteState& start() const { return start_; }
  double seconds_left(double limit) const { return left_of(limit, watch_); }

  void finish(Optimized& result) const {
    const FileCosts costs(start_.rules(), cost_);
    result.file_before = costs.of(subject_.graph);
    result.changed = !same_in_a_file(subject_.graph, result.search.best);
    result.file_after = result.changed ? costs.of(result.search.best) : result.file_before;
    result.cost_source = cost_->name();
    result.cost_lookups = cost_->counters().lookups - before_.lookups;
    result.measurements = cost_->counters().measurements - before_.measurements;
    result.estimates = cost_->counters().estimates - before_.estimates;
    result.operators = cost_->counters().operators - before_.operators;
    result.weight_bytes_before = subject_.graph.weight_bytes();
    result.weight_bytes_after = result.search.best.weight_bytes();
    if (config_.verify.inputs > 0)
      result.verified = compare(subject_.graph, result.search.best, config_.verify);
  }

 private:
  const Subject& subject_;
  const OptimizeConfig& config_;
  std::shared_ptr<CostModel> cost_;
  CostModel::Counters before_;
  Stopwatch watch_;
  RewriteState start_;
};

/// Contests need at least so many sittings for an interval (core/cost/contest.h), and warm up.
constexpr double kSittings = 6;
constexpr double kWarmUpRounds = 2;

/// Rounds and finalists so that the final takes half of `seconds` and the screening ends in time for it; no
/// finalists where that cannot be. `run` and `ready`: seconds that one contestant takes.
ContestOptions fitted_to(ContestOptions options, double seconds, double run, double ready) {
  const int most_rounds = options.rounds;
  for (; options.finalists > 0; --options.finalists) {
    const double runs = kSittings * (options.finalists + 1);
    const double rounds = (seconds / 2 / runs - ready) / run - kWarmUpRounds;
    options.rounds = std::min(most_rounds, static_cast<int>(rounds));
    if (options.rounds < 1) continue;
    options.sitting_seconds = std::min(options.sitting_seconds, seconds / 2 / kSittings);
    const double final = runs * (ready + (options.rounds + kWarmUpRounds) * run);
    options.max_seconds = std::max(seconds - std::max(final, kSittings * options.sitting_seconds), 1e-9);
    break;
  }
  return options;
}

/// Keeps the fastest contender, or the original; `result.unconfirmed` says why nothing was confirmed.
void confirm_within(const Subject& subject, Machine& machine, const OptimizeConfig& config, double seconds,
                    Optimized& result) {
  Contestants contestants(subject, result.contenders, machine);
  const auto keep_original = [&](std::string why) {
    result.unconfirmed = std::move(why);
    take_winner(subject.graph, result.contenders, 0, result.search);
  };
  if (result.contenders.empty()) return keep_original({});
  try {
    const Stopwatch watch;
    const auto original = contestants.ready(0);
    const double ready = watch.seconds();
    original->seconds_of_run();
    const double run = original->seconds_of_run();
    const ContestOptions options =
        fitted_to(contest_options(config), seconds - watch.seconds(), run, ready);
    if (options.finalists == 0)
      return keep_original(fmt::format("a run takes {:.2g} s, so that confirming takes more than the {:.0f} s that "
                                       "are left: give more by --time-limit", run, seconds));
    if (!confirm(subject, contestants, machine, options, result)) keep_original("interrupted");
  } catch (const InputError& error) {
    keep_original(error.what());
  }
}

std::vector<Contender> changed_contenders(const Graph& original, std::vector<Candidate> candidates) {
  std::vector<Contender> contenders;
  for (Candidate& candidate : candidates)
    if (!same_in_a_file(original, candidate.result.best))
      contenders.push_back({std::move(candidate.result.best), candidate.result.best_cost,
                            std::move(candidate.result.rewrites), std::move(candidate.rules)});
  return contenders;
}

/// What all of them did; the result is that of the first.
SearchResult sum_of(const std::vector<Candidate>& candidates, double seconds) {
  SearchResult total = candidates.front().result;
  for (size_t i = 1; i < candidates.size(); ++i) {
    const SearchResult& other = candidates[i].result;
    total.expansions += other.expansions;
    total.candidates += other.candidates;
    total.steps += other.steps;
  }
  total.seconds = seconds;
  return total;
}

}  // namespace

double improvement_percent(const Cost& before, const Cost& after) {
  const auto initial = static_cast<double>(before.runtime.count);
  const auto left = static_cast<double>(after.runtime.count);
  return initial > 0 ? 100.0 * (initial - left) / initial : 0.0;
}

Optimized optimize(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                   std::shared_ptr<CostModel> cost, const SearchMethod& method,
                   const OptimizeConfig& config) {
  std::shared_ptr<Machine> machine;  // one that is not there is refused before the search
  if (config.confirm) machine = machine_beside(config.machine, config.cost);
  const Optimization optimization(subject, std::move(rules), std::move(cost), config);
  SearchOptions options = config.search;
  options.time_limit = optimization.seconds_left(options.time_limit);
  Optimized result;
  result.search = method(optimization.start(), options);
  result.peak_memory_bytes = peak_memory_bytes();
  result.promised = result.search.best_cost;
  result.contenders = contenders_of(optimization.start(), result.search, config.contenders);
  if (config.confirm && !options.stop.requested()) {
    Contestants contestants(subject, result.contenders, *machine);
    confirm(subject, contestants, *machine, contest_options(config), result);
  }
  optimization.finish(result);
  return result;
}

Optimized optimize_automatically(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                                 std::shared_ptr<CostModel> cost, std::shared_ptr<Machine> confirming,
                                 const OptimizeConfig& config) {
  constexpr double kSearchShare = 0.35, kVerifyShare = 0.2;
  const double limit = config.search.time_limit;
  const Optimization optimization(subject, std::move(rules), std::move(cost), config);
  SearchOptions options = config.search;
  options.time_limit = optimization.seconds_left(kSearchShare * limit);
  Optimized result;
  {
    const Stopwatch watch;
    std::vector<Candidate> candidates =
        automatic_candidates(optimization.start(), options, confirming != nullptr);
    result.search = sum_of(candidates, watch.seconds());
    result.promised = result.search.best_cost;
    result.contenders = changed_contenders(subject.graph, std::move(candidates));
  }
  result.peak_memory_bytes = peak_memory_bytes();
  if (confirming != nullptr) {
    const double left = optimization.seconds_left((1 - kVerifyShare) * limit);
    confirm_within(subject, *confirming, config, left, result);
  }
  optimization.finish(result);
  if (config.verify.inputs > 0 && !result.verified.agree) {
    take_winner(subject.graph, result.contenders, 0, result.search);
    result.changed = false;
    result.file_after = result.file_before;
  }
  return result;
}

}  // namespace reverie
