#include "worldmodel/memory/world_model.h"

#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

OutcomeEnsemble load_outcome(const Checkpoint& checkpoint) {
  const auto text = checkpoint.configs.find("outcome");
  if (text == checkpoint.configs.end()) return nullptr;
  OutcomeConfig config;
  ConfigFields(config).load_text(text->second, "outcome of the checkpoint");
  OutcomeEnsemble outcome(config, checkpoint.spec);
  restore_module(checkpoint, "outcome", *outcome);
  return outcome;
}

/// The recurrent states by place, for writing.
RecurrentStates own_states(LatentState& state) {
  state.hidden = own(std::move(state.hidden));
  state.cell = own(std::move(state.cell));
  return {state.hidden.flatten(0, 1), state.cell.flatten(0, 1)};
}

}  // namespace

LatentState WorldModel::begin(const Latents& latents) const {
  auto shape = latents.entities.sizes().vec();
  shape.back() = spec().hidden;
  const auto zeros = torch::zeros(shape, latents.z.options());
  return {latents, zeros, zeros.clone()};
}

LatentObservation observation_of(const LatentState& state, const LatentMask& mask,
                                 const torch::Tensor& to_go) {
  const Latents& latents = state.latents;
  const auto used =
      latents.entities.ne(0).any(-1).sum(1, true).clamp_min(1);  // the rest is padding
  return {latents.z,  state.hidden.sum(1) / used, mask, to_go, latents.entities, state.hidden,
          state.cell, latents.neighbours};
}

void MdnWorldModel::advance(LatentState& state, const LatentMask& mask,
                            const LatentActions& actions) {
  torch::NoGradGuard guard;
  const Rows rows(actions.entity, state.latents.neighbours);
  const MdnInput in = network_->look(rows, state.latents, mask, actions);
  fused_.advance(in, rows.place(), own_states(state));
}

/// What the network looked at and said; `output` as long as FusedMdn keeps it.
struct MdnWorldModel::Step {
  Rows rows;
  MdnInput in;
  FusedOutput output;

  torch::Tensor of_acted(const torch::Tensor& x) const {
    return x.narrow(0, 0, rows.trajectories());
  }
};

MdnWorldModel::Step MdnWorldModel::run(LatentState& state, const LatentMask& mask,
                                       const LatentActions& actions) {
  const Rows rows(actions.entity, state.latents.neighbours);
  const MdnInput in = network_->look(rows, state.latents, mask, actions);
  return {rows, in, fused_.step(in, rows.place(), own_states(state))};
}

WorldPrediction MdnWorldModel::step(LatentState& state, const LatentMask& mask,
                                    const LatentActions& actions, double temperature,
                                    torch::Generator noise) {
  torch::NoGradGuard guard;
  const Step said = run(state, mask, actions);
  const FusedOutput& output = said.output;
  const auto change = network_->sample_change(output.change, temperature, noise);
  WorldPrediction next;
  next.latents = network_->with_latents(state.latents, said.rows, said.in.latent + change);
  next.mask = network_->with_counts(mask, said.rows, said.in, output.counts);
  next.reward = said.of_acted(output.reward) * network_->reward_scale;
  next.end = said.of_acted(output.end) > 0;
  next.end.logical_or_(next.mask.totals.narrow(1, 0, spec().env.no_op()).sum(1).eq(0));
  return next;
}

void MdnWorldModel::store(Checkpoint& checkpoint) const {
  checkpoint.spec = network_->spec.env;
  checkpoint.configs["world"] = dump_config(network_->config);
  checkpoint.counters["latent"] = network_->spec.latent;
  store_module(checkpoint, "world", *network_);
  if (!outcome_) return;
  checkpoint.configs["outcome"] = dump_config(outcome_->config);
  store_module(checkpoint, "outcome", *outcome_);
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
  MdnRnn network(config, spec, load_entity_pool(checkpoint));
  restore_module(checkpoint, "world", *network);
  network->eval();
  return std::make_shared<MdnWorldModel>(network, load_outcome(checkpoint));
}

}  // namespace reverie
