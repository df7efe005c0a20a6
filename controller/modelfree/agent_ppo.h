#pragma once

#include <memory>

#include "controller/modelfree/model_free_network.h"
#include "controller/train/ppo.h"
#include "core/base/progress.h"
#include "datasets/collect.h"

namespace reverie {

/// Model-free PPO with a network of its own, directly on an Environment.
struct AgentPpoConfig {
  ModelFreeConfig net;
  PpoConfig ppo;
  int64_t updates = 30;
  int64_t batch = 8;

  AgentPpoConfig() { ppo.minibatch = 64; }

  template <class V>
  void fields(V& v) {
    net.fields(v);
    v.section("ppo", ppo, "Proximal policy optimization");
    v.field("updates", updates, "Updates", at_least(1));
    v.field("batch", batch, "Episodes played for an update", at_least(1));
  }
};

/// Trains an ModelFreeNetwork on forks of an environment. Input statistics come from the first
/// batch of episodes.
class AgentPpoTrainer {
 public:
  /// Plays on these start states alone.
  AgentPpoTrainer(const Environment& prototype, std::vector<int> starts,
                  const AgentPpoConfig& config, uint64_t seed);

  /// Plays `batch` episodes and learns. Metrics as by a Trainer.
  Metrics update(double progress, uint64_t seed);
  std::shared_ptr<ModelFreeNetwork> net() const { return net_; }
  EnvCounters counters() const;

 private:
  struct Played;
  Played play_batch(Rng& rng);
  void normalize(const Played& played);
  /// Log-probabilities, advantages and targets under the weights as they are, with the input
  /// statistics that the update will use.
  void judge_steps(const Played& played, const torch::Tensor& alive, PpoBatch& batch);

  AgentPpoConfig config_;
  EnvSpec spec_;
  std::vector<int> starts_;
  std::vector<std::unique_ptr<Environment>> environments_;
  std::shared_ptr<ModelFreeNetwork> net_;
  PpoLearner learner_;
  ReturnScale scale_;
  bool normalized_ = false;
};

struct PpoAgentRun {
  std::vector<int> starts;  ///< start states to train on
  uint64_t seed = 0;
  std::string file;     ///< keeps the trained agent
  bool resume = false;  ///< takes it from there when it is there
  ProgressStyle progress = ProgressStyle::kQuiet;
};

/// Trains by PPO on forks of `environment`, then acts by sampling, for `collect.agent=ppo`.
/// `counters` gains the real work of training, now or when the file was written.
std::unique_ptr<CollectAgent> make_ppo_agent(const Environment& environment,
                                             const AgentPpoConfig& config, const PpoAgentRun& run,
                                             EnvCounters& counters);

}  // namespace reverie
