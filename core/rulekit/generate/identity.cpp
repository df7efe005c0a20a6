#include "core/rulekit/generate/identity.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/rulekit/field/prime_field.h"

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
  for (int turn = 1; turn < 4; ++turn) {
    worlds.push_back(world);
    worlds.back().turned_kernels = turn;
  }
  for (size_t i = 0; i < worlds.size(); ++i) {
    worlds[i].seed = hash_combine(seed, i);
    if (i > 0) worlds[i].most_elements = 1 << 14;
  }
  return worlds;
}

int copy(const Identity& from, int node, bool share, std::vector<int>& leaves, Identity& to) {
  if (node < 0) return -1;
  Identity::Node made = from.nodes[static_cast<size_t>(node)];
  if (made.op < 0) {
    int& leaf = leaves[static_cast<size_t>(made.variable)];
    if (leaf < 0) {
      leaf = static_cast<int>(to.nodes.size());
      to.nodes.push_back(made);
    }
    return leaf;
  }
  made.a = copy(from, made.a, share, leaves, to);
  made.b = copy(from, made.b, share, leaves, to);
  const auto known = share ? std::find(to.nodes.begin(), to.nodes.end(), made) : to.nodes.end();
  if (known != to.nodes.end()) return static_cast<int>(known - to.nodes.begin());
  to.nodes.push_back(made);
  return static_cast<int>(to.nodes.size()) - 1;
}

Identity copied(const Identity& from, bool share) {
  Identity to;
  to.variables = from.variables;
  std::vector<int> leaves(static_cast<size_t>(from.variables), -1);
  for (const int root : from.left) to.left.push_back(copy(from, root, share, leaves, to));
  for (const int root : from.right) to.right.push_back(copy(from, root, share, leaves, to));
  return to;
}

/// An operator for each use of its result.
Identity unshared(const Identity& identity) { return copied(identity, false); }
/// Each operator on the same operands once.
Identity shared(const Identity& identity) { return copied(identity, true); }

}  // namespace

bool Identity::is_rule() const {
  const std::set<int> read = variables_of(*this, left);
  const std::set<int> used = variables_of(*this, right);
  const bool computes = std::all_of(
      left.begin(), left.end(), [&](int node) { return nodes[static_cast<size_t>(node)].op >= 0; });
  return computes && std::includes(read.begin(), read.end(), used.begin(), used.end());
}

Identity Identity::reversed() const {
  Identity result = *this;
  std::swap(result.left, result.right);
  return result;
}

IdentityMaker::IdentityMaker(const ValueTable& values, int most_operators, uint64_t seed)
    : values_(values),
      most_operators_(most_operators),
      worlds_(other_worlds(values.world(), seed)) {}

/// The two outputs of a Split are one operator.
int IdentityMaker::operators_in(const Identity& identity, const std::vector<int>& roots) const {
  std::set<std::tuple<int, int, int>> operators;
  for (const int at : nodes_of(identity, roots)) {
    const Identity::Node& node = identity.nodes[static_cast<size_t>(at)];
    if (node.op < 0) continue;
    const bool second =
        values_.operators()[static_cast<size_t>(node.op)].kind == Kind::kSplitSecond;
    operators.emplace(second ? node.op - 1 : node.op, node.a, node.b);
  }
  return static_cast<int>(operators.size());
}

int IdentityMaker::add(const Application& application, Identity& identity) {
  Identity::Node node;
  if (application.op == kInputOp) {
    for (const auto& [input, at] : inputs_)
      if (input == application.a) return at;
    const int at = add_variable(identity);
    inputs_.emplace_back(application.a, at);
    for (size_t world = 0; world < worlds_.size(); ++world)
      extents_[world].push_back(extents_of(values_.inputs()[application.a], worlds_[world]));
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
  for (const Application& application : right) identity.right.push_back(add(application, identity));
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
    for (uint64_t& x : result->content) x = rng.below(field::kPrime);
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

std::optional<bool> IdentityMaker::agree(const Identity& identity, size_t world,
                                         uint64_t draw) const {
  Results results(identity.nodes.size());
  for (size_t i = 0; i < identity.left.size(); ++i) {
    for (const int root : {identity.left[i], identity.right[i]})
      if (!compute(identity, root, world, draw, results)) return {};
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
      if (worlds_[world].turned_kernels == 0 && !agree(identity, world, draw).value_or(false))
        return false;
  return true;
}

bool IdentityMaker::holds_for_all_kernels(const Identity& identity) const {
  for (size_t world = 0; world < worlds_.size(); ++world)
    if (worlds_[world].turned_kernels != 0 && !agree(identity, world, 0).value_or(true))
      return false;
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
    if (identity.nodes[at].op < 0 ||
        arity(values_.operators()[static_cast<size_t>(identity.nodes[at].op)].kind) == 0)
      continue;
    if (!left.contains(node) || !right.contains(node) || is_root(identity.left) ||
        is_root(identity.right))
      continue;
    Identity wider = identity;
    wider.nodes[at] = {};
    wider.nodes[at].variable = wider.variables++;
    for (size_t world = 0; world < worlds_.size(); ++world) {
      Results results(identity.nodes.size());
      const bool computed = compute(identity, node, world, 0, results);
      extents_[world].push_back(computed ? results[at]->extents : Extents());
    }
    if (holds(wider)) {
      identity = std::move(wider);
      return true;
    }
    for (auto& extents : extents_) extents.pop_back();
  }
  return false;
}

/// Gives some uses of a variable another one. Parts that are read twice are taken as two.
bool IdentityMaker::split_variable(Identity& identity) {
  const Identity tree = unshared(identity);
  for (size_t leaf = 0; leaf < tree.nodes.size(); ++leaf) {
    if (tree.nodes[leaf].op >= 0) continue;
    std::vector<std::pair<size_t, bool>> uses;  // the node, and whether it is its second operand
    for (size_t node = 0; node < tree.nodes.size(); ++node) {
      if (tree.nodes[node].a == static_cast<int>(leaf)) uses.emplace_back(node, false);
      if (tree.nodes[node].b == static_cast<int>(leaf)) uses.emplace_back(node, true);
    }
    constexpr size_t kMostUses = 10;
    if (uses.size() < 2 || uses.size() > kMostUses) continue;
    const auto variable = static_cast<size_t>(tree.nodes[leaf].variable);
    for (auto& extents : extents_) {
      const Extents same = extents[variable];
      extents.push_back(same);
    }
    for (uint32_t moved = 1; moved < (uint32_t{1} << (uses.size() - 1)); ++moved) {
      Identity wider = tree;
      const int fresh = add_variable(wider);
      for (size_t i = 0; i < uses.size(); ++i) {
        auto& node = wider.nodes[uses[i].first];
        if ((moved >> i & 1) != 0) (uses[i].second ? node.b : node.a) = fresh;
      }
      wider = shared(wider);
      if (operators_in(wider, wider.left) <= most_operators_ &&
          operators_in(wider, wider.right) <= most_operators_ && holds(wider)) {
        identity = std::move(wider);
        return true;
      }
    }
    for (auto& extents : extents_) extents.pop_back();
  }
  return false;
}

Identity IdentityMaker::generalised(Identity identity) {
  while (replace_common(identity) || split_variable(identity)) {
  }
  return identity;
}

}  // namespace reverie::generate
