#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/report/svg.h"
#include "env/placement/report/charts.h"
#include "env/placement/report/display.h"
#include "env/placement/report/gantt_lanes.h"

namespace reverie {
namespace {

constexpr double kWidth = 960, kLeft = 120, kRight = 20, kTop = 48, kBottom = 44;
constexpr double kRow = 18;         ///< of the legend
constexpr double kShortest = 0.5;   ///< pixels: what is shorter is drawn with its neighbours
constexpr double kPalest = 0.4;     ///< opacity of transfers, to be seen however short
constexpr double kCharacter = 6.2;  ///< pixels, about
constexpr size_t kMostBlocks = 4000, kColumns = 4, kNamed = 7, kMostRoomy = 16;
constexpr int kDigits = 7;  ///< of times in tooltips
constexpr const char *kOther = "#b8b8b8", *kSent = "#707070";

/// Of the chart's colours, those that white text can be read on.
constexpr std::array<bool, kNamed + 1> kDark = {true, true, true, false, false, false, true, false};

/// The seventh colour is black, which is for text.
const char* fill_of(size_t rank, const TypeRanks& types) {
  if (rank >= types.named().size()) return kOther;
  return chart_color(rank + 1 < kNamed ? rank : kNamed);
}

class GanttChart {
 public:
  GanttChart(const CostGraph& graph, const Topology& topology, const Timeline& timeline)
      : graph_(graph),
        topology_(topology),
        timeline_(timeline),
        end_(std::max<int64_t>(end_of(timeline).count, 1)),
        unit_(time_unit({end_})),
        types_(graph, timeline, kNamed),
        lanes_(gantt_lanes(topology, timeline, types_,
                           {static_cast<int64_t>(kShortest * static_cast<double>(end_) / kPlot)},
                           kMostBlocks)),
        roomy_(lanes_.size() <= 2 * kMostRoomy) {}

  std::string draw(Picoseconds bound) const {
    double bottom = kTop;
    std::string rows;
    for (const GanttLane& lane : lanes_) {
      rows += draw_lane(lane, bottom);
      bottom += height(lane) + gap(lane);
    }
    const size_t entries = types_.named().size() + 2;
    const double legend = kRow * static_cast<double>((entries + kColumns - 1) / kColumns);
    return open_svg(kWidth, bottom + kBottom + legend, title(bound)) + axis(bottom) + rows +
           bound_line(bound, bottom) + draw_legend(bottom + kBottom + 12) + "</svg>\n";
  }

 private:
  static constexpr double kPlot = kWidth - kLeft - kRight;

  double px(Picoseconds time) const {
    return kLeft + static_cast<double>(time.count) / static_cast<double>(end_) * kPlot;
  }
  double height(const GanttLane& lane) const {
    return roomy_ ? (lane.sends ? 10 : 22) : (lane.sends ? 5 : 9);
  }
  double gap(const GanttLane& lane) const {
    const auto next = static_cast<size_t>(&lane - lanes_.data()) + 1;
    const bool same = next < lanes_.size() && lanes_[next].device == lane.device;
    return same ? 2 : roomy_ ? 10 : 4;
  }

  std::string title(Picoseconds bound) const {
    return fmt::format("{} on {}: makespan {}, lower bound {}", short_name(graph_.name(), 48),
                       short_name(topology_.name, 40), time_text(end_of(timeline_)),
                       time_text(bound));
  }

  std::string axis(double bottom) const {
    std::string svg;
    const double last = static_cast<double>(end_) / unit_.size;
    for (const double tick : round_ticks(0, last, 8)) {
      const double x = kLeft + tick / last * kPlot;
      svg += svg_line(x, kTop - 4, x, bottom + 4, "grid");
      svg += svg_text(x, bottom + 17, fmt::format("{:.6g}", tick), "middle");
    }
    svg += svg_line(kLeft, bottom, kWidth - kRight, bottom, "axis");
    return svg +
           svg_text(kLeft + kPlot / 2, bottom + 34, fmt::format("time, {}", unit_.name), "middle");
  }

  std::string bound_line(Picoseconds bound, double bottom) const {
    if (bound.count <= 0 || bound.count > end_) return "";
    const double x = px(bound);
    const bool is_late = x > kLeft + kPlot / 2;
    return fmt::format(
               "<line x1='{0:.1f}' y1='{1:.1f}' x2='{0:.1f}' y2='{2:.1f}' class='axis' "
               "stroke-dasharray='4 3'/>\n",
               x, kTop - 14, bottom) +
           svg_text(is_late ? x - 5 : x + 5, kTop - 8, "lower bound", is_late ? "right" : "left");
  }

  std::string draw_lane(const GanttLane& lane, double top) const {
    const std::string& name = topology_.devices[static_cast<size_t>(lane.device)].name;
    std::string svg;
    if (roomy_ || !lane.sends)
      svg += svg_text(kLeft - 8, top + height(lane) / 2 + 4,
                      lane.sends ? "sends" : short_name(name, 18), "right");
    for (const GanttBlock& block : lane.blocks) svg += draw_block(lane, block, top);
    return svg;
  }

