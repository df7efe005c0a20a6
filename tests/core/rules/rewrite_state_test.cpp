#include "core/rules/rewrite_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "tests/support/op_cost.h"
#include "tests/support/rewrite_checks.h"

namespace reverie {
namespace {

std::shared_ptr<const RuleSet> builtin() {
  return std::make_shared<const RuleSet>(RuleSet::builtin());
}

/// Two unequal branches of convolutions with batch normalization that meet in an addition.
Graph branches() {
  Graph g;
  int count = 0;
  const auto weight = [&](Shape shape) {
    return g.add_constant(Weight::fill({DType::kFloat32, shape}, 0.5, fmt::format("w{}", count++)));
  };
  const auto unit = [&](ValueId x, int64_t in, int64_t out, int64_t kernel) {
    const ValueId c = g.add("Conv", {x, weight({out, in, kernel, kernel})},
                            {{"pads", std::vector<int64_t>(4, kernel / 2)}});
    const ValueId n = g.add("BatchNormalization",
                            {c, weight({out}), weight({out}), weight({out}), weight({out})});
    return g.add("Relu", {n});
  };
  const ValueId x = g.add_input("x", {DType::kFloat32, {1, 8, 16, 16}});
  const ValueId a = unit(x, 8, 96, 3);
  const ValueId b = unit(x, 8, 96, 1);
  const ValueId c = unit(unit(x, 8, 80, 1), 80, 96, 3);
  const ValueId sum = g.add("Add", {g.add("Add", {a, b}), c});
  g.add_output("y", g.add("Relu", {g.add("Relu", {sum})}));
  return g;
}

TEST(RewriteState, StaysConsistentAlongARandomWalk) {
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Rng rng(seed);
    RewriteState state(branches(), rules, cost);
    for (int step = 0; step < 40; ++step) {
      const Match match = random_match(state, rng);
      if (match.slot < 0) break;
      const Rewrite rewrite = state.propose(match);
      const Cost expected = state.cost() + rewrite.cost_delta;
      const int64_t bytes = state.graph().weight_bytes() + rewrite.weight_bytes_delta;
      const uint64_t hash = state.hash_after(rewrite);
      state.commit(rewrite);
      EXPECT_EQ(state.cost(), expected);
      EXPECT_EQ(state.graph().weight_bytes(), bytes);
      EXPECT_EQ(state.hash(), hash);
      expect_consistent(state, rules, cost);
      expect_canonical(state, rules, cost);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Untrue, but countable.
std::shared_ptr<const RuleSet> shedding_rules() {
  return std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule flip
match
  y = Add(a, b)
replace
  y = Add(b, a)

rule shed
match
  y = Relu(Add(x, c))
replace
  y = Tanh(x)

rule shorten
match
  y = Sigmoid(Exp(x))
replace
  y = Sigmoid(x)
)",
                                                        "shedding"));
}

std::shared_ptr<CostModel> shedding_cost() {
  return std::make_shared<testing::OpCost>(std::map<std::string, int64_t>{
      {"Add", 4}, {"Relu", 3}, {"Tanh", 2}, {"Exp", 5}, {"Sigmoid", 6}, {"Log", 7}});
}

/// Layers that all add one constant, which the search comes by in the first of them.
Graph layers_that_share(int count) {
  Graph g;
  const TensorType type{DType::kFloat32, {4}};
  ValueId x = g.add_input("x", type);
  const ValueId shared = g.add_constant(Weight::fill(type, 0.5, "c"));
  for (int i = 0; i < count; ++i) x = g.add("Relu", {g.add("Add", {g.add("Log", {x}), shared})});
  g.add_output("y", x);
  return g;
}

/// Takes the location that gains most, and gives what the step looked at; 0 where none gains.
int64_t take_best(RewriteState& state) {
  const auto best = state.ranking()();
  if (!best || best->change.count >= 0) return 0;
  state.commit(state.propose(state.location(best->rule, best->index)));
  return state.looked_at();
}

/// With each step the constant is found first in another layer, where it changes sides with what it
/// is added to: matches on the same nodes change places.
TEST(RewriteState, FollowsAConstantThatMovesFromLayerToLayer) {
  const auto rules = shedding_rules();
  const auto cost = shedding_cost();
  for (const int count : {5, 40}) {
    RewriteState state(layers_that_share(count), rules, cost);
    int steps = 0;
    while (take_best(state) > 0) {
      expect_consistent(state, rules, cost);
      ++steps;
    }
    EXPECT_EQ(steps, count);
  }
}

/// What dies with a match depends on nodes beyond it, whose uses change without it.
TEST(RewriteState, WhatDiesWithAMatchIsWatched) {
  const auto rules = shedding_rules();
  const auto cost = shedding_cost();
  Graph g;
  const TensorType type{DType::kFloat32, {4}};
  const ValueId x = g.add_input("x", type);
  const ValueId shared = g.add("Exp", {g.add_input("z", type)});
  g.add_output("y", g.add("Relu", {g.add("Add", {x, g.add("Log", {shared})})}));
  g.add_output("other", g.add("Sigmoid", {shared}));
  RewriteState state(g, rules, cost);
  const int shed = rules->find("shed");
  const auto change = [&] {
    return state.cost_delta(state.location(shed, 0)).runtime.count / 1000;
  };
  expect_consistent(state, rules, cost);
  ASSERT_EQ(change(), 2 - 3 - 4 - 7);
  const auto first = state.first_locations(shed, 1);
  EXPECT_EQ(RewriteState(state).first_locations(shed, 1), first) << "the same object";
  state.commit(state.propose(state.location(rules->find("shorten"), 0)));
  EXPECT_EQ(change(), 2 - 3 - 4 - 7 - 5);
  EXPECT_NE(state.first_locations(shed, 1), first);
  expect_consistent(state, rules, cost);
}

TEST(RewriteState, AStepLooksAtNoMoreInALargeGraph) {
  const auto most = [&](int count) {
    RewriteState state(layers_that_share(count), shedding_rules(), shedding_cost());
    int64_t most = 0, steps = 0;
    while (const int64_t looked_at = take_best(state)) {
      most = std::max(most, looked_at);
      ++steps;
    }
    EXPECT_EQ(steps, count);
    return most;
  };
  const int64_t of_some = most(100);
  EXPECT_GT(of_some, 0);
  EXPECT_EQ(most(1000), of_some);
}

TEST(RewriteState, TellsWhichNodesAStepChanged) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  RewriteState state(branches(), rules, make_cost_model("roofline:t4"));
  Rng rng(1);
  int added = 0;
  for (int step = 0; step < 20; ++step) {
    const Match match = random_match(state, rng);
    if (match.slot < 0) break;
    const Graph before = state.graph();
    const NodesChanged changed = state.commit(state.propose(match));
    const Graph& after = state.graph();
    std::vector<NodeId> expected = before.nodes();
    std::erase_if(expected, [&](NodeId node) { return std::ranges::count(changed.removed, node); });
    for (const NodeId node : changed.added)
      if (after.alive(node)) expected.push_back(node);
    std::ranges::sort(expected);
    EXPECT_EQ(expected, after.nodes());
    state.put_in_order(expected);
    EXPECT_EQ(expected, after.topological_order());
    added += static_cast<int>(changed.added.size());
  }
  EXPECT_GT(added, 20);
}

