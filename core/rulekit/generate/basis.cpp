#include "core/rulekit/generate/basis.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/error.h"

namespace reverie::generate {

bool comes_before(const ValueTable& values, const Application& x, const Application& y) {
  const auto rank = [&](const Application& of) {
    const int inputs = std::popcount(values.support_of(of));
    return std::tuple(values.operators_of(of), values.leaves_of(of) - inputs, -inputs, of.op, of.a,
                      of.b);
  };
  return rank(x) < rank(y);
}

void Basis::keep(const Identity& identity) {
  const size_t index = identities_.size();
  identities_.push_back(identity);
  if (!identity.is_accepted || identity.variables > static_cast<int>(kMostVariables)) return;
  if (identity.left.size() > 1) {
    of_two_outputs_.push_back(index);
    return;
  }
  for (const bool reversed : {false, true}) {
    const int root = reversed ? identity.right[0] : identity.left[0];
    const int op = identity.nodes[static_cast<size_t>(root)].op;
    if (op >= 0) by_operator_[static_cast<size_t>(op)].push_back({index, reversed});
  }
}

void Basis::clear() {
  identities_.clear();
  unproved_.clear();
  of_two_outputs_.clear();
  for (std::vector<Pattern>& patterns : by_operator_) patterns.clear();
}

template <class Done>
bool Basis::match(const Identity& identity, std::vector<Goal>& goals, Binding& binding,
                  Done done) const {
  if (goals.empty()) return done();
  const Goal goal = goals.back();
  goals.pop_back();
  const Identity::Node& node = identity.nodes[static_cast<size_t>(goal.node)];
  bool found = false;
  if (node.op < 0) {
    ValueId& bound = binding[static_cast<size_t>(node.variable)];
    const ValueId before = bound;
    if (before == kNoValue || before == goal.value) {
      bound = goal.value;
      found = match(identity, goals, binding, done);
      bound = before;
    }
  } else {
    found = values_.any_equal(goal.value, [&](const Application& application) {
      return application.op == node.op &&
             match_application(identity, goal.node, application, goals, binding, done);
    });
  }
  goals.push_back(goal);
  return found;
}

template <class Done>
bool Basis::match_application(const Identity& identity, int at, const Application& application,
                              std::vector<Goal>& goals, Binding& binding, Done done) const {
  const Identity::Node& node = identity.nodes[static_cast<size_t>(at)];
  const size_t depth = goals.size();
  const auto attempt = [&](ValueId a, ValueId b) {
    if (node.b >= 0) goals.push_back({node.b, b});
    if (node.a >= 0) goals.push_back({node.a, a});
    const bool found = match(identity, goals, binding, done);
    goals.resize(depth);
    return found;
  };
  if (attempt(application.a, application.b)) return true;
  return is_commutative(values_.operators()[application.op].kind) &&
         attempt(application.b, application.a);
}

bool Basis::resolve_root(const Identity& identity, int at, const Binding& binding,
                         Application& result) const {
  const Identity::Node& node = identity.nodes[static_cast<size_t>(at)];
  if (node.op < 0) {
    const ValueId value = binding[static_cast<size_t>(node.variable)];
    if (value == kNoValue) return false;
    result = values_[value].application;
    return true;
  }
  result.op = static_cast<uint8_t>(node.op);
  result.a = node.a < 0 ? kNoValue : resolve(identity, node.a, binding);
  result.b = node.b < 0 ? kNoValue : resolve(identity, node.b, binding);
  if ((node.a >= 0 && result.a == kNoValue) || (node.b >= 0 && result.b == kNoValue)) return false;
  if (node.b >= 0 && result.a == result.b) return false;
  if (result.b < result.a && is_commutative(values_.operators()[result.op].kind))
    std::swap(result.a, result.b);
  return true;
}

ValueId Basis::resolve(const Identity& identity, int at, const Binding& binding) const {
  const Identity::Node& node = identity.nodes[static_cast<size_t>(at)];
  if (node.op < 0) return binding[static_cast<size_t>(node.variable)];
  Application application;
  const bool known =
      resolve_root(identity, at, binding, application) && !unproved_.contains(application);
  return known ? values_.find(application) : kNoValue;
}

bool Basis::is_well_formed(const Application& application) const {
  if (application.op == kInputOp) return true;
  static const Extents kAbsent;
  const auto extents = [&](ValueId id) -> const Extents& {
    return id == kNoValue ? kAbsent : values_.extents(id);
  };
  return infer(values_.operators()[application.op], extents(application.a), extents(application.b),
               values_.world())
      .has_value();
}

template <class Visit>
bool Basis::any_instance(const Application& application, Visit visit) const {
  std::vector<Goal> goals;
  for (const Pattern& pattern : by_operator_[application.op]) {
    const Identity& identity = identities_[pattern.identity];
    const int root = pattern.reversed ? identity.right[0] : identity.left[0];
    const int other = pattern.reversed ? identity.left[0] : identity.right[0];
    Binding binding;
    binding.fill(kNoValue);
    const auto reached = [&] {
      Application result;
      return resolve_root(identity, other, binding, result) && is_well_formed(result) &&
             visit(result);
    };
    if (match_application(identity, root, application, goals, binding, reached)) return true;
  }
  return false;
}

bool Basis::follows(const Candidate& candidate) const {
  constexpr size_t kMostVisited = 64;
  const Application& first =
      candidate.value == kNoValue ? candidate.first : values_[candidate.value].application;
  const int most = values_.operators_of(candidate.application) + 1;
  std::vector<Application> reached = {candidate.application};
  const auto visit = [&](const Application& result) {
    if (values_.operators_of(result) > most) return false;
    if (result == first) return true;
    if (unproved_.contains(result)) return false;
    if (comes_before(values_, result, candidate.application)) return true;
    if (std::find(reached.begin(), reached.end(), result) == reached.end())
      reached.push_back(result);
    return false;
  };
  for (size_t i = 0; i < std::min(reached.size(), kMostVisited); ++i)
    if (any_instance(Application(reached[i]), visit)) return true;
  return false;
}

bool Basis::follows(uint8_t split, ValueId whole, ValueId first, ValueId second) const {
  std::vector<Goal> goals;
  for (const size_t index : of_two_outputs_) {
    const Identity& identity = identities_[index];
    const Identity::Node& part = identity.nodes[static_cast<size_t>(identity.right[0])];
    if (part.op != split) continue;
    Binding binding;
    binding.fill(kNoValue);
    goals.assign(1, {part.a, whole});
    const auto same = [&] {
      return resolve(identity, identity.left[0], binding) == first &&
             resolve(identity, identity.left[1], binding) == second;
    };
    if (match(identity, goals, binding, same)) return true;
  }
  return false;
}

}  // namespace reverie::generate
