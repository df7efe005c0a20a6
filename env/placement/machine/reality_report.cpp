#include "env/placement/machine/reality_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/files.h"
#include "core/report/html.h"
#include "core/report/svg.h"
#include "env/placement/report/display.h"

namespace reverie {
namespace {

std::string match_text(const placement::Match& match) {
  return fmt::format(
      "Spearman's rank correlation {:.3f}, mean error {:.1f} %, measured / simulated {:.3f}",
      match.spearman, 100 * match.mean_error, match.ratio);
}

std::string simulated_sentence(const RealityCheck& check) {
  return fmt::format(
      "{} placements, simulated and measured ({} of them only while other processes took time): "
      "{}.",
      check.placements.size(), check.disturbed, match_text(check.match));
}

/// From the shortest simulated makespan on.
std::vector<CheckedPlacement> sorted(const RealityCheck& check) {
  std::vector<CheckedPlacement> placements = check.placements;
  std::ranges::stable_sort(placements, {}, &CheckedPlacement::simulated);
  return placements;
}

Chart chart(const std::vector<CheckedPlacement>& placements) {
  Series simulated{.name = "simulated", .points = {}}, measured{.name = "measured", .points = {}};
  for (const CheckedPlacement& one : placements) {
    const auto x = static_cast<double>(measured.points.size() + 1);
    simulated.points.emplace_back(x, one.simulated.milliseconds());
    measured.points.emplace_back(x, one.measured.milliseconds());
  }
  return line_chart("Makespans of placements",
                    {.x_label = "placement, by simulated makespan", .y_label = "ms"},
                    {measured, simulated});
}

HtmlTable table(const std::vector<CheckedPlacement>& placements) {
  HtmlTable table{{"from", "simulated", "measured", "lost to others"}, {}};
  for (const CheckedPlacement& one : placements)
    table.rows.push_back({one.from, time_text(one.simulated), time_text(one.measured),
                          fmt::format("{:.1f} %", 100 * one.lost)});
  return table;
}

Json rows(const std::vector<CheckedPlacement>& placements) {
  Json::Array rows;
  for (const CheckedPlacement& one : placements)
    rows.push_back({{"from", one.from},
                    {"simulated_ms", one.simulated.milliseconds()},
                    {"measured_ms", one.measured.milliseconds()},
                    {"lost", one.lost}});
  return rows;
}

}  // namespace

std::string reality_text(const RealityCheck& check) { return simulated_sentence(check) + "\n"; }

Json reality_json(const RealityCheck& check) {
  return {{"placements", check.placements.size()},
          {"disturbed", check.disturbed},
          {"spearman", check.match.spearman},
          {"mean_error", check.match.mean_error},
          {"ratio", check.match.ratio}};
}

void write_reality_outputs(const std::string& folder, const CostGraph& graph,
                           const Topology& topology, const RealityCheck& check) {
  create_directory(folder);
  const std::vector<CheckedPlacement> placements = sorted(check);
  Json json = reality_json(check);
  json["rows"] = rows(placements);
  write_file(folder + "/measured.json", json.dump(1) + "\n");
  const std::string body = html_paragraph(simulated_sentence(check)) +
                           html_figure(chart(placements)) + html_table(table(placements));
  write_file(folder + "/measured.html",
             html_page(fmt::format("{} on {}: simulated and measured", short_name(graph.name(), 80),
                                   short_name(topology.name, 80)),
                       body));
}

}  // namespace reverie
