#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace reverie {

/// A list of a few plain elements: up to kInline of them lie in the object itself.
template <class T, uint32_t kInline>
class SmallList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  SmallList() {}
  SmallList(const SmallList& other) { assign(other); }
  SmallList(SmallList&& other) noexcept { take(other); }
  SmallList& operator=(const SmallList& other) {
    if (this != &other) assign(other);
    return *this;
  }
  SmallList& operator=(SmallList&& other) noexcept {
    if (this != &other) {
      free();
      take(other);
    }
    return *this;
  }
  ~SmallList() { free(); }

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t index) { return data()[index]; }
  const T& operator[](size_t index) const { return data()[index]; }
  T& back() { return data()[size_ - 1]; }
  operator std::span<const T>() const { return {data(), size_}; }

  /// `values` must not lie in this list.
  void assign(std::span<const T> values) {
    size_ = 0;
    reserve(static_cast<uint32_t>(values.size()));
    std::copy(values.begin(), values.end(), data());
    size_ = static_cast<uint32_t>(values.size());
  }
  void push_back(T value) {
    if (size_ == capacity_) reserve(2 * capacity_);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  /// The last element takes the place of the first one equal to `value`. Whether there was one.
  bool remove_unordered(T value) {
    T* at = std::find(begin(), end(), value);
    if (at == end()) return false;
    *at = back();
    pop_back();
    return true;
  }

 private:
  bool on_heap() const { return capacity_ > kInline; }
  T* data() { return on_heap() ? heap_ : inline_; }
  const T* data() const { return on_heap() ? heap_ : inline_; }
  void free() {
    if (on_heap()) delete[] heap_;
    capacity_ = kInline;
    size_ = 0;
  }
  void take(SmallList& other) {
    std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(*this));
    other.capacity_ = kInline;
    other.size_ = 0;
  }
  void reserve(uint32_t capacity) {
    if (capacity <= capacity_) return;
    T* fresh = new T[capacity];
    std::copy(begin(), end(), fresh);
    if (on_heap()) delete[] heap_;
    heap_ = fresh;
    capacity_ = capacity;
  }

  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  union {
    T inline_[kInline];
    T* heap_;
  };
};

}  // namespace reverie
