#include "env/placement/graph/generator.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/env/placement/expect_refused.h"

namespace reverie {
namespace {

using testing::expect_refused;

constexpr const char* kFamilies[] = {"layers", "branches", "recurrent", "random"};

bool is_gradient(const CostNode& node) { return node.op.find("Grad") != std::string::npos; }

TEST(Generator, GivesAboutAsManyNodesAsAsked) {
  for (const char* family : kFamilies)
    for (const int nodes : {100, 137, 1000, 20000}) {
      const CostGraph graph = generate_graph({.family = family, .nodes = nodes, .seed = 3});
      EXPECT_GE(graph.size(), nodes * 0.95) << family;
      EXPECT_LE(graph.size(), nodes * 1.05) << family;
    }
}

TEST(Generator, EqualSeedsGiveEqualGraphs) {
  for (const char* family : kFamilies) {
    const CostGraph one = generated_graph(fmt::format("generate:{}:300:1", family));
    const CostGraph same = generated_graph(fmt::format("generate:{}:300:1", family));
    const CostGraph other = generated_graph(fmt::format("generate:{}:300:2", family));
    const auto costs_of = [](const CostGraph& graph) {
      std::vector<int64_t> costs;
      for (int node = 0; node < graph.size(); ++node) costs.push_back(graph.cost(node, 0).count);
      return costs;
    };
    EXPECT_EQ(costs_of(one), costs_of(same));
    EXPECT_EQ(one.parts(), same.parts());
    EXPECT_NE(costs_of(one), costs_of(other));
  }
}

TEST(Generator, EveryForwardNodeHasItsGradientInItsGroup) {
  for (const char* family : kFamilies) {
    const CostGraph graph = generate_graph({.family = family, .nodes = 700, .seed = 5});
    std::map<std::string, int> forward;
    int gradients = 0, updates = 0, holders = 0;
    for (const CostNode& node : graph.nodes()) {
      const std::string number = node.name.substr(node.name.find('_') + 1);
      holders += node.persistent_bytes > 0;
      if (node.op == "Update") {
        ++updates;
      } else if (is_gradient(node)) {
        ++gradients;
        ASSERT_TRUE(forward.contains(number)) << node.name;
        EXPECT_EQ(node.group, forward[number]) << node.name;
      } else if (node.op != "Input" && node.op != "Loss") {
        forward[number] = node.group;
      }
    }
    EXPECT_GE(gradients, std::ssize(forward)) << family;
    EXPECT_EQ(updates, holders) << family;
    EXPECT_GT(updates, 0) << family;
  }
}

TEST(Generator, AGradientReadsWhatItsNodeHadRead) {
  const CostGraph graph = generate_graph({.family = "branches", .nodes = 400, .seed = 5});
  std::map<std::string, std::set<int>> read;
  for (int node = 0; node < graph.size(); ++node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    const std::string number = one.name.substr(one.name.find('_') + 1);
    const auto inputs = graph.inputs(node);
    if (is_gradient(one)) {
      for (const int tensor : read[number])
        EXPECT_NE(std::ranges::find(inputs, tensor), inputs.end()) << one.name;
      EXPECT_GT(inputs.size(), read[number].size()) << one.name;
    } else if (one.op != "Update") {
      read[number].insert(inputs.begin(), inputs.end());
    }
  }
}

TEST(Generator, CellsOfALayerShareItsWeights) {
  const CostGraph graph = generate_graph({.family = "recurrent", .nodes = 2000, .seed = 1});
  std::set<int> groups;
  int products = 0, holders = 0;
  for (const CostNode& node : graph.nodes()) {
    holders += node.persistent_bytes > 0;
    if (node.op == "MatMul") groups.insert(node.group), ++products;
  }
  EXPECT_EQ(holders, 4);
  EXPECT_EQ(groups.size(), 4u);
  EXPECT_GT(products, 80);
}

TEST(Generator, AnUpdateReadsAsManyBytesAsTheWeightHas) {
  for (const char* family : kFamilies) {
    const CostGraph graph = generate_graph({.family = family, .nodes = 500, .seed = 6});
    std::multiset<int64_t> held, updated;
    for (int node = 0; node < graph.size(); ++node) {
      const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
      if (one.persistent_bytes > 0) held.insert(one.persistent_bytes);
      if (one.op != "Update") continue;
      ASSERT_FALSE(graph.inputs(node).empty()) << one.name;
      updated.insert(graph.tensors()[static_cast<size_t>(graph.inputs(node)[0])].bytes);
    }
    EXPECT_EQ(held, updated) << family;
  }
}

TEST(Generator, MeetsTheRatioOfCommunication) {
  for (const char* family : kFamilies)
    for (const double ratio : {0.01, 0.5, 3.0}) {
      const CostGraph graph = generate_graph({.family = family,
                                              .nodes = 500,
                                              .seed = 2,
                                              .communication_to_computation = ratio,
                                              .link_bytes_per_second = 16e9});
      double transfers = 0, work = 0;
      for (const CostTensor& tensor : graph.tensors())
        transfers += static_cast<double>(tensor.bytes) / 16e9;
      for (int node = 0; node < graph.size(); ++node)
        work += graph.cost(node, graph.kind_named("v100")).seconds();
      EXPECT_NEAR(transfers / work, ratio, ratio * 1e-3) << family;
    }
}

TEST(Generator, SaysWhatIsWrong) {
  expect_refused([] { generated_graph("generate:layers:100"); },
                 "generate:layers:100: must be generate:FAMILY:NODES:SEED");
  expect_refused([] { generated_graph("generate:rings:100:1"); },
                 "no family 'rings'; there are layers, branches, recurrent and random");
  expect_refused([] { generated_graph("generate:layers:many:1"); },
                 "NODES 'many' is no whole number");
  expect_refused([] { generated_graph("generate:layers:100:-1"); }, "SEED '-1' is no whole number");
  expect_refused([] { generated_graph("generate:layers:99:1"); }, "99 nodes are not from 100 to");
  expect_refused(
      [] {
        generate_graph({.family = "layers", .nodes = 100, .communication_to_computation = 1e4});
      },
      "times computation here, not 1e+04");
}

}  // namespace
}  // namespace reverie
