#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "datasets/collect.h"

namespace reverie {
namespace {

Action random_action(const ActionMask& mask, double no_op, Rng& rng) {
  const int last = static_cast<int>(mask.counts.size()) - 1;
  const Action end{last, secondary_choice(mask, last, 0)};
  const auto valid = static_cast<uint64_t>(
      std::count_if(mask.counts.begin(), mask.counts.end() - 1, [](int count) { return count > 0; }));
  if (valid == 0 || rng.uniform() < no_op) return end;
  uint64_t chosen = rng.below(valid);
  for (int primary = 0; primary < last; ++primary) {
    const uint16_t count = mask.counts[static_cast<size_t>(primary)];
    if (count > 0 && chosen-- == 0)
      return {primary, secondary_choice(mask, primary, static_cast<int>(rng.below(count)))};
  }
  return end;
}

class RandomAgent : public CollectAgent {
 public:
  explicit RandomAgent(double no_op) : no_op_(no_op) {}
  std::string begin(const Environment&, Rng&) override { return "random"; }
  Action act(const Environment&, const Observation& observation, Rng& rng) override {
    return random_action(observation.mask, no_op_, rng);
  }
  std::unique_ptr<CollectAgent> fork() const override { return std::make_unique<RandomAgent>(*this); }

 private:
  double no_op_;
};

class MixedAgent : public CollectAgent {
 public:
  explicit MixedAgent(const CollectConfig& config) : config_(config) {}

  std::string begin(const Environment&, Rng& rng) override {
    epsilon_ = config_.epsilons[rng.below(config_.epsilons.size())];
    return fmt::format("mixed:{}", epsilon_);
  }

  Action act(const Environment& env, const Observation& observation, Rng& rng) override {
    const ActionMask& mask = observation.mask;
    if (rng.uniform() < epsilon_) return random_action(mask, config_.no_op, rng);
    const int no_op = env.spec().no_op();
    std::vector<Action> actions;
    std::vector<double> gains;
    for (int primary = 0; primary < no_op; ++primary) {
      const auto own = mask.counts[static_cast<size_t>(primary)] > 0 ? env.gains(primary)
                                                                     : std::vector<double>{};
      for (size_t i = 0; i < own.size(); ++i)
        actions.push_back({primary, secondary_choice(mask, primary, static_cast<int>(i))});
      gains.insert(gains.end(), own.begin(), own.end());
    }
    if (actions.empty() || rng.uniform() < config_.no_op)
      return random_action(mask, actions.empty() ? config_.no_op : 1.0, rng);
    return actions[softmax_draw(gains, rng)];
  }

  std::unique_ptr<CollectAgent> fork() const override { return std::make_unique<MixedAgent>(*this); }

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
    const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end(), rng.uniform() * total);
    return std::min(static_cast<size_t>(drawn - cumulative.begin()), gains.size() - 1);
  }

  CollectConfig config_;
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
  throw InputError("collect.agent is '{}'; known are random, mixed and, in a program that was built "
                   "with LibTorch, ppo", config.agent);
}

}  // namespace reverie