/// Pairs of operators that share nothing are found, kept up to date, and never close a cycle.
TEST(RewriteState, PatternsThatFallApartStayConsistent) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule twin_relus
apart
match
  y = Relu(a)
  z = Relu(b)
where
  shape(a) == shape(b)
replace
  y, z = Split(Relu(Concat(a, b; axis = 0)); axis = 0, split = [dim(a, 0), dim(b, 0)])

rule relu_relu
match
  y = Relu(Relu(x))
replace
  y = Relu(x)

rule tanh_apart
apart
match
  y = Relu(a)
  z = Tanh(b)
where
  uses(b) == 1
replace
  y = Relu(a)
  z = Neg(Tanh(Neg(b)))
)",
                                                                    "test"));
  const auto cost = make_cost_model("roofline:t4");
  Graph g;
  const TensorType type{DType::kFloat32, {4, 4}};
  const ValueId x = g.add_input("x", type);
  const ValueId a = g.add("Relu", {x});
  const ValueId b = g.add("Relu", {g.add("Tanh", {g.add_input("second", type)})});
  g.add_output("y", g.add("Relu", {g.add("Relu", {g.add("Add", {a, b})})}));
  g.add_output("z", g.add("Tanh", {a}));
  EXPECT_EQ(RewriteState(g, rules, cost).location_count(0), 2);  // a with b, in either order
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Rng rng(seed);
    RewriteState state(g, rules, cost);
    for (int step = 0; step < 12; ++step) {
      const Match match = random_match(state, rng);
      if (match.slot < 0) break;
      state.commit(state.propose(match));
      expect_consistent(state, rules, cost);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(RewriteState, ACopyIsIndependent) {
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  RewriteState first(branches(), rules, cost);
  const uint64_t hash = first.hash();
  const int rule = rules->find("conv_batchnorm");
  const std::vector<Match> matches = first.locations(rule);
  ASSERT_EQ(matches.size(), 4u);
  RewriteState second = first;
  second.commit(second.propose(matches[0]));
  EXPECT_EQ(first.hash(), hash);
  EXPECT_EQ(first.locations(rule).size(), 4u);
  EXPECT_EQ(second.locations(rule).size(), 3u);
  first.commit(first.propose(matches[1]));
  expect_consistent(first, rules, cost);
  expect_consistent(second, rules, cost);
}

/// Hash and cost after each step of a random walk that asks for everything a state can tell.
std::vector<std::pair<uint64_t, Cost>> walk(RewriteState state, uint64_t seed) {
  std::vector<std::pair<uint64_t, Cost>> seen;
  Rng rng(seed);
  for (int step = 0; step < 20; ++step) {
    seen.emplace_back(state.hash(), state.cost());
    const Match match = random_match(state, rng);
    if (match.slot < 0) break;
    const Rewrite rewrite = state.propose(match);
    EXPECT_EQ(state.cost_delta(match), rewrite.cost_delta);
    const uint64_t after = state.hash_after(rewrite);
    state.commit(rewrite);
    EXPECT_EQ(state.hash(), after);
  }
  return seen;
}

TEST(RewriteState, CopiesAreUsedByManyThreadsAtOnce) {
  constexpr size_t kThreads = 4;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto fresh = [] {  // its matches are not found yet
      RewriteState state(branches(), builtin(), make_cost_model("roofline:t4"));
      state.commit(state.propose(state.location(state.rules().find("conv_batchnorm"), 0)));
      return state;
    };
    std::vector<std::vector<std::pair<uint64_t, Cost>>> seen(kThreads);
    {
      const RewriteState shared = fresh();
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i, copy = shared] { seen[i] = walk(copy, 10 * seed + i); });
    }
    for (size_t i = 0; i < kThreads; ++i) EXPECT_EQ(seen[i], walk(fresh(), 10 * seed + i));
  }
}

