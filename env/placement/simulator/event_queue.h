#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace reverie {

/// Of a simulation: the earliest comes first, of equally early ones that of the
/// lowest rank.
struct Event {
  int64_t time;  ///< not negative
  uint64_t rank;
};

/// Events are compared as one number, so that no processor has to guess which
/// part decides.
class EventQueue {
 public:
  void reserve(size_t events) { keys_.reserve(events); }
  void clear() { keys_.clear(); }
  bool empty() const { return keys_.empty(); }
  int64_t next_time() const { return event_of(keys_.front()).time; }

  void push(Event event) {
    keys_.push_back((static_cast<Key>(event.time) << 64) | event.rank);
    std::ranges::push_heap(keys_, std::greater());
  }
  Event pop() {
    const Key first = keys_.front(), last = keys_.back();
    keys_.pop_back();
    if (!keys_.empty()) sink(last);
    return event_of(first);
  }

 private:
  using Key = unsigned __int128;
  static Event event_of(Key key) {
    return {static_cast<int64_t>(key >> 64), static_cast<uint64_t>(key)};
  }
  /// Puts it in the place of the first. Unlike std::pop_heap it chooses children without a branch.
  void sink(Key key) {
    size_t at = 0;
    for (size_t child = 1; child < keys_.size(); child = 2 * at + 1) {
      if (child + 1 < keys_.size()) child += keys_[child + 1] < keys_[child] ? 1 : 0;
      if (key <= keys_[child]) break;
      keys_[at] = keys_[child];
      at = child;
    }
    keys_[at] = key;
  }

  std::vector<Key> keys_;  // a heap
};

}  // namespace reverie
