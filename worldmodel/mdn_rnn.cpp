#include "worldmodel/mdn_rnn.h"

#include "core/base/error.h"

namespace reverie {

namespace {

constexpr double kSameCounts = 4;  // in logits: what does not change is the rule

/// The gradients of sharp Gaussians on changes that are certain drown those of other heads; what a
/// region becomes is nearly certain.
double min_log_sigma(const LatentSpec& spec) { return spec.regions > 1 ? -2 : -4; }

int64_t input_columns(const WorldModelConfig& config, const LatentSpec& spec) {
  const int64_t context = spec.regions > 1 ? 2 * spec.latent + kRelationFeatures : 0;
  return spec.latent + spec.env.primary_actions() + config.embedding + kLocationFeatures + context;
}

}  // namespace

MdnRnnImpl::MdnRnnImpl(const WorldModelConfig& config_in, const LatentSpec& spec_in,
                       RegionPool pool_in)
    : config(config_in), spec(spec_in) {
  REVERIE_CHECK((spec.regions > 1) == !pool_in.is_empty());
  const int hidden = config.hidden;
  const int actions = spec.env.primary_actions();
  latent = register_module("latent", Normalizer(spec.latent));
  change = register_module("change", Normalizer(spec.latent));
  log_counts = register_module("log_counts", Normalizer(actions));
  reward_scale = register_buffer("reward_scale", torch::ones({1}));
  same_counts = register_parameter("same_counts", torch::full({actions, 1}, kSameCounts));
  seen = register_buffer("seen", torch::arange(actions).ne(spec.env.no_op()).to(torch::kInt64));
  rules = register_module("rules", torch::nn::Embedding(actions, config.embedding));
  input = register_module("input", torch::nn::Linear(input_columns(config, spec), hidden));
  gates_in = register_module("gates_in", torch::nn::Linear(hidden, 4 * hidden));
  gates_hidden = register_module(
      "gates_hidden", torch::nn::Linear(torch::nn::LinearOptions(hidden, 4 * hidden).bias(false)));
  trunk = register_module("trunk", torch::nn::Linear(2 * hidden, hidden));
  const auto [of_change, of_reward, of_end, of_counts] = columns();
  head = register_module(
      "head", torch::nn::Linear(hidden, of_change + of_reward + of_end + actions * of_counts));
  torch::NoGradGuard guard;
  gates_in->bias.narrow(0, hidden, hidden).fill_(1);  // forget gates start open
  if (spec.regions == 1) return;
  global = register_module("global", Normalizer(spec.latent));
  pool = register_module("pool", pool_in);
  for (auto& parameter : pool->parameters()) parameter.set_requires_grad(false);
}

std::array<int64_t, 4> MdnRnnImpl::columns() const {
  return {Mixture::columns(config.mixtures, spec.latent), 1, 1, CountCode::classes()};
}

Mixture MdnRnnImpl::mixture(const torch::Tensor& columns) const {
  return Mixture::from_columns(columns, config.mixtures, spec.latent, min_log_sigma(spec));
}

torch::Tensor MdnRnnImpl::sample_change(const torch::Tensor& columns, double temperature,
                                        torch::Generator noise) {
  return change->inverse(Mixture::sample_columns(columns, config.mixtures, spec.latent,
                                                 min_log_sigma(spec), temperature, noise));
}

torch::Tensor MdnRnnImpl::seen_rules() const { return seen.nonzero().squeeze(1); }

torch::Tensor MdnRnnImpl::head_rows(const torch::Tensor& rules) const {
  const auto [of_change, of_reward, of_end, of_counts] = columns();
  const int64_t before = of_change + of_reward + of_end;
  const auto of_rules = before + rules.unsqueeze(1) * of_counts + torch::arange(of_counts, rules.options());
  return torch::cat({torch::arange(before, rules.options()), of_rules.flatten()});
}

MdnInput MdnRnnImpl::look(const Rows& rows, const Latents& latents, const LatentMask& mask,
                          const torch::Tensor& primary, const RegionActions& place) {
  const auto location = describe_location(place.index, place.count, spec.env.max_secondary);
  MdnInput in{rows.latent(latents), rows.counts(mask), rows.spread(primary),
              rows.spread(location), {}};
  if (rows.flat()) return in;
  const auto whole = torch::cat({latent(in.latent.narrow(0, 0, rows.trajectories())),
                                 global(latents.z)}, -1);
  const auto relation = rows.relation(counts_by_region(mask, primary), place.index);
  in.context = torch::cat({rows.spread(whole), relation}, -1);
  return in;
}

torch::Tensor MdnRnnImpl::embed(const MdnInput& in) {
  const auto counts = log_counts(torch::log1p(in.counts.to(torch::kFloat)));
  std::vector<torch::Tensor> parts = {latent(in.latent), counts, rules(in.primary), in.location};
  if (in.context.defined()) parts.push_back(in.context);
  return torch::silu(input(torch::cat(parts, -1)));
}

HeadWeights MdnRnnImpl::head_weights() const {
  const auto of_rules = seen_rules(), rows = head_rows(of_rules);
  return {of_rules, head->weight.index_select(0, rows), head->bias.index_select(0, rows),
          same_counts.index_select(0, of_rules)};
}

MdnOutput MdnRnnImpl::heads(const torch::Tensor& h, const torch::Tensor& embedded,
                            const torch::Tensor& counts, const HeadWeights& weights) {
  const auto said = torch::linear(torch::silu(trunk(torch::cat({h, embedded}, -1))), weights.weight,
                                  weights.bias);
  const int64_t rules = weights.rules.size(0);
  auto sizes = columns();
  sizes[3] *= rules;
  const auto parts = said.split_with_sizes(sizes, -1);
  const auto same = CountCode::same(counts.index_select(-1, weights.rules)).unsqueeze(-1);
  const auto logits = parts[3].unflatten(-1, {rules, CountCode::classes()});
  return {parts[0], parts[1].squeeze(-1), parts[2].squeeze(-1),
          logits.scatter_add(-1, same, weights.preference.expand(same.sizes()))};
}

Latents MdnRnnImpl::with_latents(const Latents& before, const Rows& rows,
                                 const torch::Tensor& latents) {
  Latents after = before;
  if (rows.flat()) {
    after.z = latents.clamp(-1, 1);
  } else {
    after.regions = rows.put(before.regions, latents.clamp(-1, 1));
    after.z = pool->tell(after.regions);
  }
  return after;
}

LatentMask MdnRnnImpl::with_counts(const LatentMask& before, const Rows& rows, const MdnInput& in,
                                   const torch::Tensor& counts) const {
  const auto of_rules = seen_rules();
  return rows.put_counts(before, of_rules, in.counts.index_select(-1, of_rules), counts,
                         spec.env.max_secondary);
}

}  // namespace reverie
