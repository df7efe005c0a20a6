#include "core/search/optimize.h"

#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/scratch_folder.h"
#include "core/base/stopwatch.h"
#include "core/onnx/symbols.h"
#include "core/onnx/unfold.h"
#include "core/search/automatic.h"
#include "core/search/file_cost.h"
#include "core/search/keep_symbols.h"

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

/// Knows which symbolic dimensions a graph's file would lose.
class SymbolKeeper {
 public:
  SymbolKeeper(const Subject& subject, const OptimizeConfig& config) : subject_(subject), verify_(config.verify) {
    watches_ = !config.fix_shapes && subject.model != nullptr && !symbols_of(*subject.model).empty();
    verify_.inputs = std::min(verify_.inputs, 1);
    verify_.extremes = false;
  }

  /// What speaks against writing the graph; empty where it loses none. What stays as it was is the original file.
  std::string objection_to(const Graph& graph) const {
    const std::set<std::string> fixed = lost(graph);
    if (fixed.empty()) return {};
    const auto depends_on_data = [&](const std::string& symbol) {
      return subject_.model->info.data_extents.contains(symbol);
    };
    if (const auto data = std::ranges::find_if(fixed, depends_on_data); data != fixed.end())
      return fmt::format("it fixes extent '{}', which depends on data", *data);
    return fmt::format("it fixes dimension '{}' (--fix-shapes allows that)", fmt::join(fixed, "', '"));
  }

  /// Leaves out rewrites from the first one on that fixes a dimension, where there is a path of them; else all.
  /// Why it does, or nothing.
  std::string keep(const RewriteState& start, SearchResult& result) const {
    const std::string objection = objection_to(result.best);
    if (objection.empty()) return {};
    const size_t found = result.rewrites.size();
    const LostSymbols lost_of = [&](const Graph& graph) { return lost(graph); };
    result.rewrites.resize(rewrites_that_keep_symbols(start, result.rewrites, lost_of));
    result.improvements.clear();
    result.optimal = false;
    if (result.rewrites.empty()) {
      take_winner(subject_.graph, {}, 0, result);
      return fmt::format("the result is not taken: {}", objection);
    }
    const RewriteState kept = replay(start, result.rewrites);
    result.best = kept.graph();
    result.best_cost = kept.cost();
    return fmt::format("the last {} of {} rewrites are left out; with the next one, {}",
                       found - result.rewrites.size(), found, objection);
  }

 private:
  std::set<std::string> lost(const Graph& graph) const {
    if (!watches_ || same_in_a_file(subject_.graph, graph)) return {};
    return lost_symbols(subject_.file, *subject_.model, graph, scratch_.path() / "trial.onnx", verify_);
  }

  const Subject& subject_;
  CompareOptions verify_;
  bool watches_ = false;
  ScratchFolder scratch_;
};

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
        symbols_(subject, config) {}

  const RewriteState& start() const { return start_; }
  const SymbolKeeper& symbols() const { return symbols_; }
  double seconds_left(double limit) const { return left_of(limit, watch_); }

  void finish(Optimized& result) const {
    result.cost_source = cost_->name();
    result.cost_lookups = cost_->counters().lookups - before_.lookups;
    result.measurements = cost_->counters().measurements - before_.measurements;
    result.estimates = cost_->counters().estimates - before_.estimates;
    result.operators = cost_->counters().operators - before_.operators;
    const FileCosts costs(start_.rules(), cost_);
    result.file_before = costs.of(subject_.graph);
    result.changed = !same_in_a_file(subject_.graph, result.search.best);
    result.file_after = result.changed ? costs.of(result.search.best) : result.file_before;
    result.weight_bytes_before = subject_.graph.weight_bytes();
    const int64_t most = most_weight_bytes(subject_.graph, config_.search.max_weight_growth);
    result.weight_bytes_after =
        result.changed ? bytes_in_a_file(result.search.best, most) : result.weight_bytes_before;
  }

  Agreement verify(const Graph& candidate) const {
    return config_.verify.inputs > 0 ? compare(subject_.graph, candidate, config_.verify) : Agreement();
  }

 private:
  const Subject& subject_;
  const OptimizeConfig& config_;
  std::shared_ptr<CostModel> cost_;
  CostModel::Counters before_;
  Stopwatch watch_;
  RewriteState start_;
  SymbolKeeper symbols_;
};

/// A benchmark needs at least so many rounds for an interval (core/cost/paired_benchmark.h), and warms up.
constexpr double kRounds = 6;
constexpr double kWarmUpTurns = 2;
/// Of the final: the original, and the one that looked fastest so far. A choice among several intervals would favour
/// the luckiest.
constexpr int kFinalists = 1;

/// On outputs in the runtime, which computes in the declared types.
double runtime_tolerance(const Graph& graph) {
  constexpr double kSingle = 1e-4, kHalf = 1e-2;
  const auto is_half = [&](NodeId node) {
    return std::ranges::any_of(output_types(graph, node), [](const TensorType& type) {
      return type.dtype == DType::kFloat16 || type.dtype == DType::kBFloat16;
    });
  };
  const std::vector<NodeId> nodes = graph.nodes();
  return std::ranges::any_of(nodes, is_half) ? kHalf : kSingle;
}

