#include "core/rules/node_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/ir/structural_hash.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace {

std::vector<NodeId> ordered(const NodeOrder& order, const Graph& graph) {
  std::vector<NodeId> nodes = graph.nodes();
  std::sort(nodes.begin(), nodes.end(),
            [&](NodeId a, NodeId b) { return order.position(a) < order.position(b); });
  return nodes;
}

struct Change {
  std::vector<NodeId> touched, removed;
  bool outputs = false;
};

/// Unary nodes and additions of equal shapes, so that any value may take the place of any other.
Graph tangle(Rng& rng, int nodes) {
  Graph g;
  std::vector<ValueId> values;
  for (int i = 0; i < 3; ++i)
    values.push_back(g.add_input(fmt::format("x{}", i), {DType::kFloat32, {4}}));
  const bool deep = rng.below(2) == 0;
  const auto any = [&] {
    const size_t n = values.size();
    return values[deep && n > 4 ? n - 1 - rng.below(4) : rng.below(n)];
  };
  for (int i = 0; i < nodes; ++i)
    values.push_back(rng.below(3) == 0 ? g.add("Relu", {any()}) : g.add("Add", {any(), any()}));
  for (int i = 0; i < 3; ++i) g.add_output(fmt::format("y{}", i), any());
  g.add_output("last", values.back());
  g.erase_dead();
  return g;
}

bool depends(const Graph& graph, ValueId value, NodeId on) {
  const std::vector<ValueId> roots = {value};
  const auto order = graph.topological_order(roots);
  return std::find(order.begin(), order.end(), on) != order.end();
}

/// Uses of one value become uses of another, or of a new node on top of it or of both.
bool change_at_random(Graph& graph, Rng& rng, Change* change) {
  const std::vector<NodeId> nodes = graph.nodes();
  const auto draw = [&] { return graph.output(nodes[rng.below(nodes.size())]); };
  const ValueId from = draw();
  ValueId to = draw();
  if (from == to || &graph.op(graph.producer(from)) == &input_op()) return false;
  for (const NodeId user : graph.users(from))
    if (depends(graph, to, user)) return false;
  if (rng.below(2) == 0) {
    const ValueId other = draw();
    for (const NodeId user : graph.users(from))
      if (depends(graph, other, user)) return false;
    if (other == from || to == from) return false;
    to = rng.below(2) == 0 ? graph.add("Add", {to, other}) : graph.add("Relu", {to});
  }
  if (depends(graph, to, graph.producer(from))) return false;
  change->outputs = graph.is_output(from);
  graph.replace_all_uses(from, to, &change->touched);
  graph.erase_if_dead(graph.producer(from), &change->removed);
  if (graph.alive(graph.producer(to))) graph.erase_if_dead(graph.producer(to), &change->removed);
  return true;
}

/// Layers that all use one constant, which mostly the first one comes by first; users go there.
TEST(NodeOrder, FollowsWhereAConstantOfManyUsersIsFoundFirst) {
  int moved = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    Graph g;
    ValueId value = g.add_input("x", {DType::kFloat32, {4}});
    const ValueId shared = g.add_constant(Weight::fill({DType::kFloat32, {4}}, 0.5, "c"));
    std::vector<NodeId> users;
    const auto use = [&](ValueId other) {
      const bool first = rng.below(50) == 0;
      const ValueId sum = first ? g.add("Add", {shared, other}) : g.add("Add", {other, shared});
      users.push_back(g.producer(sum));
      return g.add("Tanh", {sum});
    };
    for (int i = 0; i < 80; ++i) {
      const ValueId left = use(value);
      const ValueId right = rng.below(2) == 0 ? use(use(value)) : g.add("Relu", {value});
      value = g.add("Mul", {left, right});
    }
    g.add_output("y", value);
    NodeOrder order(g);
    while (users.size() > 55) {
      const auto at = users.begin() + static_cast<int64_t>(rng.below(3));
      const NodeId user = *at;
      users.erase(at);
      const auto inputs = g.inputs(user);
      const ValueId other = inputs[0] == shared ? inputs[1] : inputs[0];
      std::vector<NodeId> touched, removed;
      g.replace_all_uses(g.output(user), other, &touched);
      g.erase_if_dead(user, &removed);
      const auto result = order.update(g, {touched, removed, false});
      ASSERT_FALSE(result.all);
      ASSERT_EQ(ordered(order, g), g.topological_order()) << seed;
      moved += std::ranges::count(result.nodes, g.producer(shared)) > 0;
    }
  }
  EXPECT_GT(moved, 300);
}

/// What a node passes when it moves is all whose place relative to its own changes.
TEST(NodeOrder, ANodeThatMovesPassesThoseThatChangeSides) {
  int64_t passed = 0, turned = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    Graph graph = tangle(rng, 40);
    NodeOrder order(graph);
    for (int step = 0; step < 40; ++step) {
      const NodeOrder before = order;
      const Graph old = graph;
      Change change;
      if (!change_at_random(graph, rng, &change)) continue;
      const auto moved = order.update(graph, {change.touched, change.removed, change.outputs});
      if (moved.all) continue;
      for (const NodeId node : moved.nodes) {
        const std::vector<NodeId> by = order.passed_by(node, before, moved);
        passed += std::ssize(by);
        if (node.index >= old.node_capacity()) {
          ASSERT_TRUE(by.empty());
          continue;
        }
        for (const NodeId other : graph.nodes()) {
          if (other.index >= old.node_capacity() || other == node) continue;
          if ((before.position(node) < before.position(other)) ==
              (order.position(node) < order.position(other)))
            continue;
          ++turned;
          ASSERT_GT(std::ranges::count(by, other), 0) << seed << " " << step;
        }
      }
    }
  }
  EXPECT_GT(turned, 1000);
  EXPECT_LT(passed, 20 * turned);
}

