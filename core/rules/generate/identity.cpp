#include "core/rules/generate/identity.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/rules/generate/field.h"

namespace reverie::generate {
namespace {

void collect(const Identity& identity, int node, std::set<int>& nodes) {
  if (node < 0 || !nodes.insert(node).second) return;
  collect(identity, identity.nodes[static_cast<size_t>(node)].a, nodes);
  collect(identity, identity.nodes[static_cast<size_t>(node)].b, nodes);
}

std::set<int> nodes_of(const Identity& identity, const std::vector<int>& roots) {
  std::set<int> nodes;
  for (const int root : roots) collect(identity, root, nodes);
  return nodes;
}

std::set<int> variables_of(const Identity& identity, const std::vector<int>& roots) {
  std::set<int> variables;
  for (const int node : nodes_of(identity, roots))
    if (identity.nodes[static_cast<size_t>(node)].op < 0)
      variables.insert(identity.nodes[static_cast<size_t>(node)].variable);
  return variables;
}

/// Other extents than those of the enumeration, in which what is equal there is not.
std::vector<World> other_worlds(const World& world, uint64_t seed) {
  World a, b;
  a.rows = 3, a.width = 2, a.batch = 2, a.channels = 4, a.height = 5, a.breadth = 4;
  b.rows = 4, b.width = 5, b.batch = 3, b.channels = 2, b.height = 2, b.breadth = 5;
  std::vector<World> worlds = {world, a, b};
  for (size_t i = 0; i < worlds.size(); ++i) {
    worlds[i].seed = hash_combine(seed, i);
    if (i > 0) worlds[i].most_elements = 1 << 14;
  }
  return worlds;
}

}  // namespace

bool Identity::is_rule() const {
  const std::set<int> read = variables_of(*this, left);
  const std::set<int> used = variables_of(*this, right);
  const bool computes = std::all_of(left.begin(), left.end(), [&](int node) {
    return nodes[static_cast<size_t>(node)].op >= 0;
  });
  return computes && std::includes(read.begin(), read.end(), used.begin(), used.end());
}

Identity Identity::reversed() const {
  Identity result = *this;
  std::swap(result.left, result.right);
  return result;
}

IdentityMaker::IdentityMaker(const ValueTable& values, uint64_t seed)
    : values_(values), worlds_(other_worlds(values.world(), seed)) {}

/// Distinct operators of both sides; the two outputs of a Split are one.
size_t IdentityMaker::operators_in(const Identity& identity) const {
  std::set<int> nodes = nodes_of(identity, identity.left);
  nodes.merge(nodes_of(identity, identity.right));
  std::set<std::tuple<int, int, int>> operators;
  for (const int at : nodes) {
    const Identity::Node& node = identity.nodes[static_cast<size_t>(at)];
    if (node.op < 0) continue;
    const bool second = values_.operators()[static_cast<size_t>(node.op)].kind == Kind::kSplitSecond;
    operators.emplace(second ? node.op - 1 : node.op, node.a, node.b);
  }
  return operators.size();
}

int IdentityMaker::add(const Application& application, Identity& identity) {
  Identity::Node node;
  if (application.op == kInputOp) {
    for (const auto& [input, at] : inputs_)
      if (input == application.a) return at;
    const int at = add_variable(identity);
    inputs_.emplace_back(application.a, at);
    for (size_t world = 0; world < worlds_.size(); ++world)
      extents_[world].push_back(
          extents_of(values_.inputs()[application.a], worlds_[world]));
    return at;
  }
  node.op = application.op;
  if (application.a != kNoValue) node.a = add(values_[application.a].application, identity);
  if (application.b != kNoValue) node.b = add(values_[application.b].application, identity);
  const auto at = std::find(identity.nodes.begin(), identity.nodes.end(), node);
  if (at != identity.nodes.end()) return static_cast<int>(at - identity.nodes.begin());
  identity.nodes.push_back(node);
  return static_cast<int>(identity.nodes.size()) - 1;
}

int IdentityMaker::add_variable(Identity& identity) {
  Identity::Node node;
  node.variable = identity.variables++;
  identity.nodes.push_back(node);
  return static_cast<int>(identity.nodes.size()) - 1;
}

Identity IdentityMaker::make(const std::vector<Application>& left,
                             const std::vector<Application>& right) {
  Identity identity;
  inputs_.clear();
  extents_.assign(worlds_.size(), {});
  for (const Application& application : left) identity.left.push_back(add(application, identity));
  for (const Application& application : right)
    identity.right.push_back(add(application, identity));
  return identity;
}

bool IdentityMaker::compute(const Identity& identity, int at, size_t world, uint64_t draw,
                            Results& results) const {
  auto& result = results[static_cast<size_t>(at)];
  if (result) return true;
  const Identity::Node& node = identity.nodes[static_cast<size_t>(at)];
  if (node.op < 0) {
    const auto variable = static_cast<size_t>(node.variable);
    result.emplace(Tensor{extents_[world][variable], {}});
    result->content.resize(static_cast<size_t>(result->extents.size()));
    Rng rng = Rng(worlds_[world].seed).fork(draw).fork(variable);
    for (uint64_t& x : result->content) x = rng.below(kPrime);
    return true;
  }
  static const Tensor kAbsent;
  for (const int operand : {node.a, node.b})
    if (operand >= 0 && !compute(identity, operand, world, draw, results)) return false;
  const Tensor& a = node.a < 0 ? kAbsent : *results[static_cast<size_t>(node.a)];
  const Tensor& b = node.b < 0 ? kAbsent : *results[static_cast<size_t>(node.b)];
  const Operator& op = values_.operators()[static_cast<size_t>(node.op)];
  const auto to = infer(op, a.extents, b.extents, worlds_[world]);
  if (!to) return false;
  Tensor out{*to, std::vector<uint64_t>(static_cast<size_t>(to->size()))};
  evaluate(op, a.extents, a.content.data(), b.extents, b.content.data(), *to, out.content.data());
  result = std::move(out);
  return true;
}

bool IdentityMaker::agree(const Identity& identity, size_t world, uint64_t draw) const {
  Results results(identity.nodes.size());
  for (size_t i = 0; i < identity.left.size(); ++i) {
    for (const int root : {identity.left[i], identity.right[i]})
      if (!compute(identity, root, world, draw, results)) return false;
    const Tensor& left = *results[static_cast<size_t>(identity.left[i])];
    const Tensor& right = *results[static_cast<size_t>(identity.right[i])];
    if (!left.extents.same_dims(right.extents) || left.content != right.content) return false;
  }
  return true;
}

bool IdentityMaker::holds(const Identity& identity) const {
  constexpr uint64_t kDraws = 2;
  for (uint64_t draw = 0; draw < kDraws; ++draw)
    for (size_t world = 0; world < worlds_.size(); ++world)
      if (!agree(identity, world, draw)) return false;
  return true;
}

/// The larger part first.
bool IdentityMaker::replace_common(Identity& identity) {
  const std::set<int> left = nodes_of(identity, identity.left);
  const std::set<int> right = nodes_of(identity, identity.right);
  for (size_t at = identity.nodes.size(); at-- > 0;) {
    const int node = static_cast<int>(at);
    const auto is_root = [&](const std::vector<int>& roots) {
      return std::find(roots.begin(), roots.end(), node) != roots.end();
    };
    if (identity.nodes[at].op < 0 || arity(values_.operators()[static_cast<size_t>(
                                               identity.nodes[at].op)].kind) == 0)
      continue;
    if (!left.contains(node) || !right.contains(node) || is_root(identity.left) ||
        is_root(identity.right))
      continue;
    Identity wider = identity;
    wider.nodes[at] = {};
    wider.nodes[at].variable = wider.variables++;
    for (size_t world = 0; world < worlds_.size(); ++world) {
      Results results(identity.nodes.size());
      if (!compute(identity, node, world, 0, results)) return false;
      extents_[world].push_back(results[at]->extents);
    }
    if (holds(wider)) {
      identity = std::move(wider);
      return true;
    }
    for (auto& extents : extents_) extents.pop_back();
  }
  return false;
}

/// Gives some uses of a variable another one.
bool IdentityMaker::split_variable(Identity& identity) {
  std::set<int> used = nodes_of(identity, identity.left);
  used.merge(nodes_of(identity, identity.right));
  for (const int leaf : used) {
    if (identity.nodes[static_cast<size_t>(leaf)].op >= 0) continue;
    std::vector<std::pair<int, bool>> uses;  // the node, and whether it is its second operand
    for (const int node : used) {
      if (identity.nodes[static_cast<size_t>(node)].a == leaf) uses.emplace_back(node, false);
      if (identity.nodes[static_cast<size_t>(node)].b == leaf) uses.emplace_back(node, true);
    }
    constexpr size_t kMostUses = 10;
    if (uses.size() < 2 || uses.size() > kMostUses) continue;
    const auto variable = static_cast<size_t>(identity.nodes[static_cast<size_t>(leaf)].variable);
    for (uint32_t moved = 1; moved < (uint32_t{1} << (uses.size() - 1)); ++moved) {
      Identity wider = identity;
      const int fresh = add_variable(wider);
      for (size_t i = 0; i < uses.size(); ++i) {
        auto& node = wider.nodes[static_cast<size_t>(uses[i].first)];
        if ((moved >> i & 1) != 0) (uses[i].second ? node.b : node.a) = fresh;
      }
      for (auto& extents : extents_) {
        const Extents same = extents[variable];
        extents.push_back(same);
      }
      // Uses of one Split stay together: two of them would be an operator more.
      if (operators_in(wider) == operators_in(identity) && holds(wider)) {
        identity = std::move(wider);
        return true;
      }
      for (auto& extents : extents_) extents.pop_back();
    }
  }
  return false;
}

Identity IdentityMaker::generalised(Identity identity) {
  while (replace_common(identity) || split_variable(identity)) {}
  return identity;
}

}  // namespace reverie::generate
