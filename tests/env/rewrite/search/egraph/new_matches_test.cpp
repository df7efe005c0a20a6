#include "env/rewrite/search/egraph/new_matches.h"

#include <gtest/gtest.h>

#include <map>

#include "core/rules/rule.h"
#include "tests/support/op_cost.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace {

using testing::OpCost;
using Key = std::vector<int32_t>;   // rule, nodes, values
using Counts = std::map<Key, int>;  // of what was found: how often

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

bool never() { return false; }

Key key_of(int rule, const Embedding& embedding) {
  Key key = {rule};
  const Binding binding = embedding.binding();
  for (const NodeId node : binding.nodes) key.push_back(node.index);
  for (const ValueId value : binding.values) key.push_back(value.index);
  return key;
}

/// An e-graph that grows at random: nodes like those that there are on other values of their types,
/// and classes of one type made one.
class Growing {
 public:
  explicit Growing(uint64_t seed)
      : rng_(seed), cost_({}), egraph(RandomGraph::make(seed, 30), cost_) {}

  void grow() {
    if (rng_.below(3) > 0)
      add();
    else if (const ValueId a = any_value(), b = like(a); a != b)
      egraph.merge(a, b);
    egraph.rebuild();
  }

 private:
  ValueId any_value() {
    const auto count = static_cast<uint64_t>(egraph.graph().value_capacity());
    return egraph.find(ValueId{static_cast<int32_t>(rng_.below(count))});
  }

  /// Some value that may be in one class with it.
  ValueId like(ValueId value) {
    const Graph& graph = egraph.graph();
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId other = any_value();
      if (graph.type(other) == graph.type(value) && !graph.is_constant(value) &&
          !graph.is_constant(other))
        return other;
    }
    return value;
  }

  void add() {
    const Graph& graph = egraph.graph();
    const NodeId node{
        static_cast<int32_t>(rng_.below(static_cast<uint64_t>(graph.node_capacity())))};
    if (graph.inputs(node).empty()) return;
    std::vector<ValueId> inputs;
    for (const ValueId input : graph.inputs(node))
      inputs.push_back(input.valid() ? like(egraph.find(input)) : input);
    egraph.add(graph.op(node), inputs, graph.shared_attributes(node), output_types(graph, node),
               {});
  }

  Rng rng_;
  OpCost cost_;

 public:
  EGraph egraph;
};

/// By a pass over everything.
Counts all_matches(const EGraph& egraph, const MatchProgram& program) {
  Counts counts;
  Matcher matcher(egraph.graph(), &egraph);
  for (int rule = 0; rule < static_cast<int>(program.rules().size()); ++rule) {
    const MatchRule& searched = program.rules()[static_cast<size_t>(rule)];
    std::vector<bool> replaced(searched.pattern->source.size(), false);
    for (const MappedOutput& output : searched.pattern->outputs)
      replaced[static_cast<size_t>(
          searched.pattern->values[static_cast<size_t>(output.source)].producer)] = true;
    for (const NodeId node : egraph.graph().nodes())
      matcher.find(
          searched, 0, node,
          [&](int op, NodeId other) {
            return egraph.alive(other) &&
                   !(replaced[static_cast<size_t>(op)] && egraph.graph().is_constant(other));
          },
          [&](const Embedding& embedding) { ++counts[key_of(rule, embedding)]; });
  }
  return counts;
}

/// What the nodes and values of a match are called now; none where a node has left.
std::optional<Key> key_now(const EGraph& egraph, const MatchProgram& program, const Key& key) {
  const auto nodes = program.rules()[static_cast<size_t>(key[0])].pattern->source.size();
  Key now = key;
  for (size_t i = 1; i <= nodes; ++i) {
    const NodeId node = egraph.find(NodeId{now[i]});
    if (!egraph.alive(node)) return {};
    now[i] = node.index;
  }
  for (size_t i = nodes + 1; i < now.size(); ++i)
    if (now[i] >= 0) now[i] = egraph.find(ValueId{now[i]}).index;
  return now;
}

