#include "core/ir/structural_hash.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/random.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace {

const TensorType kVector{DType::kFloat32, {8}};

/// The same graph with its nodes added in a random order (users after producers).
Graph shuffled(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  Graph result;
  std::vector<ValueId> moved(static_cast<size_t>(graph.value_capacity()));
  for (const NodeId input : graph.inputs())
    moved[static_cast<size_t>(graph.output(input).index)] =
        result.add_input(graph.input_name(input), graph.type(graph.output(input)));
  std::vector<NodeId> waiting;
  for (const NodeId node : graph.nodes())
    if (&graph.op(node) != &input_op()) waiting.push_back(node);
  while (!waiting.empty()) {
    const size_t at = rng.below(waiting.size());
    const NodeId node = waiting[at];
    std::vector<ValueId> inputs;
    for (const ValueId input : graph.inputs(node))
      inputs.push_back(input.valid() ? moved[static_cast<size_t>(input.index)] : ValueId{});
    const auto ready = [&](size_t i) {
      return inputs[i].valid() || !graph.inputs(node)[i].valid();
    };
    bool all_ready = true;
    for (size_t i = 0; i < inputs.size(); ++i) all_ready &= ready(i);
    if (!all_ready) continue;
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(at));
    if (graph.weight(node)) {
      moved[static_cast<size_t>(graph.output(node).index)] =
          result.add_constant(graph.weight(node));
      continue;
    }
    const NodeId added = result.add_node(graph.op(node), inputs, graph.shared_attributes(node),
                                         output_types(graph, node));
    for (size_t i = 0; i < graph.outputs(node).size(); ++i)
      moved[static_cast<size_t>(graph.outputs(node)[i].index)] =
          result.output(added, static_cast<int>(i));
  }
  for (const GraphOutput& output : graph.outputs())
    result.add_output(output.name, moved[static_cast<size_t>(output.value.index)]);
  return result;
}

uint64_t hash_of(const Graph& graph) { return StructuralHash(graph).value(); }

TEST(StructuralHash, DoesNotDependOnTheOrderOfNodes) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = random_graph(seed);
    const Graph other = shuffled(graph, seed + 1);
    EXPECT_EQ(hash_of(graph), hash_of(other)) << seed;
    EXPECT_TRUE(isomorphic(graph, other)) << seed;
    EXPECT_TRUE(isomorphic(graph, graph.compacted())) << seed;
  }
}

TEST(StructuralHash, TellsRandomGraphsApart) {
  std::vector<uint64_t> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    seen.push_back(hash_of(random_graph(seed)));
    EXPECT_FALSE(isomorphic(random_graph(seed), random_graph(seed + 1)));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

struct Edit {
  std::vector<NodeId> changed;
  std::vector<NodeId> removed;
};

/// Puts `value` in the place of the only output of `node`.
Edit replace(Graph& graph, NodeId node, ValueId value, bool fresh) {
  Edit edit;
  if (fresh) edit.changed.push_back(graph.producer(value));
  graph.replace_all_uses(graph.output(node), value, &edit.changed);
  graph.erase_if_dead(node, &edit.removed);
  return edit;
}

/// Copies a node, changes places of its inputs, makes it another operator, or takes it out.
Edit random_edit(Graph& graph, Rng& rng) {
  const std::vector<NodeId> nodes = graph.nodes();
  const NodeId node = nodes[rng.below(nodes.size())];
  const OpSchema& op = graph.op(node);
  const auto inputs = graph.inputs(node);
  if (inputs.empty() || graph.outputs(node).size() != 1 || graph.use_count(graph.output(node)) == 0)
    return {};
  std::vector<ValueId> used(inputs.begin(), inputs.end());
  const OpSchema* other = &op;
  if (op.commutative && rng.below(2) == 0) {
    std::swap(used[0], used[1]);
  } else if (op.elementwise && used.size() == 1) {
    if (graph.type(used[0]) == graph.type(graph.output(node)) && rng.below(3) == 0)
      return replace(graph, node, used[0], false);
    if (graph.attributes(node).empty()) other = &op_named(rng.below(2) == 0 ? "Tanh" : "Sigmoid");
  }
  if (other != &op && !is_floating(graph.type(used[0]).dtype)) return {};
  const NodeId added =
      graph.add_node(*other, used, graph.shared_attributes(node), output_types(graph, node));
  return replace(graph, node, graph.output(added), true);
}

TEST(StructuralHash, UpdatedByDifferenceEqualsFromScratch) {
  int edits = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    Graph graph = random_graph(seed, 40);
    StructuralHash hash(graph);
    for (int step = 0; step < 20; ++step) {
      const Edit edit = random_edit(graph, rng);
      edits += !edit.changed.empty();
      hash.update(graph, edit.changed, edit.removed);
      const StructuralHash fresh(graph);
      ASSERT_EQ(hash.value(), fresh.value()) << "seed " << seed << ", step " << step;
      for (const NodeId node : graph.nodes()) ASSERT_EQ(hash.of(node), fresh.of(node));
    }
    graph.validate();
  }
  EXPECT_GT(edits, 300);
}

