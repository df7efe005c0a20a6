#pragma once

#include "controller/modelfree/model_free_network.h"
#include "worldmodel/encoder/graph_encoder.h"

namespace reverie {

/// A graph network of its own, with actor and critic on its latents.
class GraphNet : public ModelFreeNetwork {
 public:
  GraphNet(const EnvSpec& spec, const ModelFreeConfig& config);

  bool looks_ahead() const override { return false; }
  void set_statistics(ModelFreeBatch inputs) override;
  Evaluation evaluate(ModelFreeBatch inputs, const torch::Tensor& to_go,
                      const LatentActions& actions) override;
  Choice choose(ModelFreeBatch inputs, const torch::Tensor& to_go, bool greedy, Rng& rng) override;

 private:
  ObservationBatch batch_of(ModelFreeBatch inputs) const;
  struct Seen {
    torch::Tensor features;  ///< of the critic
    ActionInputs inputs;
  };
  Seen see(ModelFreeBatch inputs, const torch::Tensor& to_go);

  std::shared_ptr<GraphEncoder> encoder_;
  torch::nn::Sequential actor_{nullptr}, critic_{nullptr};
  ActionHead head_{nullptr};
};

}  // namespace reverie
