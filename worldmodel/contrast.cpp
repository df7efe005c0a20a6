#include "worldmodel/contrast.h"

#include <vector>

#include "worldmodel/location.h"

namespace reverie {
namespace {

namespace F = torch::nn::functional;

constexpr int kRuleWidth = 16;
constexpr double kSame = 1e-5;  // largest difference between latents of equal regions
constexpr double kImpossible = -1e9;

/// Rows of `candidates` [C, latent] that equal the right one, itself apart: [T, C].
torch::Tensor doubles(const torch::Tensor& candidates, const torch::Tensor& right) {
  torch::NoGradGuard guard;
  const auto answers = candidates.index_select(0, right).unsqueeze(1);
  const auto same = (answers - candidates).abs().amax(-1) < kSame;
  return same.scatter(1, right.unsqueeze(1), false);
}

}  // namespace

ContrastImpl::ContrastImpl(const EncoderConfig& config, const EnvSpec& spec) : spec_(spec) {
  const int latents = spec.regions > 1 ? 2 * config.latent : config.latent;
  const int inputs = latents + kRuleWidth + kLocationFeatures;
  rules_ = register_module("rules", torch::nn::Embedding(spec.primary_actions(), kRuleWidth));
  state_ = register_module("state", Mlp(inputs, 2 * config.width, config.latent));
  if (spec.regions > 1)
    region_ = register_module("region", Mlp(inputs, 2 * config.width, config.latent));
}

void ContrastImpl::add_losses(LossTerms& losses, const Latents& latents, const LatentMask& mask,
                              const StatePairs& pairs, double weight) {
  const RegionActions taken = locate(pairs.actions, select_rows(mask, pairs.from));
  const auto acted = [&](const torch::Tensor& states) {
    return latents.regions.index({states, taken.region});
  };
  std::vector<torch::Tensor> known = {
      latents.z.index_select(0, pairs.from), rules_(pairs.actions.primary),
      describe_location(taken.index, taken.count, spec_.max_secondary)};
  if (region_) known.push_back(acted(pairs.from));
  const auto step = torch::cat(known, 1);
  losses.add("contrast", weight * F::cross_entropy(state_(step).matmul(latents.z.t()), pairs.to));
  if (region_)
    losses.add("region_contrast", weight * region_loss(step, acted(pairs.from), acted(pairs.to)));
}

torch::Tensor ContrastImpl::region_loss(const torch::Tensor& step, const torch::Tensor& before,
                                        const torch::Tensor& after) {
  const auto candidates = torch::cat({after, before});
  const auto right = torch::arange(after.size(0), after.options().dtype(torch::kInt64));
  const auto scores = region_(step).matmul(candidates.t());
  return F::cross_entropy(scores.masked_fill(doubles(candidates, right), kImpossible), right);
}

}  // namespace reverie