/// What a thread read in its copy happens before what the last owner then does in place.
TEST(RewriteState, ACopyThatAnotherThreadGaveUpIsNoLongerShared) {
  RewriteState state(branches(), builtin(), make_cost_model("roofline:t4"));
  for (int i = 0; i < 50; ++i) {
    std::atomic<bool> read = false;
    std::optional<RewriteState> copy = state;
    const std::jthread reader([&] {
      EXPECT_GT(copy->graph().node_count(), 0);
      EXPECT_EQ(copy->cost(), graph_cost(copy->cost_model(), copy->graph()));
      copy.reset();
      read.store(true, std::memory_order_relaxed);
    });
    while (!read.load(std::memory_order_relaxed)) std::this_thread::yield();
    const int rule = state.rules().find("add_commute");
    state.commit(state.propose(state.locations(rule).front()));
  }
}

/// Works while it is plugged in.
class Meter : public testing::OpCost {
 public:
  Meter() : OpCost({{"Conv", 5}, {"Relu", 2}}) {}
  Cost cost(const OpSignature& signature) override {
    if (!plugged_in) throw InputError("the meter is not plugged in");
    return OpCost::cost(signature);
  }
  bool plugged_in = true;
};

/// Whether some list of locations cannot be made; `state` can then be asked again.
bool asking_throws(const RewriteState& state) {
  bool threw = false;
  for (int rule = 0; rule < state.rules().size(); ++rule) {
    try {
      state.locations(rule);
      EXPECT_FALSE(threw) << "asked again, it gave a list that cannot be complete";
    } catch (const InputError&) {
      threw = true;
    }
  }
  return threw;
}

