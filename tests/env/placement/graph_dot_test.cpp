#include "env/placement/report/graph_dot.h"

#include <gmock/gmock.h>

#include "core/report/svg.h"
#include "tests/env/placement/timelines.h"

namespace reverie {
namespace {

using testing::count;
using ::testing::HasSubstr;
using testing::Placed;

std::string dot_of(const Placed& placed) {
  return placement_dot(placed.graph, placed.topology, placed.placement);
}

/// Quotes that no backslash takes away are paired within each line, and braces outside of them are
/// paired.
void expect_readable(const std::string& dot) {
  bool quoted = false;
  int depth = 0;
  for (size_t i = 0; i < dot.size(); ++i) {
    if (quoted && dot[i] == '\\') {
      ++i;
    } else if (dot[i] == '"') {
      quoted = !quoted;
    } else if (dot[i] == '\n') {
      EXPECT_FALSE(quoted) << "a text that is not closed before byte " << i;
    } else if (!quoted) {
      depth += dot[i] == '{' ? 1 : dot[i] == '}' ? -1 : 0;
    }
  }
  EXPECT_EQ(depth, 0);
}

TEST(GraphDotTest, EscapesNames) {
  const std::string dot = dot_of(testing::awkward_placed());
  expect_readable(dot);
  EXPECT_THAT(dot, HasSubstr("n0 [label=\"a<b>&amp;\\\"c\\\"\\\\d'e\\nf g\\nop"));
  EXPECT_THAT(dot, HasSubstr("device1 [label=\"d1a<b>"));
}

TEST(GraphDotTest, ColoursTellDevicesAndEdgesTellBytes) {
  const Placed placed(
      testing::graph_of({1, 1, 1}, {{.producer = 0, .bytes = 2048, .readers = {1, 2}}}),
      ideal_devices(2, "d"), {{0, 1, 0}, {}});
  const std::string dot = dot_of(placed);
  expect_readable(dot);
  EXPECT_THAT(dot, HasSubstr("  n0 -> n1 [label=\"2 KiB\", style=bold];\n"));
  EXPECT_THAT(dot, HasSubstr("  n0 -> n2 [label=\"2 KiB\"];\n"));
  EXPECT_EQ(count(dot, " -> "), 2);
  for (const auto& [node, device] : {std::pair("n0", 0), {"n1", 1}, {"n2", 0}, {"device1", 1}})
    EXPECT_THAT(dot, ::testing::ContainsRegex(fmt::format(
                         "  {} \\[label=[^;]*on d{}\", color=\"{}\"|  {} \\[label=\"d{}\"", node,
                         device, chart_color(static_cast<size_t>(device)), node, device)));
  EXPECT_EQ(count(dot, chart_color(0)), 6) << "two nodes and the legend, each with edge and fill";
}

TEST(GraphDotTest, OnlyLargeGraphsAskForAFastLayout) {
  EXPECT_EQ(count(dot_of(testing::long_placed(2, 200)), "layout=sfdp"), 0);
  const std::string large = dot_of(testing::long_placed(2, 201));
  EXPECT_EQ(count(large, "layout=sfdp"), 1);
  expect_readable(large);
}

}  // namespace
}  // namespace reverie
