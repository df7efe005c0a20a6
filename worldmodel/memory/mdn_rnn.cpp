#include "worldmodel/memory/mdn_rnn.h"

#include "core/base/error.h"

namespace reverie {

namespace {

constexpr double kSameCounts = 4;  // in logits: most counts do not change

/// The gradients of sharp Gaussians on changes that are certain drown those of other heads; what an
/// entity becomes is nearly certain.
constexpr double kMinLogSigma = -2;

int64_t input_columns(const WorldModelConfig& config, const LatentSpec& spec) {
  return 3 * spec.latent + spec.env.primary_actions() + config.embedding + kChoiceFeatures +
         kRelationFeatures;
}

}  // namespace

MdnRnnImpl::MdnRnnImpl(const WorldModelConfig& config_in, const LatentSpec& spec_in,
                       EntityPool pool_in)
    : config(config_in), spec(spec_in) {
  const int hidden = config.hidden;
  const int count = spec.env.primary_actions();
  latent = register_module("latent", Normalizer(spec.latent));
  change = register_module("change", Normalizer(spec.latent));
  log_counts = register_module("log_counts", Normalizer(count));
  reward_scale = register_buffer("reward_scale", torch::ones({1}));
  same_counts = register_parameter("same_counts", torch::full({count, 1}, kSameCounts));
  seen = register_buffer("seen", torch::arange(count).ne(spec.env.no_op()).to(torch::kInt64));
  actions = register_module("actions", torch::nn::Embedding(count, config.embedding));
  input = register_module("input", torch::nn::Linear(input_columns(config, spec), hidden));
  gates_in = register_module("gates_in", torch::nn::Linear(hidden, 4 * hidden));
  gates_hidden = register_module(
      "gates_hidden", torch::nn::Linear(torch::nn::LinearOptions(hidden, 4 * hidden).bias(false)));
  trunk = register_module("trunk", torch::nn::Linear(2 * hidden, hidden));
  const auto [of_change, of_reward, of_end, of_counts] = columns();
  head = register_module(
      "head", torch::nn::Linear(hidden, of_change + of_reward + of_end + count * of_counts));
  torch::NoGradGuard guard;
  gates_in->bias.narrow(0, hidden, hidden).fill_(1);  // forget gates start open
  global = register_module("global", Normalizer(spec.latent));
  pool = register_module("pool", pool_in);
  for (auto& parameter : pool->parameters()) parameter.set_requires_grad(false);
}

std::array<int64_t, 4> MdnRnnImpl::columns() const {
  return {Mixture::columns(config.mixtures, spec.latent), 1, 1, CountChange::classes()};
}

Mixture MdnRnnImpl::mixture(const torch::Tensor& columns) const {
  return Mixture::from_columns(columns, config.mixtures, spec.latent, kMinLogSigma);
}

torch::Tensor MdnRnnImpl::sample_change(const torch::Tensor& columns, double temperature,
                                        torch::Generator noise) {
  return change->inverse(Mixture::sample_columns(columns, config.mixtures, spec.latent,
                                                 kMinLogSigma, temperature, noise));
}

torch::Tensor MdnRnnImpl::seen_actions() const { return seen.nonzero().squeeze(1); }

torch::Tensor MdnRnnImpl::head_rows(const torch::Tensor& some) const {
  const auto [of_change, of_reward, of_end, of_counts] = columns();
  const int64_t before = of_change + of_reward + of_end;
  const auto of_some =
      before + some.unsqueeze(1) * of_counts + torch::arange(of_counts, some.options());
  return torch::cat({torch::arange(before, some.options()), of_some.flatten()});
}

MdnInput MdnRnnImpl::look(const Rows& rows, const Latents& latents, const LatentMask& mask,
                          const LatentActions& taken) {
  const auto choices = counts_by_entity(mask, taken.primary);
  const auto count = choices.gather(1, taken.entity.unsqueeze(1)).squeeze(1);
  const auto choice = choice_features(taken.index, count, spec.env.max_choices);
  MdnInput in{rows.take(latents.entities),
              rows.counts(mask),
              rows.spread(taken.primary),
              rows.spread(choice),
              {}};
  const auto whole =
      torch::cat({latent(in.latent.narrow(0, 0, rows.trajectories())), global(latents.z)}, -1);
  in.context = torch::cat({rows.spread(whole), rows.relation(choices, taken.index)}, -1);
  return in;
}

torch::Tensor MdnRnnImpl::embed(const MdnInput& in) {
  const auto counts = log_counts(torch::log1p(in.counts.to(torch::kFloat)));
  return torch::silu(input(
      torch::cat({latent(in.latent), counts, actions(in.primary), in.choice, in.context}, -1)));
}

HeadWeights MdnRnnImpl::head_weights() const {
  const auto some = seen_actions(), rows = head_rows(some);
  return {some, head->weight.index_select(0, rows), head->bias.index_select(0, rows),
          same_counts.index_select(0, some)};
}

MdnOutput MdnRnnImpl::heads(const torch::Tensor& h, const torch::Tensor& embedded,
                            const torch::Tensor& counts, const HeadWeights& weights) {
  const auto said = torch::linear(torch::silu(trunk(torch::cat({h, embedded}, -1))), weights.weight,
                                  weights.bias);
  const int64_t some = weights.actions.size(0);
  auto sizes = columns();
  sizes[3] *= some;
  const auto parts = said.split_with_sizes(sizes, -1);
  const auto same = CountChange::same(counts.index_select(-1, weights.actions)).unsqueeze(-1);
  const auto logits = parts[3].unflatten(-1, {some, CountChange::classes()});
  return {parts[0], parts[1].squeeze(-1), parts[2].squeeze(-1),
          logits.scatter_add(-1, same, weights.preference.expand(same.sizes()))};
}

Latents MdnRnnImpl::with_latents(const Latents& before, const Rows& rows,
                                 const torch::Tensor& latents) {
  Latents after = before;
  after.entities = rows.put(before.entities, latents.clamp(-1, 1));
  after.z = pool->tell(after.entities);
  return after;
}

LatentMask MdnRnnImpl::with_counts(const LatentMask& before, const Rows& rows, const MdnInput& in,
                                   const torch::Tensor& counts) const {
  const auto some = seen_actions();
  return rows.put_counts(before, some, in.counts.index_select(-1, some), counts);
}

}  // namespace reverie
