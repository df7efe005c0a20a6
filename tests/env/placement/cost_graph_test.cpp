#include "env/placement/graph/cost_graph.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/env/placement/placements.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::graph_of;
using ::testing::HasSubstr;

void refused(const std::function<void()>& make, const char* words) {
  try {
    make();
    ADD_FAILURE() << words;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

TEST(CostGraph, KnowsWhatNodesReadAndWrite) {
  const CostGraph graph = graph_of({1, 2, 3}, {{.producer = 2, .readers = {0}},
                                               {.producer = 1, .readers = {2, 0}},
                                               {.producer = 2, .readers = {}}});
  EXPECT_THAT(graph.order(), ElementsAre(1, 2, 0));
  EXPECT_THAT(graph.outputs(1), ::testing::Pair(0, 1));
  EXPECT_THAT(graph.outputs(2), ::testing::Pair(1, 3));
  EXPECT_THAT(graph.inputs(0), ElementsAre(0, 1));
  EXPECT_THAT(graph.tensors()[0].readers, ElementsAre(0, 2));
  EXPECT_EQ(graph.cost(2, 0).count, 3);
}

TEST(CostGraph, WhatIsWrongIsNamed) {
  refused([] { graph_of({}, {}); }, "'graph' has no nodes");
  refused([] { graph_of({1, -1}, {}); }, "node 'n1' has a negative cost");
  refused([] { graph_of({1}, {{.producer = 3, .readers = {}}}); }, "begins at node 3; there are 1");
  refused([] { graph_of({1}, {{.producer = 0, .readers = {5}}}); }, "ends at node 5; there are 1");
  refused(
      [] {
        graph_of({1, 1}, {{.producer = 0, .bytes = -4, .readers = {1}}});
      },
      "node 'n0' sends a negative number of bytes");
  refused(
      [] {
        graph_of({1, 1}, {{.producer = 0, .readers = {1, 1}}});
      },
      "two edges lead from node 'n0' to node 'n1'");
  refused(
      [] {
        graph_of({1, 1}, {{.producer = 0, .readers = {1}}, {.producer = 1, .readers = {0}}});
      },
      "'graph' has a cycle: node 'n0' waits for itself");
  refused([] { graph_of({INT64_MAX / 2, INT64_MAX / 2}, {}); }, "more than 53 days");
}

class CostGraphFile : public ::testing::Test {
 protected:
  CostGraph read(const std::string& nodes, const std::string& edges,
                 const std::string& format = "placement-graph/1") {
    write_file(path_,
               fmt::format(R"({{"format": "{}", "name": "g", "nodes": [{}], "edges": [{}]}})",
                           format, nodes, edges));
    return read_cost_graph(path_);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "graph.json";
  std::string two_ =
      R"({"id": 0, "name": "a", "op": "x", "cost_us": {"gpu": 1.5, "cpu": 3},
                         "persistent_bytes": 7, "temporary_bytes": null, "colocation_group": 4},
                        {"id": 1, "name": "b", "op": "y", "cost_us": {"cpu": 4, "gpu": 0}})";
};

TEST_F(CostGraphFile, IsReadAsItSays) {
  const CostGraph graph =
      read(two_, R"({"from": 0, "to": 1, "bytes": 0.125, "cost_us": 0.000001})");
  EXPECT_THAT(graph.kinds(), ElementsAre("cpu", "gpu"));
  EXPECT_EQ(graph.cost(0, 1).count, 1500000);
  EXPECT_EQ(graph.cost(1, 0).count, 4000000);
  EXPECT_EQ(graph.nodes()[0].persistent_bytes, 7);
  EXPECT_EQ(graph.nodes()[0].group, 4);
  EXPECT_EQ(graph.nodes()[1].group, -1);
  EXPECT_EQ(graph.tensors()[0].bytes, 1);
  EXPECT_EQ(graph.tensors()[0].transfer.count, 1);
}

TEST_F(CostGraphFile, EdgesOfEqualSizeAreOneTensor) {
  const std::string three =
      two_ + R"(, {"id": 2, "name": "c", "op": "z", "cost_us": {"cpu": 1, "gpu": 1}})";
  EXPECT_EQ(read(three, R"({"from": 0, "to": 1, "bytes": 8}, {"from": 0, "to": 2, "bytes": 8})")
                .tensors()
                .size(),
            1u);
  EXPECT_EQ(read(three, R"({"from": 0, "to": 1, "bytes": 8}, {"from": 0, "to": 2, "bytes": 9})")
                .tensors()
                .size(),
            2u);
  EXPECT_EQ(
      read(three,
           R"({"from": 0, "to": 1, "bytes": 8}, {"from": 0, "to": 2, "bytes": 8, "cost_us": 0})")
          .tensors()
          .size(),
      2u);
}

TEST_F(CostGraphFile, IsRefusedWithItsNameAndThePlace) {
  refused([&] { read(two_, "", "placement-graph/9"); },
          "graph.json: the format is 'placement-graph/9'");
  refused(
      [&] {
        read(two_ + R"(, {"id": 3, "name": "c", "op": "z", "cost_us": {"cpu": 1, "gpu": 1}})", "");
      },
      "graph.json: nodes must be numbered from 0");
  refused([&] { read(two_ + R"(, {"id": 2, "name": "c", "op": "z", "cost_us": {"cpu": 1}})", ""); },
          "graph.json: node 'c': ");
  refused([&] { read(two_, R"({"from": 0, "to": 1, "bytes": 8, "cost_us": 1e30})"); },
          "graph.json: a time of");
  refused([&] { read_cost_graph(directory_ / "none.json"); }, "none.json");
}

}  // namespace
}  // namespace reverie
