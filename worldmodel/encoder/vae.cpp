#include "worldmodel/encoder/vae.h"

#include <numbers>

#include "worldmodel/encoder/graph_network.h"

namespace reverie {
namespace {

namespace F = torch::nn::functional;

constexpr int kFrequencies = 6;
constexpr int kQueryWidth = 4 * kFrequencies;
constexpr double kLongestPeriod = 2048;  // nodes

/// Sines and cosines of a position, [N] -> [N, 4 * kFrequencies].
torch::Tensor position_features(const GraphBatch& graph) {
  const auto index = graph.node_index.to(torch::kFloat);
  const auto size = graph.entity_sizes.index_select(0, graph.node_entity).clamp_min(1);
  const auto steps = torch::arange(kFrequencies, index.options());
  const auto relative = (index / size).unsqueeze(1) * torch::pow(2.0, steps) * std::numbers::pi;
  const auto rate = torch::pow(kLongestPeriod, -steps / (kFrequencies - 1));
  const auto absolute = index.unsqueeze(1) * rate;
  return torch::cat({relative.sin(), relative.cos(), absolute.sin(), absolute.cos()}, 1);
}

/// Whether an entity has nodes, [B, S].
torch::Tensor present_entities(const GraphBatch& graph) {
  return (graph.entity_sizes > 0).view({graph.graphs(), -1});
}

/// For each of the nodes a random one of the same entity.
torch::Tensor random_nodes(const GraphBatch& graph, const torch::Tensor& nodes,
                           torch::Generator noise) {
  const auto by_entity = graph.node_entity.argsort(/*stable=*/true);
  const auto entity = graph.node_entity.index_select(0, nodes);
  const auto sizes = graph.entity_sizes.index_select(0, entity);
  const auto starts = (graph.entity_sizes.cumsum(0) - graph.entity_sizes).index_select(0, entity);
  const auto uniform = torch::rand({nodes.size(0)}, noise).to(sizes.device());
  return by_entity.index_select(
      0, (starts + (uniform * sizes).floor().minimum(sizes - 1)).to(torch::kInt64));
}

/// log(1 + nodes of each type) by `group` [N], [groups, types].
torch::Tensor type_histogram(const GraphBatch& graph, int64_t types, const torch::Tensor& group,
                             int64_t groups) {
  const auto one_hot = F::one_hot(graph.node_types, types).to(torch::kFloat);
  return torch::log1p(segment_sum(one_hot, group, groups));
}

/// Divergence of shares from what logarithms say of them.
torch::Tensor share_divergence(const torch::Tensor& shares, const torch::Tensor& log_share) {
  return (shares * (shares.clamp_min(1e-12).log() - log_share)).sum();
}

/// Mean over what is there and over what is not, each weighing a half.
torch::Tensor balanced_presence(const torch::Tensor& logits, const torch::Tensor& there,
                                const torch::Tensor& asked) {
  const auto losses = F::binary_cross_entropy_with_logits(
      logits, there.to(torch::kFloat),
      F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
  return 0.5 * (masked_mean(losses, there) + masked_mean(losses, asked.logical_and(~there)));
}

}  // namespace

torch::Tensor gaussian_divergence(const Posterior& posterior, const torch::Tensor& present) {
  const auto& [mean, log_variance] = posterior;
  const auto sum = (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1);
  return 0.5 * masked_mean(sum, present);
}

GraphDecoderImpl::GraphDecoderImpl(const EncoderConfig& config, const EnvSpec& spec)
    : types_(std::ssize(spec.node_types)),
      node_features_(std::ssize(spec.node_features)),
      edge_features_(std::ssize(spec.edge_features)),
      action_features_(std::ssize(spec.action_features)),
      actions_count_(spec.primary_actions()),
      shares_(spec.target_count(TargetLevel::kNode)) {
  const int width = config.width;
  int64_t column = 0;
  for (const Target& target : spec.targets) {
    if (target.level != TargetLevel::kGraph) continue;
    (target.loss == TargetLoss::kBinary ? binaries_ : regressions_).push_back(column++);
  }
  query_ = register_module("query", Mlp(config.latent + kQueryWidth, width, width));
  node_ = register_module("node", Mlp(width, width, types_ + node_features_ + shares_));
  sender_ = register_module("sender", torch::nn::Linear(width, width));
  receiver_ = register_module("receiver", torch::nn::Linear(width, width));
  edge_ = register_module("edge", Mlp(width, width, 1 + edge_features_));
  statistics_ = register_module("statistics", Mlp(config.latent, 2 * width, 2 + types_ + column));
  actions_ = register_module(
      "actions", Mlp(config.latent, 2 * width, actions_count_ * (2 + action_features_)));
}

torch::Tensor GraphDecoderImpl::query(const Latents& latents, const GraphBatch& graph) {
  const auto rows = latents.entities.flatten(0, 1);
  return query_(torch::cat({rows.index_select(0, graph.node_entity), position_features(graph)}, 1));
}

void GraphDecoderImpl::node_losses(LossTerms& losses, const torch::Tensor& query,
                                   const GraphBatch& graph, const VaeLossConfig& weights) {
  const auto parts = node_(query).split_with_sizes({types_, node_features_, shares_}, 1);
  losses.add("node_types", weights.nodes * F::cross_entropy(parts[0], graph.node_types));
  losses.add("node_features", weights.nodes * F::mse_loss(parts[1], graph.nodes));
  if (shares_ == 0) return;
  // Softmax over the nodes of each graph against the shares: their divergence.
  const auto logits = parts[2].clamp(-20, 20);
  const auto sums = segment_sum(logits.exp(), graph.node_graph, graph.graphs());
  const auto log_share = logits - sums.log().index_select(0, graph.node_graph);
  losses.add("shares",
             weights.shares * share_divergence(graph.node_targets, log_share) / graph.graphs());
}

void GraphDecoderImpl::edge_losses(LossTerms& losses, const torch::Tensor& query,
                                   const GraphBatch& graph, const VaeLossConfig& weights,
                                   torch::Generator noise) {
  if (graph.edge_total() == 0) return;
  const auto from = sender_(query);
  const auto to = receiver_(query);
  const auto ask = [&](const torch::Tensor& senders, const torch::Tensor& receivers) {
    return edge_(torch::silu(from.index_select(0, senders) + to.index_select(0, receivers)));
  };
  const auto present = ask(graph.senders, graph.receivers);
  const auto absent =
      ask(random_nodes(graph, graph.senders, noise), random_nodes(graph, graph.receivers, noise));
  losses.add("edges",
             0.5 * weights.edges *
                 (F::softplus(-present.select(1, 0)) + F::softplus(absent.select(1, 0))).mean());
  if (edge_features_ > 0)
    losses.add("edge_features",
               weights.edges * F::mse_loss(present.narrow(1, 1, edge_features_), graph.edges));
}

void GraphDecoderImpl::statistics_losses(LossTerms& losses, const torch::Tensor& z,
                                         const GraphBatch& normal, const torch::Tensor& log_sizes,
                                         const VaeLossConfig& weights) {
  const auto said = statistics_(z);
  const auto columns = [&](const torch::Tensor& x, const std::vector<int64_t>& which,
                           int64_t first) {
    return x.index_select(1, torch::tensor(which, torch::kInt64).to(x.device()) + first);
  };
  const int64_t before = 2 + types_;  // columns of sizes and types
  const auto target =
      torch::cat({log_sizes, type_histogram(normal, types_, normal.node_graph, normal.graphs()),
                  columns(normal.graph_targets, regressions_, 0)},
                 1);
  const auto numbers =
      torch::cat({said.narrow(1, 0, before), columns(said, regressions_, before)}, 1);
  losses.add("statistics", weights.statistics * F::mse_loss(numbers, target));
  if (binaries_.empty()) return;
  losses.add("binaries", weights.statistics * F::binary_cross_entropy_with_logits(
                                                  columns(said, binaries_, before),
                                                  columns(normal.graph_targets, binaries_, 0)));
}

void GraphDecoderImpl::action_losses(LossTerms& losses, const torch::Tensor& z,
                                     const ObservationBatch& normal,
                                     const torch::Tensor& log_counts,
                                     const VaeLossConfig& weights) {
  const auto out = actions_(z).view({z.size(0), actions_count_, -1});
  const auto valid = normal.mask.totals > 0;
  losses.add("presence", weights.counts * F::binary_cross_entropy_with_logits(
                                              out.select(2, 0), valid.to(torch::kFloat)));
  losses.add("counts",
             weights.counts * masked_mean((out.select(2, 1) - log_counts).square(), valid));
  if (action_features_ == 0) return;
  const auto gains = out.narrow(2, 2, action_features_) - normal.action_features;
  losses.add("gains", weights.gains * masked_mean(gains.square(), valid.unsqueeze(2)));
}

LossTerms GraphDecoderImpl::forward(const Latents& latents, const ObservationBatch& normal,
                                    const torch::Tensor& log_counts, const torch::Tensor& log_sizes,
                                    const VaeLossConfig& weights, torch::Generator noise) {
  LossTerms losses;
  const auto queries = query(latents, normal.graph);
  node_losses(losses, queries, normal.graph, weights);
  edge_losses(losses, queries, normal.graph, weights, noise);
  statistics_losses(losses, latents.z, normal.graph, log_sizes, weights);
  action_losses(losses, latents.z, normal, log_counts, weights);
  return losses;
}

EntityDecoderImpl::EntityDecoderImpl(const EncoderConfig& config, const EnvSpec& spec)
    : types_(std::ssize(spec.node_types)),
      action_features_(std::ssize(spec.action_features)),
      actions_count_(spec.primary_actions()),
      shares_(spec.target_count(TargetLevel::kNode)) {
  const int width = 2 * config.width;
  content_ = register_module("content", Mlp(config.latent, width, shares_ + types_));
  actions_ = register_module("actions",
                             Mlp(config.latent, width, actions_count_ * (2 + action_features_)));
}

void EntityDecoderImpl::content_losses(LossTerms& losses, const torch::Tensor& entities,
                                       const GraphBatch& graph, const torch::Tensor& present,
                                       const VaeLossConfig& weights) {
  const auto parts = content_(entities).split_with_sizes({shares_, types_}, 2);
  const int64_t count = graph.entity_sizes.size(0);
  if (shares_ > 0) {
    const auto shares = segment_sum(graph.node_targets, graph.node_entity, count).view_as(parts[0]);
    const auto logits = parts[0].clamp(-20, 20).masked_fill(~present.unsqueeze(2), -60);
    losses.add("entity_shares",
               weights.shares * share_divergence(shares, logits.log_softmax(1)) / graph.graphs());
  }
  const auto types = type_histogram(graph, types_, graph.node_entity, count);
  const auto error = parts[1] - types.view_as(parts[1]);
  losses.add("entity_types",
             weights.statistics * masked_mean(error.square(), present.unsqueeze(2)));
}

void EntityDecoderImpl::add_losses(LossTerms& losses, const torch::Tensor& entities,
                                   const ObservationBatch& normal, const torch::Tensor& log_counts,
                                   const VaeLossConfig& weights) {
  const auto present = present_entities(normal.graph);
  content_losses(losses, entities, normal.graph, present, weights);
  const auto asked = present.unsqueeze(2).expand_as(log_counts);
  const auto valid = (by_entity(normal.mask) > 0).logical_and(asked);
  const auto out = actions_(entities).unflatten(2, {actions_count_, -1});
  losses.add("entity_presence", weights.counts * balanced_presence(out.select(3, 0), valid, asked));
  losses.add("entity_counts",
             weights.counts * masked_mean((out.select(3, 1) - log_counts).square(), valid));
  if (action_features_ == 0) return;
  const auto gains = out.narrow(3, 2, action_features_) - normal.entity_features;
  losses.add("entity_gains", weights.gains * masked_mean(gains.square(), valid.unsqueeze(3)));
}

Vae::Vae(const EncoderConfig& config, const EnvSpec& spec)
    : encoder(register_module("encoder", make_encoder(config, spec))),
      decoder(register_module("decoder", GraphDecoder(config, spec))),
      entity_decoder(register_module("entity_decoder", EntityDecoder(config, spec))) {}

LossTerms Vae::reconstruct(const Latents& latents, const ObservationBatch& batch,
                           const VaeLossConfig& weights, torch::Generator noise) {
  auto& normalizer = encoder->normalizer();
  const ObservationBatch normal = normalizer.forward(batch);
  LossTerms losses = decoder(latents, normal, normalizer.counts(batch.mask.totals),
                             normalizer.sizes(log_sizes(batch.graph)), weights, noise);
  entity_decoder->add_losses(losses, latents.entities, normal,
                             normalizer.counts_by_entity(batch.mask), weights);
  return losses;
}

LossTerms Vae::losses(const ObservationBatch& batch, const VaeLossConfig& weights, bool sample,
                      torch::Generator noise) {
  const Posterior posterior = encoder->posterior(batch);
  auto raw = posterior.mean;
  if (sample) {
    const auto epsilon = torch::randn(raw.sizes(), noise).to(raw.device());
    raw = raw + epsilon * torch::exp(0.5 * posterior.log_variance);
  }
  LossTerms losses = reconstruct(encoder->latents(raw, batch.graph), batch, weights, noise);
  losses.add("divergence",
             weights.kl * gaussian_divergence(posterior, present_entities(batch.graph)));
  return losses;
}

}  // namespace reverie
