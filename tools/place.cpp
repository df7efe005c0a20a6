#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/files.h"
#include "core/base/words.h"
#include "env/placement/graph/placement_input.h"
#include "env/placement/machine/on_devices.h"
#include "env/placement/machine/reality_report.h"
#include "env/placement/placement_solver.h"
#include "env/placement/report/place_report.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/place_learners.h"
#include "tools/streams.h"

namespace reverie {
namespace {

struct PlaceArguments {
  std::string graph, devices, policy, out, graph_out, model_out;
  PlacementInputConfig input;
  std::vector<std::string> methods, settings;
  int64_t evaluations = 0;
  std::optional<double> seconds;
  uint64_t seed = 1;
  int checked = 0;
  bool measure = false, memory = false, fuse = false, json = false, quiet = false;
};

double milliseconds(Picoseconds time) { return time.milliseconds(); }

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

std::string memory_of(const Outcome& outcome) {
  if (outcome.misplaced > 0) return counted(outcome.misplaced, "node") + " misplaced";
  if (!outcome.feasible()) return fmt::format("{:.1f} MiB over", mebibytes(outcome.bytes_over));
  return fmt::format("{:.1f} MiB", mebibytes(outcome.peak_bytes));
}

/// Of what is looked for, in the least that is possible.
double over_bound(const PlaceResult& result, const Outcome& outcome, bool memory) {
  const auto ratio = [](int64_t found, int64_t bound) {
    return static_cast<double>(found) / static_cast<double>(std::max<int64_t>(bound, 1));
  };
  return memory ? ratio(outcome.peak_bytes, result.bytes_bound)
                : ratio(outcome.makespan.count, result.bound.count);
}

void print(const PlaceResult& result, bool memory) {
  fmt::print("{:<14}{:>16}{:>9}{:>23}{:>13}{:>9}\n", "method", "makespan", "bound", "peak memory",
             "evaluations", "seconds");
  for (size_t i = 0; i < result.methods.size(); ++i) {
    const PlacedBy& one = result.methods[i];
    const double share = over_bound(result, one.outcome, memory);
    fmt::print("{:<14}{:>13.4f} ms{:>8.3f}x{:>23}{:>13}{:>9.2f}{}\n", one.method,
               milliseconds(one.outcome.makespan), share, memory_of(one.outcome), one.evaluations,
               one.seconds, i == result.winner ? "  kept" : "");
  }
  if (memory)
    fmt::print("with any placement a device needs at least {:.1f} MiB\n",
               mebibytes(result.bytes_bound));
  else
    fmt::print("{}no placement takes less than {:.4f} ms\n",
               result.measured ? "makespans were measured; by the simulator " : "",
               milliseconds(result.bound));
}

Json summary(const PlaceArguments& options, const Topology& topology, const PlaceResult& result,
             const std::optional<RealityCheck>& check) {
  const PlacedBy& winner = result.methods[result.winner];
  double seconds = 0;
  int64_t evaluations = 0;
  Json::Array methods;
  for (const PlacedBy& one : result.methods) {
    seconds += one.seconds;
    evaluations += one.evaluations;
    methods.push_back({{"method", one.method},
                       {"makespan_ms", milliseconds(one.outcome.makespan)},
                       {"peak_bytes", one.outcome.peak_bytes},
                       {"bytes_over", one.outcome.bytes_over},
                       {"misplaced_nodes", one.outcome.misplaced},
                       {"evaluations", one.evaluations},
                       {"seconds", one.seconds}});
  }
  Json all{{"graph", options.graph},
           {"devices", topology.name},
           {"methods", methods},
           {"method", winner.method},
           {"makespan_ms", milliseconds(winner.outcome.makespan)},
           {"lower_bound_ms", milliseconds(result.bound)},
           {"peak_bytes", winner.outcome.peak_bytes},
           {"bytes_over", winner.outcome.bytes_over},
           {"feasible", winner.outcome.feasible()},
           {"lower_bound_bytes", result.bytes_bound},
           {"seconds", seconds},
           {"evaluations", evaluations}};
  if (check) all["check"] = reality_json(*check);
  return all;
}

/// A solver by its name, or a learner's file.
PlaceMethod placing_method(const std::string& name, const SolverSettings& settings) {
  if (name.ends_with(".pt")) return saved_learner_method(name, name);
  const std::vector<PlaceMethod> all = placement_methods(settings);
  if (has_learning_program() && std::ranges::count(all, name, &PlaceMethod::name) == 0)
    leave_to_learning_program("--method " + name);
  return place_method(all, name);
}

/// With the options that --set gives. InputError for one that none of the methods reads.
SolverSettings settings_of(const PlaceArguments& options) {
  SolverSettings settings(PlacementConfig::kKind);
  for (const std::string& assignment : options.settings) ConfigFields(settings).set(assignment);
  std::vector<const Solver*> used;
  for (const Solver* solver : solvers_for(PlacementConfig::kKind))
    if (std::ranges::count(options.methods, solver->name()) > 0) used.push_back(solver);
  settings.require_read_by(used, "--method");
  return settings;
}

PlacementObjective objective_of(const PlaceArguments& options) {
  return options.memory ? PlacementObjective::kPeakMemory : PlacementObjective::kMakespan;
}

std::vector<PlaceMethod> methods_of(const PlaceArguments& options, const CostGraph& graph) {
  const SolverSettings settings = settings_of(options);
  if (options.methods.empty() && options.policy.empty())
    return usual_methods(graph, objective_of(options));
  std::vector<PlaceMethod> methods;
  if (!options.policy.empty()) methods.push_back(policy_placement(options.policy, options.policy));
  for (const std::string& name : options.methods) methods.push_back(placing_method(name, settings));
  return methods;
}

EvaluationBudget budget_of(const PlaceArguments& options) {
  constexpr double kSeconds = 10;
  const bool is_counted = options.evaluations > 0;
  return {.evaluations = options.evaluations,
          .seconds = options.seconds.value_or(is_counted ? 0 : kSeconds),
          .stop = stop_on_interrupt()};
}

std::string methods_text() {
  std::string table = "Methods:\n";
  const auto add = [&](const PlaceMethod& method) {
    table += fmt::format("  {:<18} {}\n", method.name, method.what);
  };
  std::ranges::for_each(placement_methods(SolverSettings(PlacementConfig::kKind)), add);
  if (has_learning_program())
    table += "  ...                agents that learn from the graph: see --help-all\n";
  return table +
         "  FILE.pt            a learner of `place_learn`; it learns on while there is budget\n";
}

void tell(const PlaceArguments& options, const PlacementInput& read, const Topology& topology,
          const PlaceResult& result, const std::optional<RealityCheck>& check) {
  const CostGraph& graph = result.placed(read.graph);
  if (!options.quiet) print(result, options.memory);
  if (check && !options.quiet) fmt::print("{}", reality_text(*check));
  if (!options.out.empty()) write_place_outputs(options.out, graph, topology, result);
  if (check && !options.out.empty()) write_reality_outputs(options.out, graph, topology, *check);
  if (!options.model_out.empty())
    write_placed_model(options.graph, read, topology, result, options.model_out);
  if (options.json) fmt::print("{}\n", summary(options, topology, result, check).dump());
}

/// Devices of this machine; nothing where others are named.
std::shared_ptr<OwnDevices> own_devices(const PlaceArguments& options) {
  if (names_own_devices(options.devices)) return open_own_devices(options.devices);
  if (options.checked > 0 || options.measure)
    throw InputError(
        "--check and --measure run placements on this machine: they need "
        "--devices cores:N or streams:N");
  return nullptr;
}

PlaceOptions place_options(const PlaceArguments& options, const std::optional<OnDevices>& on_own) {
  PlaceOptions all{.budget = budget_of(options),
                   .seed = options.seed,
                   .objective = objective_of(options),
                   .fuse = options.fuse};
  if (options.measure) all.measure = measure_schedules(*on_own);
  return all;
}

/// Those of --devices, or that the graph's file names.
Topology topology_of(const PlaceArguments& options, const std::shared_ptr<OwnDevices>& own) {
  if (own) return own->topology();
  if (!options.devices.empty()) return read_topology(options.devices);
  if (options.graph.ends_with(".json") || options.graph == "/dev/stdin")
    if (const std::optional<Topology> named = topology_in_graph(options.graph)) return *named;
  throw InputError("{}: name the devices by --devices: a YAML file, or {}, or cores:N or streams:N",
                   options.graph, fmt::join(known_topologies(), ", "));
}

/// Before anything is looked for.
void check_outputs(const PlaceArguments& options) {
  for (const std::string& file : {options.graph_out, options.model_out})
    if (!file.empty()) check_writable(file);
  if (!options.model_out.empty() && !options.graph.ends_with(".onnx"))
    throw InputError("--model-out writes the ONNX model that was placed, and {} is none",
                     options.graph);
}

void run(const PlaceArguments& options) {
  check_outputs(options);
  const std::shared_ptr<OwnDevices> own = own_devices(options);
  const Topology topology = topology_of(options, own);
  std::optional<OnDevices> on_own;
  if (own) on_own = read_on_devices(options.graph, own, options.input);
  const PlacementInput read =
      on_own ? on_own->input : read_placement_input(options.graph, topology, options.input);
  for (const std::string& warning : read.warnings) fmt::print(stderr, "{}\n", warning);
  const std::vector<PlaceMethod> methods = methods_of(options, read.graph);
  if (!options.graph_out.empty()) write_cost_graph(read.graph, options.graph_out);
  PlaceResult result = place(read.graph, topology, methods, place_options(options, on_own));
  result.folded = read.folded;
  if (result.fused && !options.quiet)
    fmt::print("{}, {} after fusion\n", counted(read.graph.size(), "operator"),
               result.fused->graph.size());
  std::optional<RealityCheck> check;
  if (options.checked > 0)
    check = check_reality(*on_own->model, read.graph, topology, options.checked, options.seed);
  tell(options, read, topology, result, check);
  if (const std::string why = why_infeasible(result); !why.empty()) throw NoAnswer(why);
}

}  // namespace

void register_place(CLI::App& app) {
  const auto options = std::make_shared<PlaceArguments>();
  CLI::App* command = app.add_subcommand(
      "place", with_examples("Place the operators of a graph on devices, and say when they run",
                             {"place model.onnx --devices 2xv100-nvlink -o placed",
                              "place graph.json --devices devices.yaml --method heft,local",
                              "place model.onnx --devices 8xh100 --training --peak-memory"}));
  takes_standard_input(
      command
          ->add_option("GRAPH", options->graph,
                       fmt::format("What to place: {}; -: a graph as JSON from standard input",
                                   kPlacementInputs))
          ->required());
  command->add_option("--devices", options->devices,
                      fmt::format("A YAML file, or {}, or {}; without it those in the graph's file",
                                  fmt::join(known_topologies(), ", "), kOwnDevices));
  command->add_option("-o,--out", options->out,
                      "A folder for the placement, charts, a trace and a report");
  command
      ->add_option("--graph-out", options->graph_out,
                   "Where to write the graph with its costs, as JSON (placement-graph/1)")
      ->type_name("FILE");
  command
      ->add_option("--model-out", options->model_out,
                   "Where to write the ONNX model with the device in each node's metadata")
      ->type_name("FILE");
  command
      ->add_option("--method", options->methods,
                   "Methods to try, with commas between; without it those that suit the graph")
      ->delimiter(',');
  add_repeated(*command, "--set", options->settings, "KEY=VALUE",
               "An option of a method: beam.width=4");
  command->add_option("--policy", options->policy,
                      "A policy.pt of `dream_train`: its placement, improved by the method local");
  command->add_option("--evaluations", options->evaluations, "Placements that each may try")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--time-limit", options->seconds,
                   "Seconds for the searches together; 10 without --evaluations")
      ->check(CLI::PositiveNumber);
  command->add_option("--shape", options->input.shapes,
                      "Extents of an input of an ONNX model: name=1,3,224,224");
  command->add_option("--dim", options->input.dims, "Of symbolic dimensions: batch=1,seq=128");
  command->add_flag("--training", options->input.training,
                    "An ONNX model's training step: with gradients and updates");
  command->add_flag("--fuse", options->fuse,
                    "Fuse operators that are on one device; placements are judged with it");
  CLI::Option* const memory =
      command->add_flag("--peak-memory", options->memory, "Look for little memory, not for speed");
  command
      ->add_flag("--measure", options->measure,
                 "On cores:N or streams:N, judge placements by running them, not by the simulator")
      ->excludes(memory);
  command
      ->add_option(
          "--check", options->checked,
          "On cores:N or streams:N, run so many placements and compare with their simulation")
      ->check(CLI::Range(2, 10000));
  command->add_option("--seed", options->seed, "Of the searches");
  command->add_flag("--json", options->json, "One line of JSON at the end");
  command->add_flag("--quiet", options->quiet, "No table");
  command->footer(methods_text());
  command->callback([options] { run(*options); });
}

}  // namespace reverie
