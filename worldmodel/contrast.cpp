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

void ContrastImpl::add_losses(LossTerms& losses, const Latents& latents, const StatePairs& pairs,
                              double weight) {
  std::vector<torch::Tensor> known = {
      latents.z.index_select(0, pairs.from), rules_(pairs.rule),
      describe_location(pairs.index, pairs.count, spec_.max_secondary)};
  if (region_) known.push_back(latents.regions.index({pairs.from, pairs.region}));
  const auto step = torch::cat(known, 1);
  const auto scores = state_(step).matmul(latents.z.t());
  losses.add("contrast", weight * F::cross_entropy(scores, pairs.to));
  if (region_) losses.add("region_contrast", weight * region_loss(step, latents.regions, pairs));
}

torch::Tensor ContrastImpl::region_loss(const torch::Tensor& step, const torch::Tensor& regions,
                                        const StatePairs& pairs) {
  const auto candidates = torch::cat({regions.index({pairs.to, pairs.region}),
                                      regions.index({pairs.from, pairs.region})});
  const auto right = torch::arange(pairs.size(), pairs.to.options());
  const auto scores = region_(step).matmul(candidates.t());
  return F::cross_entropy(scores.masked_fill(doubles(candidates, right), kImpossible), right);
}

}  // namespace reverie
