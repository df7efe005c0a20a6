#include "worldmodel/world_model.h"

#include "core/base/error.h"

namespace reverie {

LatentState WorldModel::begin(const Latents& latents) const {
  auto shape = (latents.regions.defined() ? latents.regions : latents.z).sizes().vec();
  shape.back() = spec().hidden;
  const auto zeros = torch::zeros(shape, latents.z.options());
  return {latents, zeros, zeros.clone()};
}

LatentObservation observation_of(const LatentState& state, const LatentMask& mask,
                                 const torch::Tensor& to_go) {
  const Latents& latents = state.latents;
  if (!latents.regions.defined()) return {latents.z, state.hidden, mask, to_go, {}, {}};
  return {latents.z, state.hidden.mean(1), mask, to_go, latents.regions, state.hidden};
}

void MdnWorldModel::advance(LatentState& state, const LatentMask& mask,
                            const LatentActions& actions) {
  fused_.advance(state, mask.counts, actions);
}

WorldPrediction MdnWorldModel::step(LatentState& state, const LatentMask& mask,
                                    const LatentActions& actions, double temperature,
                                    torch::Generator noise) {
  torch::NoGradGuard guard;
  const FusedOutput output = fused_.step(state, mask.counts, actions);
  const auto change = network_->change->inverse(output.change.sample(temperature, noise));
  WorldPrediction prediction;
  prediction.latents.z = (state.latents.z + change).clamp_(-1, 1);
  prediction.reward = output.reward * network_->reward_scale;
  prediction.end = output.end > 0;
  prediction.mask.counts = output.counts;
  prediction.mask.counts.select(1, spec().env.no_op()).fill_(1);
  return prediction;
}

void MdnWorldModel::store(Checkpoint& checkpoint) const {
  checkpoint.spec = network_->spec.env;
  checkpoint.configs["world"] = dump_config(network_->config);
  checkpoint.counters["latent"] = network_->spec.latent;
  store_module(checkpoint, "world", *network_);
}

std::shared_ptr<WorldModel> load_world_model(const Checkpoint& checkpoint) {
  WorldModelConfig config;
  if (!checkpoint.configs.contains("world"))
    throw InputError("the {} checkpoint holds no world model; give one from train_mdnrnn",
                     checkpoint.kind);
  ConfigFields(config).load_text(checkpoint.configs.at("world"), "world model of the checkpoint");
  LatentSpec spec;
  spec.latent = static_cast<int>(checkpoint.counters.at("latent"));
  spec.hidden = config.hidden;
  spec.env = checkpoint.spec;
  MdnRnn network(config, spec);
  restore_module(checkpoint, "world", *network);
  network->eval();
  return std::make_shared<MdnWorldModel>(network);
}

}  // namespace reverie
