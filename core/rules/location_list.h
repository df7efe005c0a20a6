#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/match_store.h"
#include "core/rules/node_order.h"

namespace reverie {

/// The canonical order of the matches of a rule: by the position of the root, then of the other
/// matched nodes, then of what produces the values, then by how sequences share them. Never by id.
class MatchOrder {
 public:
  MatchOrder(const Graph& graph, const NodeOrder& order, const MatchStore& matches)
      : graph_(graph), order_(order), matches_(matches) {}
  bool operator()(int32_t a, int32_t b) const;

 private:
  const Graph& graph_;
  const NodeOrder& order_;
  const MatchStore& matches_;
};

/// Slots of a MatchStore in canonical order, each with what taking it changes. A copy takes
/// constant time, everything else but walking through all of them time that grows with the
/// logarithm of their number; a change copies what lies on the way there and is shared. Different
/// lists may be used by different threads, whatever they share.
///
/// A treap (Seidel and Aragon 1996) whose priorities are hashes of the slots. Each subtree knows
/// its size and its least change.
class LocationList {
 public:
  struct Entry {
    int32_t slot = -1;
    int64_t change = 0;
  };

 private:
  struct Node {
    explicit Node(const Entry& of) : entry(of), least(of.change) {}
    Node(const Node& other)
        : entry(other.entry),
          least(other.least),
          size(other.size),
          left(share(other.left)),
          right(share(other.right)) {}
    Node& operator=(const Node&) = delete;

    std::atomic<uint32_t> refs{1};
    Entry entry;
    int64_t least;
    int32_t size = 1;
    Node* left = nullptr;
    Node* right = nullptr;
  };

 public:
  LocationList() = default;
  /// Of slots in order.
  explicit LocationList(const std::vector<Entry>& entries);
  LocationList(const LocationList& other) : root_(share(other.root_)) {}
  LocationList(LocationList&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  LocationList& operator=(LocationList other) noexcept {
    std::swap(root_, other.root_);
    return *this;
  }
  ~LocationList() { release(root_); }

  int size() const { return size_of(root_); }
  int32_t operator[](int index) const;
  /// `slot` must be in the list, here and below, and the list be in order.
  int index_of(int32_t slot, const MatchOrder& before) const;
  void insert(const Entry& entry, const MatchOrder& before);
  void remove(int32_t slot, const MatchOrder& before);
  void set_change(const Entry& entry, const MatchOrder& before);
  template <class Use>
  void for_each(const Use& use) const {
    for_first(size(), use);
  }
  /// Of the first `count`.
  template <class Use>
  void for_first(int count, const Use& use) const {
    walk(root_, count, use);
  }

  /// Entries that stand together: what a search for the least changes splits. Valid until the list
  /// changes.
  class Part {
   public:
    Part() = default;
    explicit Part(const LocationList& list) : node_(list.root_) {}

    bool empty() const { return node_ == nullptr; }
    int64_t least_change() const { return node_->least; }
    /// Index of the first one in the list.
    int first() const { return first_; }
    /// One of them, its index, and those on both sides.
    const Entry& entry() const { return node_->entry; }
    int index() const { return first_ + size_of(node_->left); }
    Part before() const { return {node_->left, first_}; }
    Part behind() const { return {node_->right, index() + 1}; }

   private:
    Part(const Node* node, int first) : node_(node), first_(first) {}
    const Node* node_ = nullptr;
    int first_ = 0;
  };

 private:
  static Node* share(Node* node) {
    if (node != nullptr) node->refs.fetch_add(1, std::memory_order_relaxed);
    return node;
  }
  static void release(Node* node);
  static int size_of(const Node* node) { return node == nullptr ? 0 : node->size; }
  static bool above(const Node* a, const Node* b);
  static void own(Node*& node);
  static void update(Node& node);
  static void split(Node* node, int32_t slot, const MatchOrder& before, Node*& left, Node*& right);
  static Node* join(Node* left, Node* right);
  template <class Use>
  static void walk(const Node* node, int count, const Use& use) {
    if (node == nullptr || count <= 0) return;
    walk(node->left, count, use);
    count -= size_of(node->left) + 1;
    if (count < 0) return;
    use(node->entry.slot);
    walk(node->right, count, use);
  }
  /// Calls use(node) for the node of a slot, which is owned and reached by reference. All above it
  /// are brought up to date after that. What it is replaced by may be shared.
  template <class Use>
  static void edit(Node*& node, int32_t slot, const MatchOrder& before, const Use& use);

  Node* root_ = nullptr;
};

}  // namespace reverie
