#include "env/rewrite/optimize/optimize.h"

#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/stopwatch.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/symbols.h"
#include "core/onnx/unfold.h"
#include "env/rewrite/optimize/accepted_path.h"
#include "env/rewrite/optimize/automatic.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/judge.h"

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

BenchmarkOptions benchmark_options(const OptimizeConfig& config) {
  BenchmarkOptions options;
  options.max_seconds = config.confirm_seconds;
  options.min_rounds = config.confirm_rounds;
  options.max_rounds = std::max(options.max_rounds, options.min_rounds);
  options.seed = config.search.seed;
  options.stop = config.search.stop;
  options.on_round = config.on_round;
  return options;
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
        start_(subject.graph, std::move(rules), cost_),
        judge_(subject, config) {}

  const RewriteState& start() const { return start_; }
  Judge& judge() { return judge_; }
  /// Makes contenders ready, which outlive this; from now on the machine's outputs count, too.
  Contestants& measure(std::vector<Contender>& contenders, Machine& machine) {
    contestants_ = std::make_unique<Contestants>(subject_, contenders, machine);
    judge_.ask(*contestants_);
    return *contestants_;
  }
  double seconds_left(double limit) const { return left_of(limit, watch_); }

  /// Leaves out of `found` what is to blame for an objection, with a line for each in `objections`.
  /// Whether anything was left out.
  bool accept(Contender& found, std::vector<std::string>& objections) {
    if (judge_.objection_to(found.graph).empty()) return false;
    RewriteSearchOptions options = config_.search;
    options.time_limit = judge_.seconds_left();
    if (found.rewrites.empty()) {
      objections.push_back(
          fmt::format("greedy search's result instead: {}", judge_.objection_to(found.graph)));
      RewriteSearchOptions greedy;
      greedy.max_weight_growth = options.max_weight_growth;
      found.rewrites = search_rewrites(start_, greedy, search::Greedy()).rewrites;
    }
    AcceptedPath accepted = accepted_path(
        start_, std::move(found.rewrites),
        [&](const Graph& graph) { return judge_.objection_to(graph); }, options);
    found.graph = std::move(accepted.graph);
    found.cost = accepted.cost;
    found.rewrites = std::move(accepted.rewrites);
    for (std::string& line : accepted.left_out)
      if (std::ranges::find(objections, line) == objections.end())
        objections.push_back(std::move(line));
    return true;
  }

  /// The same for the result of a search, which costs no more than the start.
  void accept(SearchResult& result, std::vector<std::string>& objections) {
    Contender found{result.best, result.best_cost, result.rewrites};
    if (!accept(found, objections)) return;
    result.improvements.clear();
    result.optimal = false;
    take_winner(subject_.graph, {found}, found.cost.runtime < result.initial_cost.runtime ? 1 : 0,
                result);
  }

  /// Among its finalists and the start, the cheapest as it runs becomes the result of a search that
  /// added up costs of single operators.
  void choose_as_run(SearchResult& result, int finalists) {
    if (!cost_->fuses() || result.measured) return;
    std::vector<Contender> all = contenders_of(start_, result, finalists);
    int winner = 0;
    Picoseconds least = running_cost(*cost_, subject_.graph).runtime;
    for (size_t i = 0; i < all.size(); ++i) {
      const Picoseconds runtime = running_cost(*cost_, all[i].graph).runtime;
      if (runtime >= least) continue;
      least = runtime;
      winner = static_cast<int>(i) + 1;
    }
    if (!all.empty() && winner != 1) take_winner(subject_.graph, all, winner, result);
  }
  Cost running(const Graph& graph, const Cost& summed) {
    return cost_->fuses() ? running_cost(*cost_, graph) : summed;
  }

  void finish(Optimized& result) {
    result.search.initial_cost = running(subject_.graph, result.search.initial_cost);
    result.search.best_cost = running(result.search.best, result.search.best_cost);
    for (Contender& contender : result.contenders)
      contender.cost = running(contender.graph, contender.cost);
    result.cost_source = cost_->name();
    result.cost_lookups = cost_->counters().lookups - before_.lookups;
    result.measurements = cost_->counters().measurements - before_.measurements;
    result.estimates = cost_->counters().estimates - before_.estimates;
    result.operators = cost_->counters().operators - before_.operators;
    const FileCosts costs(start_.rules(), cost_);
    const bool rewritten = !same_in_a_file(subject_.graph, result.search.best);
    result.verified = judge_.agreement_of(result.search.best);
    result.tried = judge_.tried(result.search.best);
    result.file_before = costs.of(subject_.graph);
    result.changed = rewritten || result.simplified || result.constant_shapes;
    result.file_after = rewritten ? costs.of(result.search.best) : result.file_before;
    result.weight_bytes_before = subject_.graph.weight_bytes();
    const int64_t most = most_weight_bytes(subject_.graph, config_.search.max_weight_growth);
    result.weight_bytes_after =
        result.changed ? bytes_in_a_file(result.search.best, most) : result.weight_bytes_before;
  }

 private:
  const Subject& subject_;
  const OptimizeConfig& config_;
  std::shared_ptr<CostModel> cost_;
  CostModel::Counters before_;
  Stopwatch watch_;
  RewriteState start_;
  Judge judge_;
  std::unique_ptr<Contestants> contestants_;
};

