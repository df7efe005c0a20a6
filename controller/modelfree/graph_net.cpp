#include "controller/modelfree/graph_net.h"

#include "controller/policy/actor_critic.h"

namespace reverie {

GraphNet::GraphNet(const EnvSpec& spec, const ModelFreeConfig& config)
    : encoder_(register_module("encoder", make_encoder(config.encoder, spec))) {
  if (!registered(config.encoder.kind).trained)
    for (auto& parameter : encoder_->parameters()) parameter.set_requires_grad(false);
  const int64_t inputs = config.encoder.latent + 1;
  actor_ = register_module("actor", two_layers(inputs, config.width, 0));
  critic_ = register_module("critic", two_layers(inputs, config.width, 1));
  head_ =
      register_module("head", ActionHead(config.width, spec, config.head, config.encoder.latent));
}

ObservationBatch GraphNet::batch_of(ModelFreeBatch inputs) const {
  std::vector<const Observation*> observations;
  for (const ModelFreeObservation* input : inputs) observations.push_back(&input->observation);
  return batch_observations(std::span<const Observation* const>(observations), encoder_->spec());
}

void GraphNet::set_statistics(ModelFreeBatch inputs) {
  ObservationStatistics statistics(encoder_->spec());
  statistics.add(batch_of(inputs));
  encoder_->set_statistics(statistics);
}

GraphNet::Seen GraphNet::see(ModelFreeBatch inputs, const torch::Tensor& to_go) {
  const ObservationBatch batch = batch_of(inputs);
  const Latents latents = encoder_->latents(encoder_->posterior(batch).mean, batch.graph);
  const auto features = torch::cat({latents.z, to_go.unsqueeze(-1)}, -1);
  return {features, {actor_->forward(features), batch.mask, latents.entities}};
}

Evaluation GraphNet::evaluate(ModelFreeBatch inputs, const torch::Tensor& to_go,
                              const LatentActions& actions) {
  const Seen seen = see(inputs, to_go);
  Evaluation result = head_->evaluate(seen.inputs, actions);
  result.value = critic_->forward(seen.features).squeeze(-1);
  return result;
}

Choice GraphNet::choose(ModelFreeBatch inputs, const torch::Tensor& to_go, bool greedy, Rng& rng) {
  return head_->choose(see(inputs, to_go).inputs, greedy, rng);
}

}  // namespace reverie
