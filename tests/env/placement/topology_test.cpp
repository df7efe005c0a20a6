#include "env/placement/graph/topology.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using testing::expect_refused;
using ::testing::HasSubstr;

class TopologyFile : public ::testing::Test {
 protected:
  Topology read(const std::string& text) {
    write_file(path_, text);
    return read_topology(path_);
  }
  void refused(const std::string& text, const char* words) {
    try {
      read(text);
      ADD_FAILURE() << words;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("devices.yaml: "));
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "devices.yaml";
};

const std::string kDevices =
    "devices: [{name: host, kind: cpu}, {name: gpu, "
    "kind: v100, count: 2, memory: 1.5GiB}]\n";

TEST_F(TopologyFile, IsReadAsItSays) {
  const Topology all = read(kDevices + R"(
links:
  - {between: [host, gpu], latency: 2us, bandwidth: 16GB/s, bus: pcie}
  - {between: [gpu, gpu], bandwidth: 0.15TB/s}
engines: {send: false}
)");
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all.devices[0].name, "host");
  EXPECT_EQ(all.devices[0].memory_bytes, Device::kUnlimited);
  EXPECT_EQ(all.devices[2].name, "gpu1");
  EXPECT_EQ(all.devices[2].memory_bytes, int64_t{3} << 29);
  EXPECT_EQ(all.link(0, 2), (Link{.latency = {2000000}, .bytes_per_second = 16e9, .bus = 0}));
  EXPECT_EQ(all.link(2, 0), all.link(0, 2));
  EXPECT_EQ(all.link(1, 2), (Link{.latency = {0}, .bytes_per_second = 150e9, .bus = -1}));
  EXPECT_EQ(all.buses, 1);
  EXPECT_FALSE(all.send_engines);
  EXPECT_TRUE(all.receive_engines && all.shared_buses);
}

TEST_F(TopologyFile, TheKnownOnesAreThere) {
  for (const std::string& name : known_topologies())
    EXPECT_GE(read_topology(name).size(), 2) << name;
  EXPECT_EQ(read_topology("8xh100").size(), 8);
  EXPECT_EQ(read_topology("8xh100").link(3, 7).bytes_per_second, 450e9);
}

TEST_F(TopologyFile, WhatIsWrongIsNamed) {
  refused("devices: []", "'devices' names none");
  refused(kDevices, "links: none joins 'host' and 'gpu0'");
  refused(kDevices + "links: [{between: [host, tpu]}]", "links: no device is called 'tpu'");
  refused(kDevices + "links: [{between: [host]}]", "'between' needs two names");
  refused(kDevices + "links: [{between: [host, gpu], latency: 3}]",
          "'latency: 3' is no number with one of the units ms, ns");
  refused(kDevices + "links: [{between: [host, gpu], bandwidth: 0GB/s}]",
          "'bandwidth' must be above 0");
  refused(kDevices + "speed: 3", "unknown key 'speed'; known are devices, engines, links");
  refused("devices: [{name: a, kind: b}, {name: a, kind: b}]",
          "devices: the name 'a' is given twice");
  refused("devices: [{name: a, kind: b, count: 0}]", "'count' must be a whole number from 1 to 64");
  refused("devices: [{name: a}]", "'kind' needs a value");
  refused("devices: [{name: a, kind: b, memory: -1GiB}]", "'memory: -1GiB' is no number");
  refused(kDevices + "links: [{latency: 3us}]", "'between' needs two names");
  refused("devices: [{name: a", "line 1");
}

TEST_F(TopologyFile, AWrongNameListsThoseThatAreBuiltIn) {
  expect_refused(
      [] { read_topology("2xv100"); },
      "2xv100: there is no such file; built in are 2xv100-nvlink, 8xh100, cpu+gpu, and cores:N");
}

TEST_F(TopologyFile, AGraphMayHoldIt) {
  const std::string graph = directory_ / "graph.json";
  write_file(graph, R"({"format": "placement-graph/1", "nodes": []})");
  EXPECT_FALSE(topology_in_graph(graph).has_value());
  write_file(graph, R"({"devices": [{"id": 0, "name": "a", "kind": "cpu", "memory_bytes": 1000},
                                    {"id": 1, "name": "b", "kind": "gpu", "memory_bytes": null}]})");
  const Topology ideal = topology_in_graph(graph).value();
  ASSERT_EQ(ideal.size(), 2);
  EXPECT_EQ(ideal.devices[0].memory_bytes, 1000);
  EXPECT_EQ(ideal.devices[1].memory_bytes, Device::kUnlimited);
  EXPECT_EQ(ideal.link(0, 1), Link{});
  EXPECT_FALSE(ideal.send_engines || ideal.receive_engines || ideal.shared_buses);
  write_file(graph, R"({"devices": [{"name": "a", "kind": "cpu", "count": 2}],
                        "links": [{"between": ["a", "a"], "bandwidth": "1GB/s"}], "engines": {"send": false}})");
  const Topology linked = topology_in_graph(graph).value();
  EXPECT_EQ(linked.link(0, 1).bytes_per_second, 1e9);
  EXPECT_TRUE(!linked.send_engines && linked.receive_engines);
  write_file(graph, R"({"devices": [{"name": "a", "kind": "cpu", "memori": 3}]})");
  expect_refused([&] { topology_in_graph(graph); }, "graph.json: devices: unknown key 'memori'");
}

}  // namespace
}  // namespace reverie