/// A benchmark needs at least so many rounds for an interval (core/cost/paired_benchmark.h), and
/// warms up.
constexpr double kRounds = 6;
constexpr double kWarmUpTurns = 2;
/// Of the final: the original, and the one that looked fastest so far. A choice among several
/// intervals would favour the luckiest; so many rounds of the screening, where there is time, say
/// who that is.
constexpr int kFinalists = 1;
constexpr int kScreening = 6;

/// Seconds for a benchmark, of which `checks` may go by as contestants are admitted, and what one
/// contestant takes to be made ready and to run.
struct BenchmarkTime {
  double all, checks, ready, run;
};

/// Turns so that the final takes a share of the time and the screening ends in time for it and for
/// checks; less than one where that cannot be.
BenchmarkOptions fitted_to(BenchmarkOptions options, const BenchmarkTime& time, double share) {
  constexpr double kRuns = kRounds * (kFinalists + 1);
  const double both = time.all - time.checks;
  options.finalists = kFinalists;
  options.screening = kScreening;
  const double turns = (share * both / kRuns - time.ready) / time.run - kWarmUpTurns;
  options.turns = static_cast<int>(std::clamp<double>(turns, 0, options.turns));
  options.round_seconds = std::min(options.round_seconds, share * both / kRounds);
  const double final = kRuns * (time.ready + (options.turns + kWarmUpTurns) * time.run);
  options.screening_seconds =
      std::max(both - std::max(final, kRounds * options.round_seconds), 1e-9);
  options.max_seconds = std::max(time.all, 1e-9);
  return options;
}

BenchmarkTime time_of_original(Contestants& contestants, double seconds, double checks) {
  const Stopwatch watch;
  contestants.ready(0);  // the first one starts the machine as well
  const Stopwatch of_ready;
  const auto original = contestants.ready(0);
  const double ready = of_ready.seconds();
  original->seconds_of_run();
  const Stopwatch of_run;
  const double run = std::max(original->seconds_of_run(), of_run.seconds());
  return {seconds - watch.seconds(), checks, ready, run};
}

/// Where there is no time to screen contenders, the first one alone goes to the final.
BenchmarkOptions options_within(const BenchmarkTime& time, const OptimizeConfig& config,
                                std::vector<Contender>& contenders) {
  BenchmarkOptions options = fitted_to(benchmark_options(config), time, 0.5);
  if (options.turns < 1) {
    contenders.erase(contenders.begin() + 1, contenders.end());
    options = fitted_to(benchmark_options(config), time, 1);
  }
  if (options.turns < 1)
    throw InputError(
        "a run takes {:.2g} s, so that confirming takes more than the {:.0f} s that are left: "
        "give more by --time-limit",
        time.run, time.all - time.checks);
  return options;
}

/// Runs the benchmark within `seconds`; who won it. `result.unconfirmed` says why there was none.
/// `checks`: seconds that `admit` may take.
int confirm_within(Contestants& contestants, Machine& machine, const OptimizeConfig& config,
                   double seconds, double checks, std::function<bool(int)> admit,
                   Optimized& result) {
  if (result.contenders.empty()) return 0;
  try {
    const BenchmarkTime time = time_of_original(contestants, seconds, checks);
    BenchmarkOptions options = options_within(time, config, result.contenders);
    options.admit = std::move(admit);
    const BenchmarkResult benchmark =
        confirm_end_to_end(contestants, static_cast<int>(result.contenders.size()), options);
    if (options.stop.requested()) throw InputError("interrupted");
    result.benchmark = benchmark;
    result.machine = machine.info();
  } catch (const InputError& error) {
    result.unconfirmed = error.what();
  }
  return result.benchmark.winner;
}

