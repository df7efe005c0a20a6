#include "controller/graph_net.h"

#include "controller/actor_critic.h"

namespace reverie {

GraphNet::GraphNet(const EnvSpec& spec, const AgentNetConfig& config)
    : encoder_(register_module("encoder", std::make_shared<GraphEncoder>(config.encoder, spec))) {
  if (config.encoder.kind == EncoderKind::kRandom)
    for (auto& parameter : encoder_->parameters()) parameter.set_requires_grad(false);
  const int64_t inputs = config.encoder.latent + 1;
  actor_ = register_module("actor", two_layers(inputs, config.width, 0));
  critic_ = register_module("critic", two_layers(inputs, config.width, 1));
  head_ = register_module("head", ActionHead(config.width, spec, config.head));
}

ObservationBatch GraphNet::batch_of(std::span<const Sight* const> sights) const {
  std::vector<const Observation*> observations;
  for (const Sight* sight : sights) observations.push_back(&sight->observation);
  return batch_observations(std::span<const Observation* const>(observations), encoder_->spec());
}

void GraphNet::set_statistics(std::span<const Sight* const> sights) {
  ObservationStatistics statistics(encoder_->spec());
  statistics.add(batch_of(sights));
  encoder_->set_statistics(statistics);
}

torch::Tensor GraphNet::features(const ObservationBatch& batch, const torch::Tensor& to_go) {
  const auto latents = encoder_->latents(encoder_->posterior(batch).mean, batch.graph);
  return torch::cat({latents.z, to_go.unsqueeze(-1)}, -1);
}

Evaluation GraphNet::evaluate(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                              const LatentActions& actions) {
  const ObservationBatch batch = batch_of(sights);
  const auto shared = features(batch, to_go);
  Evaluation result = head_->evaluate({actor_->forward(shared), {batch.mask.counts, {}}, {}}, actions);
  result.value = critic_->forward(shared).squeeze(-1);
  return result;
}

Choice GraphNet::choose(std::span<const Sight* const> sights, const torch::Tensor& to_go, bool greedy,
                        Rng& rng) {
  const ObservationBatch batch = batch_of(sights);
  return head_->choose({actor_->forward(features(batch, to_go)), {batch.mask.counts, {}}, {}}, greedy,
                       rng);
}

}  // namespace reverie