/// Turns so that the final takes half of `seconds` and the screening ends in time for it; less than one where that
/// cannot be. `run` and `ready`: seconds that one contestant takes.
BenchmarkOptions fitted_to(BenchmarkOptions options, double seconds, double run, double ready) {
  constexpr double kRuns = kRounds * (kFinalists + 1);
  options.finalists = kFinalists;
  const double turns = (seconds / 2 / kRuns - ready) / run - kWarmUpTurns;
  options.turns = static_cast<int>(std::clamp<double>(turns, 0, options.turns));
  options.round_seconds = std::min(options.round_seconds, seconds / 2 / kRounds);
  const double final = kRuns * (ready + (options.turns + kWarmUpTurns) * run);
  options.max_seconds = std::max(seconds - std::max(final, kRounds * options.round_seconds), 1e-9);
  return options;
}

/// Runs the benchmark within `seconds`; who won it. `result.unconfirmed` says why there was none.
int confirm_within(Contestants& contestants, Machine& machine, const OptimizeConfig& config, double seconds,
                   Optimized& result) {
  if (result.contenders.empty()) return 0;
  try {
    const Stopwatch watch;
    const auto original = contestants.ready(0);
    const double ready = watch.seconds();
    original->seconds_of_run();
    const Stopwatch of_run;
    const double run = std::max(original->seconds_of_run(), of_run.seconds());
    const BenchmarkOptions options =
        fitted_to(benchmark_options(config), seconds - watch.seconds(), run, ready);
    if (options.turns < 1)
      throw InputError("a run takes {:.2g} s, so that confirming takes more than the {:.0f} s that are left: "
                       "give more by --time-limit", run, seconds);
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
  if (machine != nullptr && !machine->runs_files() && has_opaque_node(subject.graph))
    throw InputError("{} cannot run nodes that are carried through untouched, to confirm; machine ort can "
                     "(tools/setup.sh --ort installs it)", machine->name());
  const Optimization optimization(subject, std::move(rules), std::move(cost), config);
  SearchOptions options = config.search;
  options.time_limit = optimization.seconds_left(options.time_limit);
  Optimized result;
  result.search = method(optimization.start(), options);
  if (std::string left_out = optimization.symbols().keep(optimization.start(), result.search); !left_out.empty())
    result.objections.push_back(std::move(left_out));
  result.peak_memory_bytes = peak_memory_bytes();
  result.promised = result.search.best_cost;
  result.contenders = contenders_of(optimization.start(), result.search, config.contenders);
  if (config.confirm && !options.stop.requested()) {
    Contestants contestants(subject, result.contenders, *machine);
    const BenchmarkResult benchmark = confirm_end_to_end(
        contestants, static_cast<int>(result.contenders.size()), benchmark_options(config));
    if (!options.stop.requested()) {
      result.benchmark = benchmark;
      result.machine = machine->info();
      take_winner(subject.graph, result.contenders, benchmark.winner, result.search);
    }
  }
  result.verified = optimization.verify(result.search.best);
  optimization.finish(result);
  return result;
}

/// Why a contender cannot be taken; empty where it can. Sets result.verified.
std::string objection_to(int winner, const Optimization& optimization, Contestants* contestants,
                         const OptimizeConfig& config, Optimized& result) {
  const Graph& graph = result.contenders[static_cast<size_t>(winner - 1)].graph;
  if (contestants != nullptr)
    if (const double error = contestants->difference(winner); !(error <= runtime_tolerance(graph)))
      return fmt::format("in the runtime its outputs differ by {:.2g} of the largest element", error);
  if (std::string objection = optimization.symbols().objection_to(graph); !objection.empty()) return objection;
  result.verified = optimization.verify(graph);
  if (config.verify.inputs == 0 || result.verified.agree) return {};
  return result.verified.disagree() ? result.verified.reason
                                    : fmt::format("not verified: {}", result.verified.not_run);
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
  std::optional<Contestants> contestants;
  int winner = result.contenders.empty() ? 0 : 1;
  if (confirming != nullptr) {
    contestants.emplace(subject, result.contenders, *confirming);
    const double left = optimization.seconds_left((1 - kVerifyShare) * limit);
    winner = confirm_within(*contestants, *confirming, config, left, result);
  }
  if (winner > 0) {
    const std::string objection =
        objection_to(winner, optimization, contestants ? &*contestants : nullptr, config, result);
    if (!objection.empty()) {
      result.objections.push_back(fmt::format("contender {} is not taken: {}", winner, objection));
      winner = 0;
    }
  }
  take_winner(subject.graph, result.contenders, winner, result.search);
  result.benchmark.winner = winner;
  optimization.finish(result);
  return result;
}

}  // namespace reverie
