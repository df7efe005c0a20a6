#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/machine.h"
#include "core/exec/compare.h"
#include "core/onnx/symbols.h"
#include "env/rewrite/optimize/confirm.h"
#include "env/rewrite/optimize/subject.h"
#include "env/rewrite/search/search.h"

namespace reverie {

/// The method that `optimize` takes where none is named.
inline constexpr char kAutomatic[] = "auto";

struct OptimizeConfig {
  std::string method = kAutomatic;
  std::string cost = "cpu";
  RewriteSearchOptions search;
  SolverSettings solvers{"rewrite"};  ///< options of the searches, each in a section of its own
  MeasuredOptions measured;
  CompareOptions verify;
  bool confirm = false;
  int contenders = 4;
  double confirm_seconds = 60;
  int confirm_rounds = 9;
  std::string machine;
  /// Rewrites may fix symbolic dimensions. Otherwise those that do are left out.
  bool fix_shapes = false;
  /// Called after each round that confirms, with their number so far.
  std::function<void(int rounds)> on_round;

  template <class V>
  void fields(V& v) {
    v.field("method", method, "How to search");
    v.field("cost", cost, "Where costs come from: " + known_cost_sources());
    search.fields(v);
    solvers.fields(v);
    v.section("measured", measured, "Search against end-to-end measurements");
    v.field("verify_inputs", verify.inputs,
            "Random inputs on which both graphs are compared; 0: nothing is, and nothing can be "
            "written",
            at_least(0));
    v.field("confirm", confirm,
            "Keep the contender that is fastest end to end, or else the original");
    v.field("contenders", contenders,
            "Graphs of the search that are measured end to end, or written", at_least(1));
    v.field("confirm_seconds", confirm_seconds, "Time of the runs that confirm", at_least(0));
    v.field("confirm_rounds", confirm_rounds,
            "Rounds of the finalists at least, as far as that time goes", at_least(6));
    v.field("machine", machine,
            "Where graphs are measured end to end: " + known_machines() +
                "; empty: where costs are measured, else cpu (auto: ort, where it is installed)");
    v.field("verify_tolerance", verify.tolerance,
            "Largest difference allowed, relative to an output's largest element", above(0));
  }
};

/// By how much of `before` the run time is less, negative where it is more; 0 where `before` costs
/// nothing.
double improvement_percent(const Cost& before, const Cost& after);

/// A graph rewritten, and the proof that it computes the same.
struct Optimized {
  /// With what was confirmed as its best graph; its costs are running costs
  /// (core/cost/cost_model.h), but those of its trace and improvements are what the search added
  /// up.
  SearchResult search;
  Cost promised;  ///< of the best graph before anything was confirmed
  /// Of the original and of the best graph as files hold them (core/search/file_cost.h).
  Cost file_before, file_after;
  bool changed = false;  ///< the file of the best graph differs from the original's
  /// The best graph is the original, and its file is that of the graph as it was read, or has
  /// constant shapes.
  bool simplified = false;
  bool constant_shapes = false;  ///< or has them beside rewrites
  std::string unconfirmed;       ///< auto: why nothing was confirmed end to end; empty where it was
  /// Why rewrites, or contenders that looked faster, were not taken, each one line.
  std::vector<std::string> objections;
  std::vector<Contender> contenders;
  BenchmarkResult benchmark;  ///< contestant 0: the original, i + 1: contenders[i]; empty: not
                              ///< confirmed, or interrupted
  MachineInfo machine;        ///< that held the benchmark
  std::string cost_source;
  int64_t weight_bytes_before = 0;
  int64_t weight_bytes_after = 0;  ///< in the file, where the best graph is written by
                                   ///< RewriteSearchOptions::max_weight_growth
  int64_t cost_lookups = 0;
  int64_t measurements = 0;
  int64_t operators = 0;          ///< distinct ones that a time was asked for
  int64_t peak_memory_bytes = 0;  ///< of the whole process when the search was over
  int64_t estimates = 0;          ///< see CostModel::Counters
  Agreement
      verified;  ///< on no inputs where nothing changed; no agreement where `verify.inputs` is 0

  /// How the file of the best graph was tried with other extents; none where that was not needed.
  std::optional<TriedGraph> tried;

  double improvement_percent() const {
    return reverie::improvement_percent(search.initial_cost, search.best_cost);
  }
  double file_improvement_percent() const {
    return reverie::improvement_percent(file_before, file_after);
  }
};

/// Rewrites the graph by `method`, leaves out rewrites to which there is an objection
/// (core/search/accepted_path.h), and confirms where asked to. An objection is that the graph fixes
/// a symbolic dimension, disagrees with the original, or cannot be compared with it. The time limit
/// holds for finding the rewrites of the start, for the search and for what is compared, but not
/// for what confirms. A fifth of it is kept for comparing; what there is no time for is left out, a
/// first set of inputs excepted, and `verified.left_out` says so.
Optimized optimize(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                   std::shared_ptr<CostModel> cost, const SearchMethod& method,
                   const OptimizeConfig& config);

/// What suits a person with a processor: greedy searches and rule lists with several sets of rules
/// (core/search/automatic.h) make candidates whose weights grow by at most
/// config.search.max_weight_growth. The file of the graph as it was read is one more, and with
/// config.fix_shapes files with constant shapes. The machine `confirming` keeps the one that is
/// fastest end to end beyond its interval, or else the original. Without such a machine the careful
/// rules have to do, each rewrite of which gains by the costs. Objections are as for `optimize`,
/// that outputs differ in the machine is one more, and the one that looks fastest is measured
/// without the rewrites that are to blame. The time limit holds for all of it but the end of a
/// comparison.
Optimized optimize_automatically(const Subject& subject, std::shared_ptr<const RuleSet> rules,
                                 std::shared_ptr<CostModel> cost,
                                 std::shared_ptr<Machine> confirming, const OptimizeConfig& config);

}  // namespace reverie
