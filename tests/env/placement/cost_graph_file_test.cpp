#include <gmock/gmock.h>

#include "core/base/files.h"
#include "core/models/models.h"
#include "env/placement/graph/model_graph.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/env/placement/placements.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::expect_refused;

void expect_equal(const CostGraph& a, const CostGraph& b) {
  EXPECT_EQ(a.name(), b.name());
  ASSERT_EQ(a.kinds(), b.kinds());
  ASSERT_EQ(a.size(), b.size());
  for (int node = 0; node < a.size(); ++node) {
    const CostNode& one = a.nodes()[static_cast<size_t>(node)];
    const CostNode& other = b.nodes()[static_cast<size_t>(node)];
    EXPECT_EQ(std::tie(one.name, one.op, one.group), std::tie(other.name, other.op, other.group));
    EXPECT_EQ(std::tie(one.persistent_bytes, one.temporary_bytes),
              std::tie(other.persistent_bytes, other.temporary_bytes));
    for (int kind = 0; kind < static_cast<int>(a.kinds().size()); ++kind)
      EXPECT_EQ(a.cost(node, kind), b.cost(node, kind));
  }
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    const CostTensor& one = a.tensors()[i];
    const CostTensor& other = b.tensors()[i];
    EXPECT_EQ(std::tie(one.producer, one.bytes, one.transfer, one.readers),
              std::tie(other.producer, other.bytes, other.transfer, other.readers));
  }
  EXPECT_EQ(a.parts(), b.parts());
}

class WrittenCostGraph : public ::testing::Test {
 protected:
  void expect_same_when_read(const CostGraph& graph) {
    write_cost_graph(graph, path_);
    expect_equal(graph, read_cost_graph(path_));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "graph.json";
};

TEST_F(WrittenCostGraph, OfRandomTensorsReadsAsTheSame) {
  Rng rng(7);
  for (int i = 0; i < 50; ++i) expect_same_when_read(testing::random_cost_graph(2 + i % 9, rng));
}

TEST_F(WrittenCostGraph, OfAModelReadsAsTheSame) {
  Topology topology = ideal_devices(2, "v100");
  topology.devices[1].kind = "cpu";
  expect_same_when_read(
      cost_graph_of(build_model("bert_tiny", {.light = true}), topology, "a \"bert\""));
}

TEST_F(WrittenCostGraph, KeepsTensorsApartThatHaveOneSize) {
  expect_same_when_read(testing::graph_of(
      {1, 2, 1'234'567'890'123}, {{.producer = 0, .bytes = 8, .readers = {1}},
                                  {.producer = 0, .bytes = 8, .readers = {1, 2}},
                                  {.producer = 1, .bytes = 8, .transfer = {3}, .readers = {}}}));
}

TEST_F(WrittenCostGraph, UnknownKeysAreRefused) {
  const auto refuse = [&](const char* json, const char* words) {
    write_file(path_, json);
    expect_refused([&] { read_cost_graph(path_); }, words);
  };
  refuse(R"({"format": "placement-graph/1", "name": "g", "edges": [],
             "nodes": [{"id": 0, "name": "a", "op": "o", "cost_us": {"x": 1}, "memory": 3}]})",
         "node 0: unknown key 'memory'; known are id, name, op, cost_us, persistent_bytes");
  refuse(R"({"format": "placement-graph/1", "name": "g", "edges": [{"from": 0, "to": 0, "byte": 1}],
             "nodes": [{"id": 0, "name": "a", "op": "o", "cost_us": {"x": 1}}]})",
         "edges: unknown key 'byte'");
  refuse(R"({"format": "placement-graph/1", "name": "g", "edges": [], "nodes": [], "kind": {}})",
         "unknown key 'kind'; did you mean 'kinds'?");
}

TEST_F(WrittenCostGraph, WhatDescribesAGraphIsNotRead) {
  write_file(path_,
             R"({"format": "placement-graph/1", "name": "g", "source": "a paper", "edges": [],
                        "nodes": [{"id": 0, "name": "a", "op": "o", "cost_us": {"x": 1}, "layer": 3}]})");
  EXPECT_EQ(read_cost_graph(path_).size(), 1);
}

TEST_F(WrittenCostGraph, SaysWhereANodeCannotRun) {
  write_file(
      path_,
      R"({"format": "placement-graph/1", "name": "g", "edges": [{"from": 0, "to": 1, "bytes": 1}],
                        "nodes": [{"id": 0, "name": "a", "op": "o", "cost_us": {"cpu": 1, "gpu": null}},
                                  {"id": 1, "name": "b", "op": "o", "cost_us": {"cpu": 9, "gpu": 2}}]})");
  const CostGraph graph = read_cost_graph(path_);
  EXPECT_TRUE(graph.can_run(0, 0) && graph.can_run(1, 0) && graph.can_run(1, 1));
  EXPECT_FALSE(graph.can_run(0, 1));
  EXPECT_GT(graph.cost(0, 1).count, 11'000'000) << "more than everything else together";
  write_cost_graph(graph, path_);
  EXPECT_FALSE(read_cost_graph(path_).can_run(0, 1));
  write_file(path_, R"({"format": "placement-graph/1", "name": "g", "edges": [],
                        "nodes": [{"id": 0, "name": "a", "op": "o", "cost_us": {"cpu": null, "gpu": null}}]})");
  expect_refused([&] { read_cost_graph(path_); }, "node 'a' can run on no kind of device");
}

TEST_F(WrittenCostGraph, WithAFaultIsRefused) {
  const auto refuse = [&](const char* nodes, const char* edges, const char* words) {
    write_file(path_, fmt::format(R"({{"format": "placement-graph/1", "name": "g",
        "kinds": {{"x": {{"bytes_per_second": 1e9, "launch_us": 1}}}},
        "nodes": [{}], "edges": [{}]}})",
                                  nodes, edges));
    expect_refused([&] { read_cost_graph(path_); }, words);
  };
  const std::string node = R"({"id": 0, "name": "a", "op": "o", "cost_us": {"x": 1})";
  refuse((node + "}").c_str(), "", "node 'a': ");
  refuse((node + R"(, "arithmetic_us": {"x": 1}})").c_str(), "", "moved_bytes");
  refuse((node + R"(, "arithmetic_us": {"x": -1}, "moved_bytes": 0})").c_str(), "",
         "node 'a' has a negative time of arithmetic");
  refuse((node + R"(, "arithmetic_us": {"x": 1}, "moved_bytes": 0})").c_str(),
         R"({"from": 0, "to": null, "bytes": 1, "tensor": 0},
            {"from": 0, "to": null, "bytes": 2, "tensor": 0})",
         "tensor 0 of node 0 has two sizes");
  refuse((node + R"(, "arithmetic_us": {"x": 1}, "moved_bytes": 0})").c_str(),
         R"({"from": 0, "to": null, "bytes": 1, "tensor": 0},
            {"from": 0, "to": null, "bytes": 1, "cost_us": 1, "tensor": 0})",
         "tensor 0 of node 0 has two sizes");
}

}  // namespace
}  // namespace reverie
