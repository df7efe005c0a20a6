#include "worldmodel/world_model.h"

#include "core/base/error.h"

namespace reverie {

LatentState WorldModel::begin(const torch::Tensor& z) const {
  const auto zeros = torch::zeros({1, z.size(0), spec().hidden}, z.options());
  return {z, {}, zeros, zeros.clone()};
}

void MdnWorldModel::advance(LatentState& state, const torch::Tensor& counts,
                            const LatentActions& actions) {
  fused_.advance(state, counts, actions);
}

WorldPrediction MdnWorldModel::step(LatentState& state, const torch::Tensor& counts,
                                    const LatentActions& actions, double temperature,
                                    torch::Generator noise) {
  torch::NoGradGuard guard;
  const FusedOutput output = fused_.step(state, counts, actions);
  const auto change = network_->change->inverse(output.change.sample(temperature, noise));
  WorldPrediction prediction;
  prediction.z = (state.z + change).clamp_(-1, 1);
  prediction.reward = output.reward * network_->reward_scale;
  prediction.end = output.end > 0;
  prediction.counts = output.counts;
  prediction.counts.select(1, spec().env.no_op()).fill_(1);
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
