#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/environment.h"

namespace reverie {

struct ToyConfig {
  static constexpr char kKind[] = "toy";

  int blocks = 3;
  int start_states = 1;
  int horizon = 0;  ///< 0: 6 per block; no setting of its own, but env.horizon
  bool entities = false;

  template <class V>
  void fields(V& v) {
    v.field("blocks", blocks, "Blocks in the row, 1 to 1000");
    v.field("start_states", start_states, "Start graphs, at most 4 to the number of blocks");
    v.field("entities", entities, "Each block is an entity of its own; otherwise the row is one");
  }
};

/// A small problem with a known optimum that greedy misses. The graph is a row of blocks:
///
///     -> branch ----> join -> scale -> activation ->      or  ... join -> activation -> scale ->
///      \-> branch -/
///
/// A branch is narrow (cost 4) or wide (6); join, scale and activation cost 1 each. Actions:
///
///     merge    two branches of equal width and their join become one node: narrow 5, wide 7
///     enlarge  a narrow branch becomes wide (a step that costs 2)
///     fold     a scale that directly follows a merged node disappears
///     swap     scale and activation change places (neutral)
///     NO-OP
///
/// An uneven block (narrow beside wide) can only be improved by enlarging first; enlarging in an
/// even block is a trap. Choices count from the left. An episode also terminates when only NO-OP is
/// left. The reward is the improvement of this step in percent of the initial cost, which is the
/// only metric. Start state s reads its blocks from the bits of s, two a block: even, then
/// activation first.
///
/// With `entities` block b is entity b, with the input in the first and the output in the last.
class ToyEnvironment : public Environment {
 public:
  enum Primary { kMerge, kEnlarge, kFold, kSwap, kNoOp };
  enum class Branches : uint8_t {
    kNarrowNarrow,
    kNarrowWide,
    kWideNarrow,
    kWideWide,
    kNarrow,
    kWide
  };
  enum class Tail : uint8_t { kScaleFirst, kActivationFirst, kFolded };
  struct Block {
    Branches branches;
    Tail tail;
    bool operator==(const Block&) const = default;
  };

  /// InputError when a value is out of its range.
  explicit ToyEnvironment(const ToyConfig& config);

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override;
  StepResult step(const Action& action) override;
  Observation observe() const override;
  ActionMask mask() const override;
  StepInfo info() const override;
  std::vector<double> gains(int primary) const override;
  std::string describe() const override;
  std::string describe(const Action& action) const override;
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override;

  /// The lowest cost that can be reached from a start state, in closed form: 8 for an uneven block
  /// and 6 for an even one.
  double optimal_cost(int start_state) const;

 private:
  std::vector<Block> start_blocks(int start_state) const;
  struct Step {
    size_t block = 0;
    int way = 0;  ///< which of the block's successors
  };
  Step step_of(const Action& action) const;
  GraphFeatures graph_features() const;
  int entity_of(size_t block) const { return config_.entities ? static_cast<int>(block) : 0; }

  ToyConfig config_;
  EnvSpec spec_;
  std::vector<Block> blocks_;
  int initial_cost_ = 1;
  int best_cost_ = 1;
  int steps_ = 0;
  bool over_ = true;
  EnvCounters counters_;
};

}  // namespace reverie