TEST(RewriteState, AskedAgainAfterACostCouldNotBeHadItIsComplete) {
  const auto rules = builtin();
  const auto meter = std::make_shared<Meter>();
  RewriteState state(branches(), rules, meter);
  Rng rng(1);
  int threw = 0;
  for (int step = 0; step < 20; ++step) {
    state.commit(state.propose(random_match(state, rng)));
    meter->plugged_in = false;
    RewriteState copy = state;
    threw += asking_throws(copy);
    EXPECT_EQ(state.hash(), StructuralHash(state.graph()).value());
    meter->plugged_in = true;
    expect_consistent(step % 2 == 0 ? state : copy, rules, meter);
  }
  EXPECT_GT(threw, 0);
}

TEST(RewriteState, SymmetricMatchesAreOne) {
  const auto rules = builtin();
  RewriteState state(branches(), rules, make_cost_model("roofline:t4"));
  // Of the three convolutions of x two have kernel 1: one pair, not two.
  EXPECT_EQ(state.location_count(rules->find("conv_merge")), 1);
  EXPECT_EQ(state.location_count(rules->find("add_commute")), 2);
}

TEST(RewriteState, AMatchThatWouldCloseACircleIsNoLocation) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule merge
symmetric
match
  y1 = MatMul(x, a)
  y2 = MatMul(x, b)
replace
  y1, y2 = Split(MatMul(x, Concat(a, b; axis = 1)); axis = 1, split = [dim(a, 1), dim(b, 1)])
)",
                                                                    "test"));
  const auto build = [](bool chained) {
    Graph g;
    const ValueId x = g.add_input("x", {DType::kFloat32, {4, 4}});
    const ValueId a = g.add_input("a", {DType::kFloat32, {4, 4}});
    const ValueId first = g.add("MatMul", {x, a});
    const ValueId b = chained ? g.add("Relu", {first}) : g.add("Relu", {a});
    const ValueId second = g.add("MatMul", {x, b});
    g.add_output("y", g.add("Add", {first, second}));
    return g;
  };
  const auto cost = make_cost_model("roofline:t4");
  EXPECT_EQ(RewriteState(build(false), rules, cost).location_count(0), 1);
  EXPECT_EQ(RewriteState(build(true), rules, cost).location_count(0), 0);
}

/// The uses of a variable change without any matched node changing.
TEST(RewriteState, UsesOfAVariableAreWatched) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule only_user
match
  y = Relu(x)
where
  limit = rank(x) - 1
  uses(x) == limit
replace
  y = LeakyRelu(x; alpha = 0)

rule drop
match
  y = Sub(x, z)
replace
  y = z
)",
                                                                    "test"));
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {4, 4}});
  const ValueId s = g.add("Sigmoid", {x});
  g.add_output("y", g.add("Relu", {s}));
  g.add_output("z", g.add("Sub", {s, x}));
  const auto cost = make_cost_model("roofline:t4");
  RewriteState state(g, rules, cost);
  EXPECT_EQ(state.location_count(0), 0);
  state.commit(state.propose(state.locations(1)[0]));
  EXPECT_EQ(state.location_count(0), 1);
  expect_consistent(state, rules, cost);
}

TEST(RewriteState, WhatNoOutputDependsOnIsNoLocation) {
  const auto rules = builtin();
  const auto cost = make_cost_model("roofline:t4");
  Graph g = branches();
  const ValueId x = g.output(g.inputs()[0]);
  g.add("Relu", {g.add("Relu", {x})});
  const RewriteState state(g, rules, cost);
  EXPECT_EQ(state.graph().node_count(), branches().node_count());
  EXPECT_EQ(state.cost(), graph_cost(*cost, branches()));
  expect_canonical(state, rules, cost);
}

