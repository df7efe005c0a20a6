#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "core/search/problem.h"

namespace reverie::testing {

/// A problem with a known optimum: a row of digits from 0 to 4, each an entity; a move raises or
/// lowers one of them by one. A digit costs
///
///   0: 10   1: 11   2: 4   3: 6   4: 3
///
/// so that the best, 3 for each, lies behind two rises.
class RowOfDigits : public Problem {
 public:
  enum Kind : int { kRaise, kLower };
  static constexpr std::array<double, 5> kCosts = {10, 11, 4, 6, 3};
  static constexpr double kLeast = 3;

  explicit RowOfDigits(std::vector<int> digits) : digits_(std::move(digits)) {}

  double offset = 0;                           ///< of all costs
  bool is_bounded = false;                     ///< tells a lower bound
  int most = std::numeric_limits<int>::max();  ///< the sum of digits is at most this

  bool keeps_order = false;  ///< of its moves, by what they change

  bool only_thirds = false;  ///< states whose digits' sum 3 does not divide are infeasible

  const std::vector<int>& digits() const { return digits_; }

  std::unique_ptr<Problem> copy() const override { return std::make_unique<RowOfDigits>(*this); }
  double cost() const override {
    double sum = offset;
    for (const int digit : digits_) sum += kCosts[static_cast<size_t>(digit)];
    return sum;
  }
  double lower_bound() const override {
    return is_bounded ? offset + kLeast * static_cast<double>(digits_.size())
                      : Problem::lower_bound();
  }
  bool feasible() const override { return !only_thirds || sum() % 3 == 0; }
  bool may_be_infeasible() const override { return only_thirds; }
  int kinds() const override { return 2; }
  int moves(int kind) const override { return static_cast<int>(entities(kind).size()); }
  Move move(int kind, int i) const override {
    return {.kind = kind, .index = 0, .entity = entities(kind)[static_cast<size_t>(i)]};
  }
  std::unique_ptr<RankedMoves> ranked() const override {
    if (!keeps_order) return nullptr;
    std::vector<RatedMove> moves;
    for (int kind = 0; kind < kinds(); ++kind)
      for (int i = 0; i < this->moves(kind); ++i)
        moves.push_back({move(kind, i), change(move(kind, i))});
    std::ranges::stable_sort(moves, {}, &RatedMove::change);
    return std::make_unique<InOrder>(std::move(moves));
  }
  bool allows(const Move& move) const override { return move.kind == kLower || sum() < most; }
  bool apply(const Move& move) override {
    if (!allows(move)) return false;
    digits_[static_cast<size_t>(move.entity)] += move.kind == kRaise ? 1 : -1;
    return true;
  }
  uint64_t hash() const override {
    uint64_t value = 0;
    for (const int digit : digits_) value = 5 * value + static_cast<uint64_t>(digit);
    return value / 2;  // two states share one
  }
  std::shared_ptr<const Snapshot> snapshot() const override {
    return std::make_shared<Digits>(digits_);
  }
  bool is(const Snapshot& snapshot) const override {
    return static_cast<const Digits&>(snapshot).digits == digits_;
  }

 private:
  class InOrder : public RankedMoves {
   public:
    explicit InOrder(std::vector<RatedMove> moves) : moves_(std::move(moves)) {}
    std::optional<RatedMove> next() override {
      return at_ < moves_.size() ? std::optional(moves_[at_++]) : std::nullopt;
    }

   private:
    std::vector<RatedMove> moves_;
    size_t at_ = 0;
  };

  struct Digits : Snapshot {
    explicit Digits(std::vector<int> row) : digits(std::move(row)) {}
    std::vector<int> digits;
  };

  int sum() const { return std::accumulate(digits_.begin(), digits_.end(), 0); }
  std::vector<int> entities(int kind) const {
    const int end = kind == kRaise ? static_cast<int>(kCosts.size()) - 1 : 0;
    std::vector<int> found;
    for (size_t i = 0; i < digits_.size(); ++i)
      if (digits_[i] != end) found.push_back(static_cast<int>(i));
    return found;
  }

  std::vector<int> digits_;
};

}  // namespace reverie::testing