std::vector<Contender> changed_contenders(const Graph& original,
                                          std::vector<Candidate> candidates) {
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

/// Contenders in which nothing is rewritten: the file as importing alone makes it, and where that
/// is allowed, files with constant shapes of it and of the contender that costs least.
void add_unrewritten(const Subject& subject, const Cost& cost, const Machine& machine,
                     const OptimizeConfig& config, std::vector<Contender>& contenders) {
  if (subject.model == nullptr || !machine.runs_files()) return;
  const Contender simplified{subject.graph, cost, {}, "simplified alone", true};
  std::vector<Contender> bases = {simplified};
  if (!contenders.empty())
    bases.push_back(*std::ranges::min_element(
        contenders, {}, [](const Contender& contender) { return contender.cost.runtime.count; }));
  if (subject.model->nodes != written_nodes(subject.graph)) contenders.push_back(simplified);
  if (!config.fix_shapes || symbols_of(*subject.model).empty() ||
      !subject.model->info.data_extents.empty())
    return;
  for (Contender& base : bases) {
    base.rules += base.rules.empty() ? "constant shapes" : ", constant shapes";
    base.constant_shapes = true;
    contenders.push_back(std::move(base));
  }
}

/// Makes a contender what nothing speaks against. Whether it is another one than the original then.
bool admitted(const Subject& subject, int contestant, Optimization& optimization,
              Contestants& contestants, Optimized& result) {
  Contender& contender = result.contenders[static_cast<size_t>(contestant - 1)];
  std::string objection;
  try {
    if (contender.simplified) objection = optimization.judge().objection_to_file(contestant);
    if (objection.empty() && optimization.accept(contender, result.objections))
      contestants.renew(contestant);
  } catch (const InputError& error) {
    objection = error.what();
  }
  if (!objection.empty())
    result.objections.push_back(
        fmt::format("contender {} is not taken: {}", contestant, objection));
  if (!objection.empty()) return false;
  if (contender.simplified || contender.constant_shapes) return true;
  return contestants.are_files() ? !same_in_a_file(subject.graph, contender.graph)
                                 : !isomorphic(subject.graph, contender.graph);
}

void take(int winner, const Subject& subject, Optimized& result) {
  take_winner(subject.graph, result.contenders, winner, result.search);
  result.benchmark.winner = winner;
  if (winner == 0) return;
  const Contender& taken = result.contenders[static_cast<size_t>(winner - 1)];
  result.simplified =
      taken.simplified || (taken.constant_shapes && same_in_a_file(subject.graph, taken.graph));
  result.constant_shapes = taken.constant_shapes;
}

/// Takes the contender of a search that is fastest end to end, or else the original; neither after
/// an interrupt.
void confirm(const Subject& subject, Optimization& optimization, Machine& machine,
             const OptimizeConfig& config, Optimized& result) {
  add_unrewritten(subject, optimization.start().cost(), machine, config, result.contenders);
  Contestants& contestants = optimization.measure(result.contenders, machine);
  std::vector<bool> may_win = {true};
  for (int i = 1; i <= std::ssize(result.contenders); ++i)
    may_win.push_back(admitted(subject, i, optimization, contestants, result));
  BenchmarkOptions options = benchmark_options(config);
  options.admit = [&](int contestant) { return may_win[static_cast<size_t>(contestant)]; };
  const BenchmarkResult benchmark =
      confirm_end_to_end(contestants, static_cast<int>(result.contenders.size()), options);
  if (options.stop.requested()) return;
  result.benchmark = benchmark;
  result.machine = machine.info();
  take(benchmark.winner, subject, result);
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
  if (machine != nullptr && !machine->runs_files() && has_opaque_node(subject.graph))
    throw InputError(
        "{} cannot run nodes that are carried through untouched, to confirm; machine ort can "
        "(tools/setup.sh --ort installs it)",
        machine->name());
  Optimized result;  // what is measured stands in there
  Optimization optimization(subject, std::move(rules), std::move(cost), config);
  RewriteSearchOptions options = config.search;
  options.time_limit = optimization.seconds_left((1 - Judge::kShare) * options.time_limit);
  result.search = method(optimization.start(), options);
  result.peak_memory_bytes = peak_memory_bytes();
  optimization.choose_as_run(result.search, config.contenders);
  result.promised = optimization.running(result.search.best, result.search.best_cost);
  optimization.accept(result.search, result.objections);
  result.contenders = contenders_of(optimization.start(), result.search, config.contenders);
  if (config.confirm && !options.stop.requested())
    confirm(subject, optimization, *machine, config, result);
  optimization.finish(result);
  return result;
}

Optimized optimize_automatically(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                                 std::shared_ptr<CostModel> cost,
                                 std::shared_ptr<Machine> confirming,
                                 const OptimizeConfig& config) {
  constexpr double kSearchShare = 0.35;
  const double limit = config.search.time_limit;
  Optimized result;  // what is measured stands in there
  Optimization optimization(subject, std::move(rules), std::move(cost), config);
  RewriteSearchOptions options = config.search;
  options.time_limit = optimization.seconds_left(kSearchShare * limit);
  {
    const Stopwatch watch;
    std::vector<Candidate> candidates =
        automatic_candidates(optimization.start(), options, confirming != nullptr);
    result.search = sum_of(candidates, watch.seconds());
    result.promised = optimization.running(result.search.best, result.search.best_cost);
    result.contenders = changed_contenders(subject.graph, std::move(candidates));
    if (options.stop.requested()) result.search.stopped_by = StoppedBy::kInterrupt;
  }
  result.peak_memory_bytes = peak_memory_bytes();
  if (confirming != nullptr) {
    add_unrewritten(subject, optimization.start().cost(), *confirming, config, result.contenders);
    Contestants& contestants = optimization.measure(result.contenders, *confirming);
    const auto admit = [&](int contestant) {
      return admitted(subject, contestant, optimization, contestants, result);
    };
    take(confirm_within(contestants, *confirming, config, optimization.seconds_left(limit),
                        optimization.judge().seconds_left(), admit, result),
         subject, result);
  } else if (result.contenders.empty()) {
    take(0, subject, result);
  } else {
    optimization.accept(result.search, result.objections);
  }
  optimization.finish(result);
  return result;
}

}  // namespace reverie
