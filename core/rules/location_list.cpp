#include "core/rules/location_list.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {

bool MatchOrder::operator()(int32_t a, int32_t b) const {
  const StoredMatch& x = matches_[a];
  const StoredMatch& y = matches_[b];
  if (x.root != y.root) return order_.position(x.root) < order_.position(y.root);
  const auto& nodes_x = x.binding->nodes;
  const auto& nodes_y = y.binding->nodes;
  for (size_t i = 0; i < nodes_x.size(); ++i)
    if (nodes_x[i] != nodes_y[i]) return order_.position(nodes_x[i]) < order_.position(nodes_y[i]);
  const auto& values_x = x.binding->values;
  const auto& values_y = y.binding->values;
  for (size_t i = 0; i < std::min(values_x.size(), values_y.size()); ++i) {
    if (values_x[i] == values_y[i]) continue;
    if (!values_x[i].valid() || !values_y[i].valid()) return !values_x[i].valid();
    const NodeId from_x = graph_.producer(values_x[i]);
    const NodeId from_y = graph_.producer(values_y[i]);
    if (from_x != from_y) return order_.position(from_x) < order_.position(from_y);
    return graph_.output_index(values_x[i]) < graph_.output_index(values_y[i]);
  }
  if (values_x.size() != values_y.size()) return values_x.size() < values_y.size();
  return x.binding->offsets < y.binding->offsets;
}

LocationList::LocationList(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) root_ = join(root_, new Node(entry));
}

void LocationList::release(Node* node) {
  if (node == nullptr || node->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  release(node->left);
  release(node->right);
  delete node;
}

bool LocationList::above(const Node* a, const Node* b) {
  return mix64(static_cast<uint64_t>(a->entry.slot)) > mix64(static_cast<uint64_t>(b->entry.slot));
}

void LocationList::own(Node*& node) {
  if (node->refs.load(std::memory_order_acquire) == 1) return;
  auto* copy = new Node(*node);
  release(std::exchange(node, copy));
}

void LocationList::update(Node& node) {
  node.size = 1 + size_of(node.left) + size_of(node.right);
  node.least = node.entry.change;
  for (const Node* child : {node.left, node.right})
    if (child != nullptr) node.least = std::min(node.least, child->least);
}

/// Takes a list apart where the slot belongs.
void LocationList::split(Node* node, int32_t slot, const MatchOrder& before, Node*& left,
                         Node*& right) {
  left = right = nullptr;
  if (node == nullptr) return;
  own(node);
  if (before(slot, node->entry.slot)) {
    split(std::exchange(node->left, nullptr), slot, before, left, node->left);
    right = node;
  } else {
    split(std::exchange(node->right, nullptr), slot, before, node->right, right);
    left = node;
  }
  update(*node);
}

/// One list behind the other.
LocationList::Node* LocationList::join(Node* left, Node* right) {
  if (left == nullptr || right == nullptr) return left == nullptr ? right : left;
  Node*& top = above(left, right) ? left : right;
  own(top);
  if (top == left)
    left->right = join(left->right, right);
  else
    right->left = join(left, right->left);
  update(*top);
  return top;
}

int32_t LocationList::operator[](int index) const {
  REVERIE_CHECK(index >= 0 && index < size(), "there is no location {} of {}", index, size());
  const Node* at = root_;
  while (index != size_of(at->left)) {
    const int passed = size_of(at->left) + 1;
    if (index < passed) {
      at = at->left;
    } else {
      index -= passed;
      at = at->right;
    }
  }
  return at->entry.slot;
}

int LocationList::index_of(int32_t slot, const MatchOrder& before) const {
  int passed = 0;
  for (const Node* at = root_; at != nullptr;) {
    if (at->entry.slot == slot) return passed + size_of(at->left);
    if (before(slot, at->entry.slot)) {
      at = at->left;
    } else {
      passed += size_of(at->left) + 1;
      at = at->right;
    }
  }
  REVERIE_CHECK(false, "match {} is not where it belongs", slot);
  return -1;
}

void LocationList::insert(const Entry& entry, const MatchOrder& before) {
  Node *left = nullptr, *right = nullptr;
  split(root_, entry.slot, before, left, right);
  root_ = join(join(left, new Node(entry)), right);
}

template <class Use>
void LocationList::edit(Node*& node, int32_t slot, const MatchOrder& before, const Use& use) {
  REVERIE_CHECK(node != nullptr, "match {} is not where it belongs", slot);
  own(node);
  if (node->entry.slot == slot) return use(node);
  edit(before(slot, node->entry.slot) ? node->left : node->right, slot, before, use);
  update(*node);
}

void LocationList::remove(int32_t slot, const MatchOrder& before) {
  edit(root_, slot, before, [](Node*& node) {
    Node* const gone = node;
    node = join(std::exchange(gone->left, nullptr), std::exchange(gone->right, nullptr));
    release(gone);
  });
}

void LocationList::set_change(const Entry& entry, const MatchOrder& before) {
  edit(root_, entry.slot, before, [&](Node* node) {
    node->entry = entry;
    update(*node);
  });
}

}  // namespace reverie
