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
  head_ = register_module("head", ActionHead(config.width, spec, config.head, config.encoder.latent));
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

GraphNet::Seen GraphNet::see(std::span<const Sight* const> sights, const torch::Tensor& to_go) {
  const ObservationBatch batch = batch_of(sights);
  const Latents latents = encoder_->latents(encoder_->posterior(batch).mean, batch.graph);
  const auto features = torch::cat({latents.z, to_go.unsqueeze(-1)}, -1);
  return {features, {actor_->forward(features), batch.mask, latents.entities}};
}

Evaluation GraphNet::evaluate(std::span<const Sight* const> sights, const torch::Tensor& to_go,
                              const LatentActions& actions) {
  const Seen seen = see(sights, to_go);
  Evaluation result = head_->evaluate(seen.inputs, actions);
  result.value = critic_->forward(seen.features).squeeze(-1);
  return result;
}

Choice GraphNet::choose(std::span<const Sight* const> sights, const torch::Tensor& to_go, bool greedy,
                        Rng& rng) {
  return head_->choose(see(sights, to_go).inputs, greedy, rng);
}

}  // namespace reverie
