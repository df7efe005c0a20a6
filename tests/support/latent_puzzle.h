#pragma once

#include <vector>

#include "core/base/error.h"
#include "worldmodel/latent/latent_environment.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// A latent environment with a known optimum that a greedy policy misses. Each of `rounds` rounds:
///   ready:   take (+0.5, nothing is left to do but NO-OP), or raise with 3 choices (-1): the
///            second leads to open, the others to stuck
///   open:    harvest with 5 choices: the fourth gives +3, the others 0; then the next round
///   stuck:   only NO-OP
/// There is one entity. The best return is 2 * rounds; the best without a step that costs is 0.5. z
/// is the state one-hot, h the round one-hot. After `horizon` steps an episode is truncated.
class LatentPuzzle : public LatentEnvironment {
 public:
  enum Primary { kTake, kRaise, kHarvest, kNoOp };
  enum State { kReady, kOpen, kStuck };

  LatentPuzzle(int batch, int rounds, int horizon)
      : batch_(batch), rounds_(rounds), cells_(static_cast<size_t>(batch)) {
    spec_.latent = 3;
    spec_.hidden = rounds + 1;
    spec_.env.name = "puzzle";
    spec_.env.actions = {"take", "raise", "harvest", "NO-OP"};
    spec_.env.metrics = {{"return", ""}};
    spec_.env.starts = {{"ready", 1}};
    spec_.env.max_choices = 5;
    spec_.env.horizon = horizon;
  }

  static double best_return(int rounds) { return 2.0 * rounds; }

  const LatentSpec& spec() const override { return spec_; }
  int batch() const override { return batch_; }
  EnvCounters counters() const override { return {}; }

  LatentObservation reset(uint64_t) override {
    steps_ = 0;
    for (Cell& cell : cells_) cell = {};
    return observe();
  }

  LatentObservation observe() const override {
    LatentObservation o;
    o.z = torch::zeros({batch_, 3});
    o.h = torch::zeros({batch_, rounds_ + 1});
    o.mask.totals = torch::zeros({batch_, 4}, torch::kInt64);
    o.to_go = torch::full({batch_}, 1.0f - static_cast<float>(steps_) / spec_.env.horizon);
    for (int b = 0; b < batch_; ++b) {
      const Cell& cell = cells_[static_cast<size_t>(b)];
      o.z[b][cell.state] = 1;
      o.h[b][cell.round] = 1;
      for (int a = 0; a < 4; ++a) o.mask.totals[b][a] = count(cell, a);
    }
    o.mask.by_entity = o.mask.totals.unsqueeze(2).to(torch::kInt16);
    o.entities = o.z.unsqueeze(1);
    o.entity_h = o.h.unsqueeze(1);
    return o;
  }

  LatentStep step(const LatentActions& actions) override {
    ++steps_;
    LatentStep result{torch::zeros({batch_}), torch::zeros({batch_}, torch::kBool),
                      torch::zeros({batch_}, torch::kBool)};
    for (int b = 0; b < batch_; ++b) {
      Cell& cell = cells_[static_cast<size_t>(b)];
      if (cell.over) continue;
      const auto primary = actions.primary[b].item<int64_t>();
      const auto index = actions.index[b].item<int64_t>();
      REVERIE_CHECK(actions.entity[b].item<int64_t>() == 0 && index >= 0 &&
                        index < count(cell, static_cast<int>(primary)),
                    "an action that the mask does not allow");
      result.reward[b] = advance(cell, primary, index);
      result.terminated[b] = primary == kNoOp;
      result.truncated[b] = primary != kNoOp && steps_ == spec_.env.horizon;
      cell.over = primary == kNoOp || steps_ == spec_.env.horizon;
    }
    return result;
  }

 private:
  struct Cell {
    int state = kReady;
    int round = 0;
    bool over = false;
  };

  int count(const Cell& cell, int primary) const {
    if (primary == kNoOp) return 1;
    if (cell.state == kReady && cell.round < rounds_)
      return primary == kTake ? 1 : primary == kRaise ? 3 : 0;
    return cell.state == kOpen && primary == kHarvest ? 5 : 0;
  }

  static double advance(Cell& cell, int64_t primary, int64_t index) {
    if (primary == kTake) {
      cell.state = kStuck;
      return 0.5;
    }
    if (primary == kRaise) {
      cell.state = index == 1 ? kOpen : kStuck;
      return -1;
    }
    if (primary != kHarvest) return 0;
    cell.state = kReady;
    ++cell.round;
    return index == 3 ? 3 : 0;
  }

  int batch_, rounds_, steps_ = 0;
  LatentSpec spec_;
  std::vector<Cell> cells_;
};

}  // namespace reverie