TEST(NewMatches, ThoseOfAGraphThatDoesNotGrowComeOnceEach) {
  const MatchProgram program(RuleSet::builtin());
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Growing start(seed);
    for (int step = 0; step < 60; ++step) start.grow();
    NewMatches matches(start.egraph, program);
    matches.note(start.egraph.take_changed());
    Counts counts;
    for (int rule = 0; rule < static_cast<int>(program.rules().size()); ++rule) {
      while (!matches.done(rule))
        matches.look_on(rule, kAll, never,
                        [&](const Embedding& embedding) { ++counts[key_of(rule, embedding)]; });
    }
    EXPECT_EQ(counts, all_matches(start.egraph, program)) << seed;
    found += counts.size();
  }
  EXPECT_GT(found, 1000u);
}

/// Some rules look often and others seldom, and all at once in the end.
TEST(NewMatches, NoneIsMissedWhileTheGraphGrows) {
  const MatchProgram program(RuleSet::builtin());
  const int rules = static_cast<int>(program.rules().size());
  size_t late = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Growing growing(seed);
    Rng rng(seed);
    NewMatches matches(growing.egraph, program);
    Counts before;
    const auto look = [&](int rule) {
      while (!matches.done(rule))
        matches.look_on(rule, kAll, never,
                        [&](const Embedding& embedding) { ++before[key_of(rule, embedding)]; });
    };
    for (int step = 0; step < 60; ++step) {
      matches.note(growing.egraph.take_changed());
      for (int rule = 0; rule < rules; ++rule)
        if (rng.below(static_cast<uint64_t>(rule % 7 + 1)) == 0) look(rule);
      growing.grow();
    }
    matches.note(growing.egraph.take_changed());
    for (int rule = 0; rule < rules; ++rule) look(rule);
    Counts known;
    for (const auto& [key, times] : before)
      if (const auto now = key_now(growing.egraph, program, key)) ++known[*now];
    const Counts all = all_matches(growing.egraph, program);
    for (const auto& [key, times] : all)
      EXPECT_TRUE(known.contains(key))
          << seed << ": " << program.rules()[static_cast<size_t>(key[0])].pattern->name;
    late += all.size();
  }
  EXPECT_GT(late, 1000u);
}

/// x -> Relu -> ... -> Relu.
Graph chain(int length) {
  Graph graph;
  ValueId value = graph.add_input("x", {DType::kFloat32, {4}});
  for (int i = 0; i < length; ++i) value = graph.add(i % 2 ? "Relu" : "Tanh", {value});
  graph.add_output("y", value);
  return graph;
}

/// Nodes tried after one node came to a graph of this size.
int64_t tries_of_a_change(int length) {
  OpCost cost({});
  EGraph egraph(chain(length), cost);
  const MatchProgram program(RuleSet::builtin());
  NewMatches matches(egraph, program);
  const auto look = [&] {
    matches.note(egraph.take_changed());
    for (int rule = 0; rule < static_cast<int>(program.rules().size()); ++rule)
      while (!matches.done(rule)) matches.look_on(rule, kAll, never, [](const Embedding&) {});
    return matches.tried();
  };
  const int64_t before = look();
  const Graph& graph = egraph.graph();
  const NodeId last = graph.producer(graph.outputs()[0].value);
  const ValueId input = graph.output(last);
  egraph.add(graph.op(last), std::vector{input}, graph.shared_attributes(last),
             output_types(graph, last), {});
  return look() - before;
}

TEST(NewMatches, AChangeCostsWhatItTouchesWhateverTheSizeOfTheGraph) {
  EXPECT_GT(tries_of_a_change(10), 0);
  EXPECT_EQ(tries_of_a_change(10), tries_of_a_change(1000));
}

}  // namespace
}  // namespace reverie
