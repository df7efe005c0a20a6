#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/forced_order.h"
#include "datasets/collect.h"

namespace reverie {
namespace {

Action random_action(const ActionMask& mask, double no_op, Rng& rng) {
  const int last = mask.primary_actions() - 1;
  std::vector<int> valid;
  for (int primary = 0; primary < last; ++primary)
    if (mask.total(primary) > 0) valid.push_back(primary);
  if (valid.empty() || rng.uniform() < no_op) return mask.choice(last, 0);
  const int primary = valid[rng.below(valid.size())];
  return mask.choice(primary,
                     static_cast<int>(rng.below(static_cast<uint64_t>(mask.total(primary)))));
}

class RandomAgent : public CollectAgent {
 public:
  explicit RandomAgent(double no_op) : no_op_(no_op) {}
  std::string begin(const Environment&, Rng&) override { return "random"; }
  Action act(const Environment&, const Observation& observation, Rng& rng) override {
    return random_action(observation.mask, no_op_, rng);
  }
  std::unique_ptr<CollectAgent> fork() const override {
    return std::make_unique<RandomAgent>(*this);
  }

 private:
  double no_op_;
};

/// Follows a random list of primary actions: the first time each takes its choices that gain, or
/// all of them where it is forced; then in rounds those that gain, until none does.
class ListWalk {
 public:
  ListWalk() = default;
  ListWalk(int actions, Rng& rng) : list_(draw_forced_order(actions, rng.fork(rng.bits()))) {}

  Action next(const Environment& env, const ActionMask& mask) {
    for (;;) {
      const int primary = list_.order[at_];
      const int count = mask.total(primary);
      if (left_ < 0) left_ = count;
      const std::vector<double> gains = count > 0 ? env.gains(primary) : std::vector<double>{};
      const bool forced =
          round_ == 0 && (gains.empty() || list_.forced[static_cast<size_t>(primary)]);
      for (; left_ > 0 && choice_ < count; ++choice_) {
        --left_;
        if (!forced && (gains.empty() || gains[static_cast<size_t>(choice_)] <= 0)) continue;
        changed_ = true;
        return mask.choice(primary, choice_);
      }
      if (!move_on()) return mask.choice(env.spec().no_op(), 0);
    }
  }

 private:
  /// To the next action of the list; false when a whole round changed nothing.
  bool move_on() {
    choice_ = 0;
    left_ = -1;
    if (++at_ < list_.order.size()) return true;
    const bool going = changed_;
    at_ = 0;
    ++round_;
    changed_ = false;
    return going;
  }

  ForcedOrder list_;
  size_t at_ = 0;
  int choice_ = 0, left_ = -1, round_ = 0;
  bool changed_ = false;
};

class MixedAgent : public CollectAgent {
 public:
  explicit MixedAgent(const CollectConfig& config) : config_(config) {}

  std::string begin(const Environment& env, Rng& rng) override {
    follows_list_ = config_.lists > 0 && rng.uniform() < config_.lists;
    if (follows_list_) {
      walk_ = ListWalk(env.spec().no_op(), rng);
      return "mixed:list";
    }
    epsilon_ = config_.epsilons[rng.below(config_.epsilons.size())];
    return fmt::format("mixed:{}", epsilon_);
  }

  Action act(const Environment& env, const Observation& observation, Rng& rng) override {
    const ActionMask& mask = observation.mask;
    if (follows_list_) return walk_.next(env, mask);
    if (rng.uniform() < epsilon_) return random_action(mask, config_.no_op, rng);
    const int no_op = env.spec().no_op();
    std::vector<Action> actions;
    std::vector<double> gains;
    for (int primary = 0; primary < no_op; ++primary) {
      const auto own = mask.total(primary) > 0 ? env.gains(primary) : std::vector<double>{};
      for (size_t i = 0; i < own.size(); ++i)
        actions.push_back(mask.choice(primary, static_cast<int>(i)));
      gains.insert(gains.end(), own.begin(), own.end());
    }
    if (actions.empty() || rng.uniform() < config_.no_op)
      return random_action(mask, actions.empty() ? config_.no_op : 1.0, rng);
    return actions[softmax_draw(gains, rng)];
  }

  std::unique_ptr<CollectAgent> fork() const override {
    return std::make_unique<MixedAgent>(*this);
  }

 private:
  size_t softmax_draw(const std::vector<double>& gains, Rng& rng) const {
    double scale = 0;
    for (const double gain : gains) scale = std::max(scale, std::abs(gain));
    if (scale == 0) return rng.below(gains.size());
    const double best = *std::max_element(gains.begin(), gains.end());
    std::vector<double> cumulative;
    double total = 0;
    for (const double gain : gains)
      cumulative.push_back(total += std::exp((gain - best) / (scale * config_.temperature)));
    const auto drawn =
        std::upper_bound(cumulative.begin(), cumulative.end(), rng.uniform() * total);
    return std::min(static_cast<size_t>(drawn - cumulative.begin()), gains.size() - 1);
  }

  CollectConfig config_;
  bool follows_list_ = false;
  ListWalk walk_;
  double epsilon_ = 0;
};

}  // namespace

std::unique_ptr<CollectAgent> make_random_agent(const CollectConfig& config) {
  return std::make_unique<RandomAgent>(config.no_op);
}

std::unique_ptr<CollectAgent> make_mixed_agent(const CollectConfig& config) {
  return std::make_unique<MixedAgent>(config);
}

std::unique_ptr<CollectAgent> make_collect_agent(const CollectConfig& config) {
  if (config.agent == "random") return make_random_agent(config);
  if (config.agent == "mixed") return make_mixed_agent(config);
  throw InputError(
      "collect.agent is '{}'; known are random, mixed and, in a program that was built "
      "with LibTorch, ppo and files of TorchScript, FILE.pt",
      config.agent);
}

}  // namespace reverie
