#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/search/problem.h"

namespace reverie {

/// The moves that lead from a start to a state. A copy, and a copy that goes one move further, take
/// constant time and memory: they share what they have in common. Different paths may be used by
/// different threads, whatever they share.
class Path {
 public:
  Path() = default;

  size_t size() const { return last_ == nullptr ? 0 : last_->number; }
  bool empty() const { return last_ == nullptr; }
  const Move& back() const { return last_->move; }
  void push_back(const Move& move) {
    last_ = std::make_shared<Step>(move, size() + 1, std::move(last_));
  }

  /// In their order; takes time in proportion to their number.
  std::vector<Move> moves() const {
    std::vector<Move> all(size());
    for (const Step* step = last_.get(); step != nullptr; step = step->before.get())
      all[step->number - 1] = step->move;
    return all;
  }

  bool operator==(const Path& other) const {
    if (size() != other.size()) return false;
    const Step* a = last_.get();
    const Step* b = other.last_.get();
    for (; a != b; a = a->before.get(), b = b->before.get())
      if (a->move != b->move) return false;
    return true;
  }

 private:
  struct Step {
    Step(const Move& m, size_t n, std::shared_ptr<const Step> b)
        : move(m), number(n), before(std::move(b)) {}
    /// One after another: a long path must not go as deep into the stack.
    ~Step() {
      for (auto at = std::move(before); at != nullptr && at.use_count() == 1;)
        at = std::shared_ptr<const Step>(at->before);
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    Move move;
    size_t number;  ///< of moves up to this one
    std::shared_ptr<const Step> before;
  };

  std::shared_ptr<const Step> last_;
};

}  // namespace reverie
