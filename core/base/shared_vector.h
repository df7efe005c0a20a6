#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace reverie {

/// A vector whose copies share what they have in common. A copy takes constant time; `edit` of an
/// element that is shared copies the block of 2^kLeafBits elements that holds it and the tables
/// above (64 entries each, logarithmically many). An element keeps its address until it is edited
/// through a vector that shares it. Different vectors may be used by different threads, whatever
/// they share; one vector is for one thread.
///
/// A tree of blocks (the persistent vector of Clojure; Bagwell 2001), its elements default-made.
template <class T, int kLeafBits = 4>
class SharedVector {
 public:
  SharedVector() = default;
  SharedVector(const SharedVector& other)
      : root_(other.root_), shift_(other.shift_), size_(other.size_) {
    if (root_ != nullptr) root_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  SharedVector(SharedVector&& other) noexcept { swap(other); }
  SharedVector& operator=(SharedVector other) noexcept {
    swap(other);
    return *this;
  }
  ~SharedVector() { release(root_, shift_); }

  void swap(SharedVector& other) noexcept {
    std::swap(root_, other.root_);
    std::swap(shift_, other.shift_);
    std::swap(size_, other.size_);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const T& operator[](size_t index) const {
    const Block* at = root_;
    for (int shift = shift_; shift > 0; shift -= kTableBits)
      at = static_cast<const Table*>(at)->children[entry(index, shift)];
    return static_cast<const Leaf*>(at)->items[index & (kLeafSize - 1)];
  }

  /// The element for writing; it belongs to this vector alone afterwards.
  T& edit(size_t index) {
    Block** at = &root_;
    for (int shift = shift_; shift > 0; shift -= kTableBits)
      at = &own<Table>(*at, shift).children[entry(index, shift)];
    return own<Leaf>(*at, 0).items[index & (kLeafSize - 1)];
  }

  void push_back(T value) {
    if (size_ == capacity()) grow();
    edit(size_) = std::move(value);
    ++size_;
  }

  /// Removes the last element; its memory is kept.
  void pop_back() { edit(--size_) = T{}; }

  /// Appends default elements until there are `size`; never shrinks.
  void extend(size_t size) {
    while (size_ < size) push_back(T{});
  }

 private:
  static constexpr int kTableBits = 6;
  static constexpr size_t kTableSize = size_t{1} << kTableBits;
  static constexpr size_t kLeafSize = size_t{1} << kLeafBits;

  struct Block {
    std::atomic<uint32_t> refs{1};
  };
  struct Leaf : Block {
    std::array<T, kLeafSize> items{};
  };
  struct Table : Block {
    std::array<Block*, kTableSize> children{};
  };

  /// `shift` is 0 at a leaf; at a table of height h it is 1 + (h - 1) * kTableBits.
  static size_t entry(size_t index, int shift) {
    return (index >> (shift - 1 + kLeafBits)) & (kTableSize - 1);
  }
  size_t capacity() const {
    if (root_ == nullptr) return 0;
    return shift_ <= 0 ? kLeafSize : kLeafSize << (shift_ - 1 + kTableBits);
  }

  void grow() {
    if (root_ == nullptr) {
      root_ = new Leaf;
      return;
    }
    auto* table = new Table;
    table->children[0] = root_;
    root_ = table;
    shift_ = shift_ <= 0 ? 1 : shift_ + kTableBits;
  }

  template <class Kind>
  static Kind& own(Block*& at, int shift) {
    if (at == nullptr) {
      at = new Kind;
    } else if (at->refs.load(std::memory_order_acquire) != 1) {
      auto* copy = new Kind;
      if constexpr (std::is_same_v<Kind, Leaf>) {
        copy->items = static_cast<const Leaf*>(at)->items;
      } else {
        copy->children = static_cast<const Table*>(at)->children;
        for (Block* child : copy->children)
          if (child != nullptr) child->refs.fetch_add(1, std::memory_order_relaxed);
      }
      release(std::exchange(at, copy), shift);
    }
    return *static_cast<Kind*>(at);
  }

  static void release(Block* block, int shift) {
    if (block == nullptr || block->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (shift <= 0) {
      delete static_cast<Leaf*>(block);
      return;
    }
    auto* table = static_cast<Table*>(block);
    for (Block* child : table->children) release(child, shift - kTableBits);
    delete table;
  }

  Block* root_ = nullptr;
  int shift_ = 0;
  size_t size_ = 0;
};

}  // namespace reverie
