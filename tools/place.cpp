#include "env/placement/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "core/base/files.h"
#include "tools/command.h"
#include "tools/interrupt.h"

namespace reverie {
namespace {

struct Options {
  std::string graph, devices, out;
  double seconds = 10;
  uint64_t seed = 1;
  bool json = false;
};

double milliseconds(Picoseconds time) { return time.milliseconds(); }

std::string memory_of(const Outcome& outcome) {
  constexpr double kMebibyte = 0x1p20;
  if (!outcome.feasible()) return fmt::format("{} bytes over", outcome.bytes_over);
  return fmt::format("{:.1f} MiB", static_cast<double>(outcome.peak_bytes) / kMebibyte);
}

void print(const PlaceResult& result) {
  fmt::print("{:<14}{:>16}{:>9}{:>23}{:>13}{:>9}\n", "method", "makespan", "bound", "peak memory",
             "evaluations", "seconds");
  for (size_t i = 0; i < result.methods.size(); ++i) {
    const PlacedBy& one = result.methods[i];
    const double share = static_cast<double>(one.outcome.makespan.count) /
                         static_cast<double>(std::max<int64_t>(result.bound.count, 1));
    fmt::print("{:<14}{:>13.4f} ms{:>8.3f}x{:>23}{:>13}{:>9.2f}{}\n", one.method,
               milliseconds(one.outcome.makespan), share, memory_of(one.outcome), one.evaluations,
               one.seconds, i == result.winner ? "  kept" : "");
  }
  fmt::print("no placement takes less than {:.4f} ms\n", milliseconds(result.bound));
}

Json summary(const Options& options, const PlaceResult& result) {
  const PlacedBy& winner = result.methods[result.winner];
  double seconds = 0;
  int64_t evaluations = 0;
  for (const PlacedBy& one : result.methods) {
    seconds += one.seconds;
    evaluations += one.evaluations;
  }
  return {{"graph", options.graph},
          {"devices", options.devices},
          {"method", winner.method},
          {"makespan_ms", milliseconds(winner.outcome.makespan)},
          {"lower_bound_ms", milliseconds(result.bound)},
          {"peak_bytes", winner.outcome.peak_bytes},
          {"bytes_over", winner.outcome.bytes_over},
          {"feasible", winner.outcome.feasible()},
          {"seconds", seconds},
          {"evaluations", evaluations}};
}

void run(const Options& options) {
  const CostGraph graph = read_cost_graph(options.graph);
  const Topology topology = read_topology(options.devices);
  const PlaceResult result =
      place(graph, topology,
            {.seconds = options.seconds, .seed = options.seed, .stop = stop_on_interrupt()});
  print(result);
  if (!options.out.empty())
    write_file(options.out, placement_json(graph, topology, result).dump(1) + "\n");
  if (options.json) fmt::print("{}\n", summary(options, result).dump());
}

}  // namespace

void register_place(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "place", "Place the operators of a cost graph on devices, and say when they run");
  command->add_option("GRAPH", options->graph, "A JSON file in the format placement-graph/1")
      ->required();
  command
      ->add_option("--devices", options->devices,
                   fmt::format("A YAML file, or {}", fmt::join(known_topologies(), ", ")))
      ->required();
  command->add_option("--out", options->out, "Where the placement is written, as JSON");
  command->add_option("--time-limit", options->seconds, "Seconds for the searches")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options->seed, "Of the searches");
  command->add_flag("--json", options->json, "One line of JSON at the end");
  command->callback([options] { run(*options); });
}

}  // namespace reverie