  /// Of runs, its width times its opacity is the time that is busy.
  std::string draw_block(const GanttLane& lane, const GanttBlock& block, double top) const {
    const double busy = px(block.busy) - kLeft;
    const double width = std::max(px(block.end) - px(block.start), lane.sends ? 1 : kShortest);
    const double share = std::clamp(busy / width, lane.sends ? kPalest : 0, 1.0);
    std::string svg = fmt::format(
        "<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='{:.0f}' fill='{}'", px(block.start),
        top, width, height(lane), lane.sends ? kSent : fill_of(block.rank, types_));
    if (share < 0.9995) svg += fmt::format(" fill-opacity='{:.3f}'", share);
    if (width >= 3 && block.count == 1) svg += " stroke='#fff' stroke-width='.6'";
    svg += fmt::format("><title>{}</title></rect>\n", escape_html(tooltip(lane, block)));
    return svg + caption(lane, block, top, width);
  }

  std::string tooltip(const GanttLane& lane, const GanttBlock& block) const {
    const auto time = [&](Picoseconds at) {
      return fmt::format("{:.{}g}", static_cast<double>(at.count) / unit_.size, kDigits);
    };
    std::string text = fmt::format("{}\n{} to {} {}", what(lane, block), time(block.start),
                                   time(block.end), unit_.name);
    if (block.count > 1) text += fmt::format(", busy {} {}", time(block.busy), unit_.name);
    return text;
  }

  std::string what(const GanttLane& lane, const GanttBlock& block) const {
    if (block.count > 1)
      return fmt::format("{} {}", block.count, lane.sends ? "transfers" : "operators");
    const auto first = static_cast<size_t>(block.first);
    if (!lane.sends) {
      const CostNode& one = node(timeline_.runs[first].node);
      return one.op.empty() ? name_of(one)
                            : fmt::format("{} ({})", name_of(one), short_name(one.op, 40));
    }
    const Timeline::Transfer& sent = timeline_.transfers[first];
    const CostTensor& tensor = graph_.tensors()[static_cast<size_t>(sent.tensor)];
    return fmt::format("{} to {}: {}", name_of(node(tensor.producer)),
                       short_name(topology_.devices[static_cast<size_t>(sent.to)].name, 40),
                       bytes_text(tensor.bytes));
  }

  /// The node's name, where there is room.
  std::string caption(const GanttLane& lane, const GanttBlock& block, double top,
                      double width) const {
    if (lane.sends || block.count > 1 || !roomy_) return "";
    const std::string name = name_of(node(timeline_.runs[static_cast<size_t>(block.first)].node));
    if (static_cast<double>(name.size() + 1) * kCharacter > width) return "";
    const bool is_dark = block.rank < types_.named().size() && kDark[block.rank];
    return svg_text(px(block.start) + width / 2, top + height(lane) / 2 + 4, name,
                    is_dark ? "light" : "middle");
  }

  std::string draw_legend(double top) const {
    std::string svg;
    size_t place = 0;
    const auto entry = [&](const char* fill, const std::string& name) {
      const double x =
          kLeft + kPlot / static_cast<double>(kColumns) * static_cast<double>(place % kColumns);
      const double y = top + kRow * static_cast<double>(place / kColumns);
      svg += fmt::format("<path d='M{:.1f} {:.1f}h12v10h-12z' fill='{}'/>\n", x, y - 9, fill) +
             svg_text(x + 18, y, name, "left");
      ++place;
    };
    const auto percent = [&](const std::string& name, size_t rank) {
      return fmt::format("{}, {:.1f} %", short_name(name, 22), 100 * types_.shares()[rank]);
    };
    const size_t named = types_.named().size();
    for (size_t rank = 0; rank < named; ++rank) {
      const std::string& type = types_.named()[rank];
      entry(fill_of(rank, types_), percent(type.empty() ? "(no type)" : type, rank));
    }
    if (types_.shares()[named] > 0) entry(kOther, percent("other operators", named));
    if (!timeline_.transfers.empty()) entry(kSent, "transfers");
    return svg;
  }

  const CostNode& node(int number) const { return graph_.nodes()[static_cast<size_t>(number)]; }
  static std::string name_of(const CostNode& one) { return short_name(one.name, 80); }

  const CostGraph& graph_;
  const Topology& topology_;
  const Timeline& timeline_;
  int64_t end_;
  DisplayUnit unit_;
  TypeRanks types_;
  std::vector<GanttLane> lanes_;
  bool roomy_;  ///< few enough devices for large lanes
};

}  // namespace

Picoseconds end_of(const Timeline& timeline) {
  Picoseconds end;
  for (const Timeline::Run& run : timeline.runs) end = std::max(end, run.end);
  for (const Timeline::Transfer& sent : timeline.transfers) end = std::max(end, sent.end);
  return end;
}

Chart gantt_chart(const CostGraph& graph, const Topology& topology, const Timeline& timeline,
                  Picoseconds bound) {
  if (timeline.runs.empty()) return {};
  return {GanttChart(graph, topology, timeline).draw(bound), ""};
}

}  // namespace reverie
