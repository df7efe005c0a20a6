#pragma once

#include <memory>

#include "controller/ppo.h"
#include "core/base/progress.h"
#include "datasets/collect.h"
#include "worldmodel/encoder.h"

namespace reverie {

/// Model-free PPO with a graph network of its own, directly on an Environment.
struct GraphPpoConfig {
  EncoderConfig encoder;
  int64_t width = 64;
  ActionHeadConfig head;
  PpoConfig ppo;
  int64_t updates = 30;
  int64_t batch = 8;

  GraphPpoConfig() { ppo.minibatch = 64; }

  template <class V> void fields(V& v) {
    v.section("encoder", encoder, "The graph network");
    v.field("width", width, "Width of actor and critic", at_least(1));
    v.section("head", head, "How actions are scored");
    v.section("ppo", ppo, "Proximal policy optimization");
    v.field("updates", updates, "Updates", at_least(1));
    v.field("batch", batch, "Episodes played for an update", at_least(1));
  }
};

/// Graph network, actor and critic: from observations and the remaining share of the horizon.
class GraphActorCriticImpl : public torch::nn::Module {
 public:
  GraphActorCriticImpl(const EnvSpec& spec, const GraphPpoConfig& config);

  Evaluation evaluate(const ObservationBatch& batch, const torch::Tensor& to_go,
                      const LatentActions& actions);
  Choice choose(const ObservationBatch& batch, const torch::Tensor& to_go, bool greedy, Rng& rng);
  torch::Tensor value(const ObservationBatch& batch, const torch::Tensor& to_go);
  void set_statistics(const ObservationStatistics& s) { encoder_->set_statistics(s); }

 private:
  torch::Tensor features(const ObservationBatch& batch, const torch::Tensor& to_go);

  std::shared_ptr<GraphEncoder> encoder_;
  torch::nn::Sequential actor_{nullptr}, critic_{nullptr};
  ActionHead head_{nullptr};
};
TORCH_MODULE(GraphActorCritic);

/// Trains a GraphActorCritic on forks of an environment. Input statistics come from the first batch
/// of episodes.
class GraphPpoTrainer {
 public:
  /// Plays on these start states alone.
  GraphPpoTrainer(const Environment& prototype, std::vector<int> starts,
                  const GraphPpoConfig& config, uint64_t seed);

  /// Plays `batch` episodes and learns. Metrics as by a Trainer.
  Metrics update(double progress, uint64_t seed);
  GraphActorCritic net() const { return net_; }
  EnvCounters counters() const;

 private:
  struct Played;
  Played play_batch(Rng& rng);
  void normalize(const std::vector<Observation>& observations);
  /// Log-probabilities, advantages and targets under the weights as they are, with the input
  /// statistics that the update will use.
  void judge_steps(const Played& played, const torch::Tensor& alive, PpoBatch& batch);

  GraphPpoConfig config_;
  EnvSpec spec_;
  std::vector<int> starts_;
  std::vector<std::unique_ptr<Environment>> environments_;
  GraphActorCritic net_;
  PpoLearner learner_;
  ReturnScale scale_;
  bool normalized_ = false;
};

struct PpoAgentRun {
  std::vector<int> starts;  ///< start states to train on
  uint64_t seed = 0;
  std::string file;         ///< keeps the trained agent
  bool resume = false;      ///< takes it from there when it is there
  ProgressStyle progress = ProgressStyle::kQuiet;
};

/// Trains by PPO on forks of `environment`, then acts by sampling, for `collect.agent=ppo`.
/// `counters` gains the real work of training, now or when the file was written.
std::unique_ptr<CollectAgent> make_ppo_agent(const Environment& environment,
                                             const GraphPpoConfig& config, const PpoAgentRun& run,
                                             EnvCounters& counters);

}  // namespace reverie
