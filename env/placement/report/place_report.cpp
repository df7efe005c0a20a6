#include "env/placement/report/place_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/onnx/copy.h"
#include "core/onnx/note_keys.h"
#include "core/report/html.h"
#include "core/report/svg.h"
#include "env/placement/report/charts.h"
#include "env/placement/report/display.h"
#include "env/placement/report/graph_dot.h"
#include "env/placement/report/trace.h"

namespace reverie {
namespace {

double ratio(Picoseconds makespan, Picoseconds bound) {
  return static_cast<double>(makespan.count) /
         static_cast<double>(std::max<int64_t>(bound.count, 1));
}

std::string memory_of(const Outcome& outcome) {
  const std::string peak = bytes_text(outcome.peak_bytes);
  return outcome.feasible() ? peak
                            : fmt::format("{}, {} over", peak, bytes_text(outcome.bytes_over));
}

HtmlTable methods_of(const PlaceResult& result) {
  HtmlTable table{{"method", "makespan", "makespan / lower bound", "peak memory of a device",
                   "evaluations", "seconds"},
                  {},
                  static_cast<int>(result.winner)};
  for (const PlacedBy& one : result.methods)
    table.rows.push_back({one.method, time_text(one.outcome.makespan, 6),
                          fmt::format("{:.3f}", ratio(one.outcome.makespan, result.bound)),
                          memory_of(one.outcome), fmt::format("{}", one.evaluations),
                          fmt::format("{:.2f}", one.seconds)});
  return table;
}

std::string winner_sentence(const PlaceResult& result) {
  const PlacedBy& winner = result.methods[result.winner];
  const Picoseconds makespan = winner.outcome.makespan;
  if (winner.outcome.misplaced > 0)
    return fmt::format("No result: {}. Its makespan would be {}.", why_infeasible(result),
                       time_text(makespan, 6));
  if (!winner.outcome.feasible())
    return fmt::format(
        "No method found a placement that fits into memory. That of {} lacks the fewest bytes: {}. "
        "Its makespan is {}.",
        winner.method, bytes_text(winner.outcome.bytes_over), time_text(makespan, 6));
  const std::string found = fmt::format("{} found the best placement: its makespan is {}.",
                                        winner.method, time_text(makespan, 6));
  if (result.measured)
    return fmt::format("{} It was measured. By the simulator no placement takes less than {}.",
                       found, time_text(result.bound, 6));
  if (makespan <= result.bound) return found + " It is optimal: no placement takes less.";
  return fmt::format(
      "{} That is {:.2f} % above the lower bound of {}, which no placement can beat.", found,
      100 * (ratio(makespan, result.bound) - 1), time_text(result.bound, 6));
}

std::string size_sentence(const CostGraph& graph, const Topology& topology,
                          const PlaceResult& result) {
  return fmt::format("Operators: {}. Tensors: {}. Devices: {}. Transfers between devices: {}.",
                     graph.size(), graph.tensors().size(), topology.size(),
                     result.timeline.transfers.size());
}

}  // namespace

std::string place_report_html(const CostGraph& graph, const Topology& topology,
                              const PlaceResult& result) {
  const std::string body =
      html_paragraph(winner_sentence(result)) +
      html_paragraph(size_sentence(graph, topology, result)) + "<h2>Methods</h2>\n" +
      html_table(methods_of(result)) + "<h2>Schedule</h2>\n" +
      html_paragraph(
          "A lane shows what a device runs, the thin one below it what the device sends. "
          "Colours are types of operators, with their share of the time. Operators too "
          "short to be drawn alone are drawn together, the paler the longer the gaps "
          "between them.") +
      html_figure(gantt_chart(graph, topology, result.timeline, result.bound)) +
      "<h2>Memory</h2>\n" + html_figure(memory_chart(graph, topology, result.timeline), "narrow");
  return html_page(fmt::format("Placement of {} on {}", short_name(graph.name(), 80),
                               short_name(topology.name, 80)),
                   body);
}

void write_place_outputs(const std::string& folder, const CostGraph& graph,
                         const Topology& topology, const PlaceResult& result) {
  create_directory(folder);
  const auto write = [&](const char* name, const std::string& content) {
    write_file(folder + "/" + name, content);
  };
  write("placement.json", placement_json(graph, topology, result).dump(1) + "\n");
  write("gantt.svg", svg_file(gantt_chart(graph, topology, result.timeline, result.bound).svg));
  write("memory.svg", svg_file(memory_chart(graph, topology, result.timeline).svg));
  write("trace.json", perfetto_trace(graph, topology, result.timeline));
  write("graph.dot", placement_dot(graph, topology, result.placement));
  write("report.html", place_report_html(graph, topology, result));
}

void write_placed_model(const std::string& from, const PlacementInput& read,
                        const Topology& topology, const PlaceResult& result,
                        const std::string& to) {
  if (!read.model)
    throw InputError("{}: is no ONNX model, and only such a file can tell the devices", from);
  copy_model(from, *read.model, to,
             {kDeviceNote, devices_of(result.placed(read.graph), topology, result)});
}

}  // namespace reverie
