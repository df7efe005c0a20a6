#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/environment.h"

namespace reverie {

struct KnapsackConfig {
  static constexpr char kKind[] = "knapsack";

  int items = 4;
  int start_states = 2;
  int horizon =
      0;  ///< 0: twice the items of the largest start; no setting of its own, but env.horizon

  template <class V>
  void fields(V& v) {
    v.field("items", items,
            "Items of the first start state, 1 to 20; each further one has one more");
    v.field("start_states", start_states, "Start states, 1 to 8");
  }
};

/// The 0-1 knapsack problem: which items make the bag most valuable without overloading it? A small
/// problem with a known optimum that has what the toy has not: choices with an identity, start
/// states with different numbers of entities, an objective where more is better, infeasible states,
/// and no look-ahead.
///
/// Entity 0 is the bag, entity i + 1 is item i. Actions: take an item that is not in the bag, drop
/// one that is, NO-OP; so masks are 0 or 1. Weights are from 1 to 3 and values from 3 to 6; both
/// follow from the start state. The bag carries two thirds of the total weight, rounded down, and
/// at least its first item, which is in it at the start. An overloaded bag is infeasible. Metrics:
/// the value in the bag (the objective) and the weight above what it carries. The reward of a step
/// is the gain in value, less 7 for each unit of weight by which the overload grew, in percent of
/// the value of all items.
///
/// The best return ends at the optimum: an item that leaves an overloaded bag takes a value of 6 at
/// most and an overload of 1 at least, so no overloaded bag scores as much as a bag that holds
/// less. With three items, to take what gains most misses the optimum of the first two start
/// states.
class KnapsackEnvironment : public Environment {
 public:
  enum Primary { kTake, kDrop, kNoOp };

  /// InputError when a value is out of its range.
  explicit KnapsackEnvironment(const KnapsackConfig& config);

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override;
  StepResult step(const Action& action) override;
  Observation observe() const override;
  ActionMask mask() const override;
  StepInfo info() const override;
  std::string describe() const override;
  std::string describe(const Action& action) const override;
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override;

  /// The largest value of a feasible bag, by trying all.
  double optimal_value(int start_state) const;

 private:
  struct Item {
    int weight = 0, value = 0;
  };
  std::vector<Item> items_of(int start_state) const;
  static int capacity_of(const std::vector<Item>& items);
  int value() const;
  int weight() const;
  int overload() const;
  double score() const;

  KnapsackConfig config_;
  EnvSpec spec_;
  std::vector<Item> items_;
  std::vector<bool> taken_;
  int start_ = 0;
  double best_ = 0;
  int steps_ = 0;
  bool over_ = true;
  EnvCounters counters_;
};

}  // namespace reverie
