#pragma once

#include "controller/train/trainer.h"
#include "core/base/separable_cmaes.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// A linear controller: score of a primary action = (W x) . e(action) with x = [z, h, to_go, 1],
/// and of a choice e(action) . L k with k the features of the choice at its entity and the entity's
/// latent. e is a fixed seeded embedding (one-hot where it has room); x is projected by a fixed
/// seeded matrix where W would pass the limit of 3,000 parameters. Acts on B states with one set of
/// parameters each, or with one for all.
class LinearController {
 public:
  /// InputError where latents of entities take all the room there is.
  LinearController(const LatentSpec& spec, uint64_t seed);

  int64_t parameters() const { return embedding_ * (inputs_ + keys_); }
  /// `parameters` [G, parameters()]; B is a multiple of G, consecutive rows share a set.
  PolicyDecision act(const LatentObservation& observation, const torch::Tensor& parameters,
                     bool greedy, Rng& rng) const;

 private:
  torch::Tensor inputs_of(const LatentObservation& observation) const;
  /// k of the first n choices of primary actions [B], [B, n, keys]; those beyond the last are
  /// anything.
  torch::Tensor keys_of(const LatentObservation& observation, const torch::Tensor& primary,
                        int64_t n) const;

  int64_t embedding_, inputs_, keys_;
  int max_choices_;
  torch::Tensor actions_;     ///< [A, embedding]
  torch::Tensor projection_;  ///< [raw inputs, inputs], undefined where not needed
  torch::Tensor bias_;        ///< [A], NO-OP starts rare
};

class LinearPolicy : public Policy {
 public:
  LinearPolicy(LinearController controller, torch::Tensor parameters)
      : controller_(std::move(controller)), parameters_(std::move(parameters)) {}
  std::string name() const override { return "cmaes"; }
  PolicyDecision act(const LatentObservation& observation, bool greedy, Rng& rng) override {
    return controller_.act(observation, parameters_, greedy, rng);
  }
  void set_parameters(torch::Tensor parameters) { parameters_ = std::move(parameters); }

 private:
  LinearController controller_;
  torch::Tensor parameters_;
};

struct CmaEsConfig {
  int64_t population = 32;
  double sigma = 0.3;
  bool greedy = true;

  template <class V>
  void fields(V& v) {
    v.field("population", population, "Candidates of a generation; divides the batch", at_least(2));
    v.field("sigma", sigma, "First step size", above(0));
    v.field("greedy", greedy, "Judge candidates by their greedy actions rather than sampled ones");
  }
};

/// Separable CMA-ES on a LinearController: a batch of episodes, a multiple of the population, is
/// one generation, each candidate playing batch / population of them. Every episode has a start of
/// its own, so that candidates are judged on different ones: how much their starts have to give is
/// noise in their ranks, which falls with the episodes a candidate plays and would be none if all
/// played the same.
class CmaEsTrainer : public Trainer {
 public:
  CmaEsTrainer(const LatentSpec& spec, const CmaEsConfig& config, uint64_t seed);

  std::string name() const override { return "cmaes"; }
  Policy& policy() override { return policy_; }
  /// Stays on the CPU, from and to which it takes what it sees and does: its products are small.
  void to_device(torch::Device) override {}
  Metrics update(LatentEnvironment& environment, double progress, uint64_t seed) override;
  void store_policy(Checkpoint& checkpoint) const override;
  void restore_policy(const Checkpoint& checkpoint) override;
  void store(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  /// The policy acts with the mean.
  void set_state(SeparableCmaEs::State state);

  CmaEsConfig config_;
  LinearController controller_;
  SeparableCmaEs strategy_;
  LinearPolicy policy_;
};

}  // namespace reverie
