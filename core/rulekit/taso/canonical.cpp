#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/rulekit/taso/operators.h"
#include "core/rulekit/taso/translate.h"

namespace reverie::taso {
namespace {

/// A tensor written out as the expression that computes it.
std::string term(const std::vector<TasoOp>& side, TasoTensor tensor,
                 const std::map<int, int>& names) {
  if (tensor.op < 0) return fmt::format("x{}", names.at(tensor.op));
  const TasoOp& op = side[static_cast<size_t>(tensor.op)];
  std::vector<std::string> inputs;
  for (const TasoTensor& input : op.inputs) inputs.push_back(term(side, input, names));
  const TasoOpFacts& facts = taso_facts(op.type);
  if (facts.commutative) std::sort(inputs.begin(), inputs.end());
  std::vector<int> parameters;
  for (const int key : facts.keys) parameters.push_back(op.parameter(key, 0));
  return fmt::format("{}.{}[{}]({})", op.type, tensor.output, fmt::join(parameters, ":"),
                     fmt::join(inputs, ","));
}

std::vector<int> inputs_of(const TasoRule& rule) {
  std::set<int> inputs;
  for (const auto* side : {&rule.source, &rule.target})
    for (const TasoOp& op : *side)
      for (const TasoTensor& input : op.inputs)
        if (input.op < 0) inputs.insert(input.op);
  return {inputs.begin(), inputs.end()};
}

std::string form(const TasoRule& rule, const std::map<int, int>& names) {
  std::vector<std::string> outputs;
  for (const TasoOutput& output : rule.outputs)
    outputs.push_back(term(rule.source, output.source, names) + " -> " +
                      term(rule.target, output.target, names));
  std::sort(outputs.begin(), outputs.end());
  return fmt::format("{}", fmt::join(outputs, "; "));
}

}  // namespace

std::string canonical_form(const TasoRule& rule) {
  constexpr size_t kMostPermuted = 6;
  const std::vector<int> inputs = inputs_of(rule);
  std::vector<int> order(inputs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::string best;
  do {
    std::map<int, int> names;
    for (size_t i = 0; i < inputs.size(); ++i) names[inputs[i]] = order[i];
    std::string candidate = form(rule, names);
    if (best.empty() || candidate < best) best = std::move(candidate);
  } while (inputs.size() <= kMostPermuted && std::next_permutation(order.begin(), order.end()));
  return best;
}

bool is_trivial(const TasoRule& rule) {
  std::map<int, int> names;
  for (const int input : inputs_of(rule)) names[input] = input;
  return std::all_of(rule.outputs.begin(), rule.outputs.end(), [&](const TasoOutput& output) {
    return term(rule.source, output.source, names) == term(rule.target, output.target, names);
  });
}

}  // namespace reverie::taso