TEST(NodeOrder, FollowsTheTopologicalOrderThroughChanges) {
  int changes = 0;
  int64_t moved = 0;
  int64_t nodes = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    Graph graph = tangle(rng, 10 + static_cast<int>(seed % 60));
    NodeOrder order(graph);
    ASSERT_EQ(ordered(order, graph), graph.topological_order());
    for (int step = 0; step < 60; ++step) {
      const NodeOrder before = order;
      const Graph old = graph;
      Change change;
      if (!change_at_random(graph, rng, &change)) continue;
      const auto result = order.update(graph, {change.touched, change.removed, change.outputs});
      ASSERT_EQ(ordered(order, graph), graph.topological_order())
          << "seed " << seed << " step " << step;
      ASSERT_EQ(ordered(before, old), old.topological_order());
      ++changes;
      nodes += graph.node_count();
      moved += result.all ? graph.node_count() : static_cast<int64_t>(result.nodes.size());
      // Nodes that are not named keep their order among themselves.
      if (result.all) continue;
      std::vector<NodeId> rest = graph.nodes();
      std::erase_if(rest, [&](NodeId node) {
        return node.index >= old.node_capacity() ||
               std::find(result.nodes.begin(), result.nodes.end(), node) != result.nodes.end();
      });
      const auto by = [&](const NodeOrder& o) {
        return [&o](NodeId a, NodeId b) { return o.position(a) < o.position(b); };
      };
      std::sort(rest.begin(), rest.end(), by(before));
      ASSERT_TRUE(std::is_sorted(rest.begin(), rest.end(), by(order))) << seed;
    }
  }
  EXPECT_GT(changes, 4000);
  RecordProperty("share_moved_percent", static_cast<int>(100 * moved / nodes));
}

/// A small change in a long chain moves few, and many at one place do not use up the labels.
TEST(NodeOrder, ALocalChangeMovesLittle) {
  Graph g;
  ValueId value = g.add_input("x", {DType::kFloat32, {4}});
  std::vector<ValueId> chain;
  for (int i = 0; i < 2000; ++i)
    chain.push_back(value = g.add("Add", {g.add("Tanh", {value}), g.add("Relu", {value})}));
  g.add_output("y", value);
  NodeOrder order(g);
  for (int step = 0; step < 300; ++step) {
    const ValueId from = chain[static_cast<size_t>(step < 100 ? 1000 : 20 * (step - 100) % 2000)];
    std::vector<NodeId> touched;
    const NodeId user = g.users(from)[0];
    const ValueId old = g.output(user);
    const ValueId fresh = g.add("Sigmoid", {from});
    const bool output = g.is_output(old);
    std::vector<NodeId> removed;
    g.replace_all_uses(old, g.add("Add", {fresh, from}), &touched);
    g.erase_if_dead(user, &removed);
    const auto moved = order.update(g, {touched, removed, output});
    ASSERT_FALSE(moved.all);
    ASSERT_LT(moved.nodes.size(), 20u);
    if (step % 20 == 0) {
      ASSERT_EQ(ordered(order, g), g.topological_order());
    }
  }
  EXPECT_EQ(ordered(order, g), g.topological_order());
}

/// A new node takes the place of several before a shared input and a constant that stay: what lies
/// before them all is not searched again.
TEST(NodeOrder, AConstantThatStaysDoesNotKeepWhatIsBeforeFromStaying) {
  Graph g;
  ValueId value = g.add_input("x", {DType::kFloat32, {4}});
  std::vector<NodeId> scaled;
  for (int i = 0; i < 1000; ++i) {
    const ValueId scale = g.add_constant(Weight::fill({DType::kFloat32, {4}}, 0.5, "w"));
    const ValueId normal = g.add("Mul", {scale, g.add("Tanh", {value})});
    scaled.push_back(g.producer(normal));
    value = g.add("Add", {normal, g.add("Relu", {normal})});
  }
  g.add_output("y", value);
  NodeOrder order(g);
  for (size_t i = 10; i < scaled.size(); i += 90) {
    const auto inputs = g.inputs(scaled[i]);
    const ValueId old = g.output(scaled[i]);
    const ValueId fresh =
        g.add("Add", {g.inputs(g.producer(inputs[1]))[0], inputs[0]});  // Tanh falls away
    std::vector<NodeId> touched, removed;
    g.replace_all_uses(old, fresh, &touched);
    g.erase_if_dead(scaled[i], &removed);
    const auto moved = order.update(g, {touched, removed, false});
    ASSERT_FALSE(moved.all);
    ASSERT_LT(moved.nodes.size(), 20u);
  }
  EXPECT_EQ(ordered(order, g), g.topological_order());
}

}  // namespace
}  // namespace reverie
