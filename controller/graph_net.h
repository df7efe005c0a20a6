#pragma once

#include "controller/agent_net.h"

namespace reverie {

/// A graph network of its own, with actor and critic on its latents.
class GraphNet : public AgentNet {
 public:
  GraphNet(const EnvSpec& spec, const AgentNetConfig& config);

  bool looks_ahead() const override { return false; }
  void set_statistics(std::span<const Sight* const> sights) override;
  Evaluation evaluate(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                      const LatentActions& actions) override;
  Choice choose(std::span<const Sight* const> sights, const torch::Tensor& to_go, bool greedy,
                Rng& rng) override;

 private:
  ObservationBatch batch_of(std::span<const Sight* const> sights) const;
  struct Seen {
    torch::Tensor features;  ///< of the critic
    ActionInputs inputs;
  };
  Seen see(std::span<const Sight* const> sights, const torch::Tensor& to_go);

  std::shared_ptr<GraphEncoder> encoder_;
  torch::nn::Sequential actor_{nullptr}, critic_{nullptr};
  ActionHead head_{nullptr};
};

}  // namespace reverie
