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
  torch::NoGradGuard guard;
  const RegionActions place = locate(actions, mask);
  const Rows rows(place.region, state.latents.neighbours);
  auto h = rows.take(state.hidden), c = rows.take(state.cell);
  fused_.advance(network_->look(rows, state.latents, mask, actions.primary, place), h, c);
  state.hidden = rows.put(state.hidden, h);
  state.cell = rows.put(state.cell, c);
}

WorldPrediction MdnWorldModel::step_at(LatentState& state, const LatentMask& mask,
                                       const torch::Tensor& primary, const RegionActions& place,
                                       double temperature, torch::Generator noise) {
  torch::NoGradGuard guard;
  const Rows rows(place.region, state.latents.neighbours);
  const MdnInput in = network_->look(rows, state.latents, mask, primary, place);
  auto h = rows.take(state.hidden), c = rows.take(state.cell);
  const FusedOutput output = fused_.step(in, h, c);
  state.hidden = rows.put(state.hidden, h);
  state.cell = rows.put(state.cell, c);
  const auto of_acted = [&](const torch::Tensor& x) { return x.narrow(0, 0, rows.trajectories()); };
  const auto change =
      network_->change->inverse(network_->change_head->sample(output.change, temperature, noise));
  WorldPrediction next;
  next.latents = network_->with_latents(state.latents, rows, in.latent + change);
  next.mask = network_->with_counts(mask, rows, output.counts);
  next.reward = network_->reward_head->mean(of_acted(output.reward)) * network_->reward_scale;
  next.end = of_acted(output.end) > 0;
  if (!rows.flat())
    next.end.logical_or_(next.mask.counts.narrow(1, 0, spec().env.no_op()).eq(0).all(1));
  return next;
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
  spec.regions = spec.env.regions;
  MdnRnn network(config, spec, spec.regions > 1 ? load_region_pool(checkpoint) : nullptr);
  restore_module(checkpoint, "world", *network);
  network->eval();
  return std::make_shared<MdnWorldModel>(network);
}

}  // namespace reverie
