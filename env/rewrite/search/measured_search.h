#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/cost/machine.h"
#include "core/cost/timing.h"
#include "env/rewrite/search/measured_options.h"
#include "env/rewrite/search/search.h"
#include "env/solver.h"

namespace reverie {

/// Seconds of one run of a whole graph: comparable among all graphs measured, however long that
/// takes.
using TimeGraph = std::function<MedianInterval(const Graph& graph)>;
/// Makes ready to measure rewrites of a graph.
using NewTimer = std::function<TimeGraph(const Graph& original)>;

class MeasuredRun;  // env/rewrite/search/measured_run.h
/// Chooses what to measure until the run is over, or it finds nothing new.
using MeasuredArm = std::function<void(MeasuredRun& run)>;

/// Searches for the graph that is measured fastest end to end, within `measured.budget`
/// measurements, the original's being the first.
///
/// None measures a graph twice before the end; then the three fastest are measured again
/// (`measured.again`). Exhausted where nothing new comes up.
///
/// The result is the graph with the least mean of measurements, the original where that is it;
/// `measured` holds the trace. Costs in the result are those of the start's cost model, and may be
/// above the start's. Picked for being measured fastest it looks faster than it is: what it gains
/// is for a benchmark (confirm_end_to_end) to say. Deterministic where the measurements are.
/// Measures, and searches, on the calling thread. InputError where the budget is 0.
SearchMethod measured_search(MeasuredArm arm, const MeasuredOptions& measured, NewTimer new_timer);

/// What to measure, by name:
///
///   surrogate  the dream of exact transitions and learned rewards: FittedCost is fitted to what
///              was measured, its posterior mean and draws from the posterior (Thompson sampling;
///              Russo et al., "A Tutorial on Thompson Sampling", 2018) each guide the search
///              `measured.inner`, and the cheapest state each comes by that is not measured yet is;
///              after `measured.batch` of these it is fitted again. Its prior is the cost model of
///              the start.
///   rulelist   where random rule lists end (search::RuleLists); the first measured is greedy's end
///   random     where random walks end (search::RandomWalks)
///
/// Any other name is that of a search, which runs once by the cost model of the start, with
/// `budget` expansions and at least ten for each measurement; the cheapest distinct states that it
/// comes by are measured, the cheapest first. InputError as solver_named.
MeasuredArm measured_arm(const std::string& name, const MeasuredOptions& measured,
                         const SolverSettings& settings);
/// The same for any method: `budget` is its own, and at least one for each measurement.
MeasuredArm cheapest_of(SearchMethod method);

struct NamedArm {
  std::string name;
  std::string what;
};
/// Those that are no search by costs alone.
std::span<const NamedArm> measured_arms();

/// On the machine: `measured.rounds` pairs of runs and more, of the graph and the original in turn;
/// the median ratio times what the original took when measuring began (PairedTimer).
NewTimer timer_on(std::shared_ptr<Machine> machine, const MeasuredOptions& options);

}  // namespace reverie
