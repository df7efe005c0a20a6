#include "core/rulekit/taso/ranks.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/rulekit/taso/operators.h"

namespace reverie {

TasoRanks::TasoRanks(const TasoRule& rule) {
  for (const bool source : {true, false})
    for (const TasoOp& op : source ? rule.source : rule.target)
      for (const TasoTensor& input : op.inputs) of(source, input);
  add(rule.source, true);
  add(rule.target, false);
  for (const TasoOutput& output : rule.outputs)
    groups_.join(of(true, output.source), of(false, output.target));
  for (const auto& [item, rank] : fixed_) {
    const auto [at, fresh] = by_root_.emplace(groups_.root(item), rank);
    if (!fresh && at->second != rank)
      throw InputError("a tensor would have {} and {} dimensions", at->second, rank);
  }
  for (const auto& [item, least] : at_least_) {
    int& known = least_[groups_.root(item)];
    known = std::max(known, least);
  }
}

bool TasoRanks::fixed(bool source, TasoTensor tensor) {
  return by_root_.contains(groups_.root(of(source, tensor)));
}

int TasoRanks::rank(bool source, TasoTensor tensor, const std::function<int(int)>& choose) {
  const int root = groups_.root(of(source, tensor));
  if (const auto at = by_root_.find(root); at != by_root_.end()) {
    if (at->second < least_[root]) throw InputError("{} dimensions are too few", at->second);
    return at->second;
  }
  const auto [at, fresh] = chosen_.emplace(root, 0);
  if (fresh) at->second = choose(std::max(1, least_[root]));
  return at->second;
}

/// External inputs are the same on both sides.
int TasoRanks::of(bool source, TasoTensor tensor) {
  const auto key = std::pair(source || tensor.op < 0, tensor);
  const auto at = items_.find(key);
  return at != items_.end() ? at->second : items_.emplace(key, groups_.add()).first->second;
}

void TasoRanks::add(const std::vector<TasoOp>& side, bool source) {
  for (int i = 0; i < static_cast<int>(side.size()); ++i) {
    const TasoOp& op = side[static_cast<size_t>(i)];
    check_taso_inputs(op);
    const int first = of(source, {i, 0});
    for (int output = 1; output < op.outputs(); ++output)
      groups_.join(first, of(source, {i, output}));
    relate(op, first, source);
  }
}

/// Constants say their ranks themselves; nearly all others leave the rank of their operands.
void TasoRanks::relate(const TasoOp& op, int output, bool source) {
  const int rank = op.parameter(taso_key::kRank, 0);
  const TasoOpFacts& facts = taso_facts(op.type);
  if (facts.constant()) {
    const int own = op.type == taso_op::kOne ? rank : op.type == taso_op::kIdentityMatrix ? 2 : 4;
    if (own > 0) fixed_.emplace_back(output, own);
    return;
  }
  const int first = of(source, op.inputs[0]);
  if (op.type == taso_op::kScale)
    fixed_.emplace_back(of(source, op.inputs[1]), 0);
  else
    for (const TasoTensor& input : op.inputs) groups_.join(first, of(source, input));
  if (facts.has(taso_key::kAxis)) check_axis(op, first);
  if (op.type == taso_op::kTranspose)
    fixed_.emplace_back(first, static_cast<int>(permutation_of(op).size()));
  if (op.type == taso_op::kMatMul) at_least_.emplace_back(first, 2);
  if (facts.has(taso_key::kKernelHeight) || op.type == taso_op::kConv)
    fixed_.emplace_back(first, 4);
  if (drops_dimension(op))
    fixed_.emplace_back(output, rank - 1);
  else
    groups_.join(first, output);
}

void TasoRanks::check_axis(const TasoOp& op, int item) {
  const int axis = op.parameter(taso_key::kAxis, -1);
  const int rank = op.parameter(taso_key::kRank, 0);
  constexpr int kMostDimensions = 8;
  if (axis < 0 || axis >= kMostDimensions || rank > kMostDimensions)
    throw InputError("axis {} of {} dimensions", axis, rank);
  if (drops_dimension(op) && rank == 0)
    throw InputError("operator type {} drops one of a number of dimensions that is not stated",
                     op.type);
  at_least_.emplace_back(item, axis + (op.type == taso_op::kReshape ? 2 : 1));
  if (rank > 0) fixed_.emplace_back(item, rank);
}

}  // namespace reverie