TEST(StructuralHash, EditsInAnotherOrderGiveTheSame) {
  const auto chain = [](bool first, bool second) {
    Graph graph;
    ValueId x = graph.add_input("x", kVector);
    for (const bool tanh : {first, false, false, false, second})
      x = graph.add(tanh ? "Tanh" : "Relu", {x});
    graph.add_output("y", x);
    return graph;
  };
  const auto make_tanh = [](Graph& graph, StructuralHash& hash, int index) {
    const NodeId node{index};
    const ValueId fresh = graph.add("Tanh", {graph.inputs(node)[0]});
    const Edit edit = replace(graph, node, fresh, true);
    hash.update(graph, edit.changed, edit.removed);
  };
  for (const auto& order : {std::pair(1, 5), std::pair(5, 1)}) {
    Graph graph = chain(false, false);
    StructuralHash hash(graph);
    make_tanh(graph, hash, order.first);
    make_tanh(graph, hash, order.second);
    EXPECT_EQ(hash.value(), hash_of(chain(true, true)));
  }
}

/// x -> op -> Relu * behind -> y; the last node is the output's producer.
Graph behind(const std::string& op, int relus) {
  Graph graph;
  ValueId x = graph.add(op, {graph.add_input("x", kVector)});
  for (int i = 0; i < relus; ++i) x = graph.add("Relu", {x});
  graph.add_output("y", x);
  return graph;
}

TEST(StructuralHash, ANodeKnowsItsAncestorsUpToTheRadius) {
  for (int relus = 0; relus < 6; ++relus) {
    const Graph a = behind("Tanh", relus);
    const Graph b = behind("Sigmoid", relus);
    const NodeId last_a = a.producer(a.outputs()[0].value);
    const NodeId last_b = b.producer(b.outputs()[0].value);
    EXPECT_EQ(StructuralHash(a).of(last_a) == StructuralHash(b).of(last_b),
              relus > StructuralHash::kRadius);
    EXPECT_NE(hash_of(a), hash_of(b));
  }
}

TEST(StructuralHash, SharingIsNotDuplication) {
  const auto sum = [](bool shared) {
    Graph graph;
    const ValueId x = graph.add_input("x", kVector);
    const ValueId left = graph.add("Relu", {x});
    const ValueId right = shared ? left : graph.add("Relu", {x});
    graph.add_output("y", graph.add("Add", {left, right}));
    return graph;
  };
  EXPECT_NE(hash_of(sum(true)), hash_of(sum(false)));
  EXPECT_FALSE(isomorphic(sum(true), sum(false)));
}

/// Two pairs of like nodes joined crosswise or not: equal in every neighbourhood, so that the hash
/// alone could not decide, were the copies farther apart than the radius.
TEST(StructuralHash, IsomorphicRefusesWhatTheHashCannotTell) {
  const auto joined = [](bool crossed) {
    Graph graph;
    std::vector<ValueId> ends;
    for (const char* op : {"Tanh", "Sigmoid"}) {
      ValueId x = graph.add(op, {graph.add_input(op, kVector)});
      for (int i = 0; i <= StructuralHash::kRadius; ++i) x = graph.add("Relu", {x});
      ends.push_back(x);
    }
    const ValueId lone = graph.add("Neg", {ends[crossed ? 1 : 0]});
    graph.add_output("y", graph.add("Sub", {lone, ends[crossed ? 0 : 1]}));
    return graph;
  };
  EXPECT_EQ(hash_of(joined(false)), hash_of(joined(true)));
  EXPECT_FALSE(isomorphic(joined(false), joined(true)));
}

TEST(StructuralHash, NamesAndOrderOfOutputsCount) {
  const auto outputs = [](std::vector<std::pair<std::string, std::string>> named) {
    Graph graph;
    const ValueId x = graph.add_input("x", kVector);
    const ValueId tanh = graph.add("Tanh", {x});
    const ValueId relu = graph.add("Relu", {x});
    for (const auto& [name, op] : named) graph.add_output(name, op == "Tanh" ? tanh : relu);
    return graph;
  };
  const Graph graph = outputs({{"a", "Tanh"}, {"b", "Relu"}});
  for (const Graph& other :
       {outputs({{"a", "Tanh"}, {"c", "Relu"}}), outputs({{"b", "Relu"}, {"a", "Tanh"}}),
        outputs({{"a", "Relu"}, {"b", "Tanh"}})}) {
    EXPECT_NE(hash_of(graph), hash_of(other));
    EXPECT_FALSE(isomorphic(graph, other));
  }
}

TEST(StructuralHash, EqualAttributesHaveEqualHashes) {
  const Attributes plus{{"value", 0.0}, {"list", std::vector<double>{0.0, 1.0}}};
  const Attributes minus{{"value", -0.0}, {"list", std::vector<double>{-0.0, 1.0}}};
  EXPECT_EQ(plus, minus);
  EXPECT_EQ(plus.hash(), minus.hash());
}

TEST(StructuralHash, AttributesTypesAndConstantsCount) {
  const auto sliced = [](int64_t start, float shift, DType dtype) {
    Graph graph;
    const ValueId x = graph.add_input("x", {dtype, {8}});
    const ValueId part = graph.add(
        "Slice", {x},
        {{"starts", std::vector<int64_t>{start}}, {"ends", std::vector<int64_t>{start + 2}}});
    const ValueId by =
        graph.add_constant(Weight::dense(Tensor::of<float>({}, {shift}).cast(dtype), ""));
    graph.add_output("y", graph.add("Add", {part, by}));
    return graph;
  };
  const Graph graph = sliced(0, 1, DType::kFloat32);
  EXPECT_TRUE(isomorphic(graph, sliced(0, 1, DType::kFloat32)));
  for (const Graph& other : {sliced(1, 1, DType::kFloat32), sliced(0, 2, DType::kFloat32),
                             sliced(0, 1, DType::kFloat64)}) {
    EXPECT_NE(hash_of(graph), hash_of(other));
    EXPECT_FALSE(isomorphic(graph, other));
  }
}

}  // namespace
}  // namespace reverie
