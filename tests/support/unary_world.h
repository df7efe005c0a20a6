#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "core/rules/rewrite_state.h"
#include "tests/support/op_cost.h"

/// A world of unary operators for tests of search: the rules need not be true, only countable.
///
///   Tanh 10 --climb--> Sigmoid 11 --leap--> Neg 3      a gain behind a rise
///   Exp 5 --there--> Log 5 --back--> Exp 5             equal costs, undone
///   Sqrt 6 --shave--> Abs 4                            a plain gain
///   Relu 5 --weigh--> Add of a constant 1              a gain that costs weights
namespace reverie::testing {

inline constexpr const char* kUnaryRules = R"(
rule climb
match
  y = Tanh(x)
replace
  y = Sigmoid(x)

rule leap
match
  y = Sigmoid(x)
replace
  y = Neg(x)

rule there
match
  y = Exp(x)
replace
  y = Log(x)

rule back
match
  y = Log(x)
replace
  y = Exp(x)

rule shave
match
  y = Sqrt(x)
replace
  y = Abs(x)

rule weigh
match
  y = Relu(x)
replace
  y = Add(x, fill(0.5, shape(x), dtype(x)))
)";

inline std::shared_ptr<const RuleSet> unary_rules() {
  static const auto rules =
      std::make_shared<const RuleSet>(RuleSet::parse(kUnaryRules, "unary_world"));
  return rules;
}

inline std::shared_ptr<CostModel> unary_cost() {
  return std::make_shared<OpCost>(std::map<std::string, int64_t>{{"Tanh", 10},
                                                                 {"Sigmoid", 11},
                                                                 {"Neg", 3},
                                                                 {"Exp", 5},
                                                                 {"Log", 5},
                                                                 {"Sqrt", 6},
                                                                 {"Abs", 4},
                                                                 {"Relu", 5},
                                                                 {"Add", 1}});
}

/// One chain of operators per entry, each from an input of its own to an output of its own. Every
/// chain ends in Floor, which no rule touches.
inline Graph chains(const std::vector<std::vector<std::string>>& operators) {
  Graph graph;
  for (size_t i = 0; i < operators.size(); ++i) {
    ValueId value = graph.add_input(fmt::format("x{}", i), {DType::kFloat32, {4}});
    for (const std::string& op : operators[i]) value = graph.add(op, {value});
    graph.add_output(fmt::format("y{}", i), graph.add("Floor", {value}));
  }
  return graph;
}

inline RewriteState unary_state(const std::vector<std::vector<std::string>>& operators) {
  return {chains(operators), unary_rules(), unary_cost()};
}

}  // namespace reverie::testing