/// A target in which every value is used twice has few values and very many paths.
TEST(RewriteState, TargetsWithSharedValuesAreReadOnce) {
  std::string text = "rule deep\nmatch\n  y = Relu(x)\nreplace\n  v0 = Neg(x)\n";
  for (int i = 1; i <= 60; ++i) text += fmt::format("  v{0} = Add(v{1}, v{1})\n", i, i - 1);
  const auto rules =
      std::make_shared<const RuleSet>(RuleSet::parse(text + "  y = Neg(v60)\n", "t"));
  Graph g;
  g.add_output("y", g.add("Relu", {g.add_input("x", {DType::kFloat32, {4}})}));
  EXPECT_EQ(RewriteState(g, rules, make_cost_model("roofline:t4")).location_count(0), 1);
}

TEST(RewriteState, WhatIsStillUsedStaysAndIsPaidFor) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(R"(
rule fuse
match
  c = Conv(x, w; activation = "none")
  y = Relu(c)
replace
  y = Conv(x, w; like c, activation = "relu")
)",
                                                                    "test"));
  Graph g;
  const ValueId x = g.add_input("x", {DType::kFloat32, {1, 4, 8, 8}});
  const ValueId w = g.add_constant(Weight::fill({DType::kFloat32, {4, 4, 1, 1}}, 1, "w"));
  const ValueId c = g.add("Conv", {x, w});
  g.add_output("y", g.add("Relu", {c}));
  g.add_output("c", c);
  const auto cost = make_cost_model("roofline:t4");
  RewriteState state(g, rules, cost);
  ASSERT_EQ(state.location_count(0), 1);
  const Rewrite rewrite = state.propose(state.locations(0)[0]);
  EXPECT_GT(rewrite.cost_delta.runtime.count, 0);
  state.commit(rewrite);
  expect_consistent(state, rules, cost);
}

/// A transposition that moves an axis of `batch` alone beside one of four.
Graph transposition(int64_t batch) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {batch, 4, 3}});
  graph.add_output("y", graph.add("Transpose", {x}, {{"perm", Shape{1, 0, 2}}}));
  return graph.compacted();
}

TEST(RewriteState, OffersOnlyWhatHoldsAtEverySample) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const int rule = rules->find("transpose_as_reshape");
  const auto count = [&](const Graph& graph) {
    return RewriteState(graph, rules, make_cost_model("roofline:t4")).location_count(rule);
  };
  const std::vector<Graph> samples = {transposition(1), transposition(5)};
  EXPECT_EQ(count(samples[0]), 1);
  EXPECT_EQ(count(*Graph::of_samples(samples)), 0);
}

/// The first half of the rows, which is an output, too.
Graph first_half(int64_t rows) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2 * rows, 3}});
  const ValueId half = graph.add("Slice", {x}, {{"starts", Shape{0}}, {"ends", Shape{rows}}});
  graph.add_output("half", half);
  graph.add_output("y", graph.add("Relu", {half}));
  return graph.compacted();
}

TEST(RewriteState, ComparesAttributesAndUsesAtEverySample) {
  for (const char* condition :
       {"; ends = [2])\n y = Relu(s)", ")\n y = Relu(s)\nwhere\n uses(s) == 1 || dim(x, 0) == 4"}) {
    SCOPED_TRACE(condition);
    const auto rules = std::make_shared<const RuleSet>(RuleSet::parse(
        fmt::format("rule early\nmatch\n s = Slice(x{}\nreplace\n y = Slice(Relu(x); like s)\n",
                    condition),
        "test"));
    const auto count = [&](const Graph& graph) {
      return RewriteState(graph, rules, make_cost_model("roofline:t4")).location_count(0);
    };
    const std::vector<Graph> samples = {first_half(2), first_half(5)};
    EXPECT_EQ(count(samples[0]), 1);
    EXPECT_EQ(count(samples[1]), 0);
    EXPECT_EQ(count(*Graph::of_samples(samples)), 0);
  }
}

}  // namespace
}  // namespace reverie
