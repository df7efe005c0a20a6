#include "worldmodel/vae.h"

#include <numbers>

namespace reverie {
namespace {

namespace F = torch::nn::functional;

constexpr int kFrequencies = 6;
constexpr int kQueryWidth = 4 * kFrequencies;
constexpr double kLongestPeriod = 2048;  // nodes

/// Sines and cosines of a position, [N] -> [N, 4 * kFrequencies].
torch::Tensor position_features(const GraphBatch& graph) {
  const auto index = graph.node_index.to(torch::kFloat);
  const auto size = graph.node_counts.index_select(0, graph.node_graph).clamp_min(1);
  const auto steps = torch::arange(kFrequencies, index.options());
  const auto relative = (index / size).unsqueeze(1) * torch::pow(2.0, steps) * std::numbers::pi;
  const auto rate = torch::pow(kLongestPeriod, -steps / (kFrequencies - 1));
  const auto absolute = index.unsqueeze(1) * rate;
  return torch::cat({relative.sin(), relative.cos(), absolute.sin(), absolute.cos()}, 1);
}

/// A random node of the same graph for each edge.
torch::Tensor random_nodes(const GraphBatch& graph, torch::Generator noise) {
  const auto sizes = graph.node_counts.index_select(0, graph.edge_graph);
  const auto starts = (graph.node_counts.cumsum(0) - graph.node_counts).index_select(0, graph.edge_graph);
  const auto uniform = torch::rand({graph.edge_total()}, noise).to(sizes.device());
  return (starts + (uniform * sizes).floor().minimum(sizes - 1)).to(torch::kInt64);
}

/// log(1 + nodes of each type), [B, types].
torch::Tensor type_histogram(const GraphBatch& graph, int types) {
  const auto one_hot = F::one_hot(graph.node_types, types).to(torch::kFloat);
  return torch::log1p(segment_sum(one_hot, graph.node_graph, graph.graphs()));
}

}  // namespace

torch::Tensor gaussian_divergence(const Posterior& posterior) {
  const auto& [mean, log_variance] = posterior;
  return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean();
}

GraphDecoderImpl::GraphDecoderImpl(const EncoderConfig& config, const EnvSpec& spec) : spec_(spec) {
  const int width = config.width;
  const int actions = spec.primary_actions();
  query_ = register_module("query", Mlp(config.latent + kQueryWidth, width, width));
  node_ = register_module("node", Mlp(width, width, spec.node_types + spec.node_features + 1));
  sender_ = register_module("sender", torch::nn::Linear(width, width));
  receiver_ = register_module("receiver", torch::nn::Linear(width, width));
  edge_ = register_module("edge", Mlp(width, width, 1 + spec.edge_features));
  statistics_ = register_module(
      "statistics", Mlp(config.latent, 2 * width, 2 + spec.node_types + spec.global_features));
  actions_ = register_module(
      "actions", Mlp(config.latent, 2 * width, actions * (2 + spec.action_features)));
}

torch::Tensor GraphDecoderImpl::query(const torch::Tensor& z, const GraphBatch& graph) {
  return query_(torch::cat({z.index_select(0, graph.node_graph), position_features(graph)}, 1));
}

void GraphDecoderImpl::node_losses(LossTerms& losses, const torch::Tensor& query,
                                   const GraphBatch& graph, const VaeLossConfig& weights) {
  const auto parts = node_(query).split_with_sizes({spec_.node_types, spec_.node_features, 1}, 1);
  losses.add("node_types", weights.nodes * F::cross_entropy(parts[0], graph.node_types));
  losses.add("node_features", weights.nodes * F::mse_loss(parts[1], graph.nodes));
  // Softmax over the nodes of each graph against the shares: their divergence.
  const auto logits = parts[2].squeeze(1).clamp(-20, 20);
  const auto sums = segment_sum(logits.exp(), graph.node_graph, graph.graphs());
  const auto log_share = logits - sums.log().index_select(0, graph.node_graph);
  const auto& shares = graph.node_targets;
  const auto divergence = shares * (shares.clamp_min(1e-12).log() - log_share);
  losses.add("cost_shares", weights.shares * divergence.sum() / graph.graphs());
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
  const auto absent = ask(random_nodes(graph, noise), random_nodes(graph, noise));
  losses.add("edges", 0.5 * weights.edges *
                          (F::softplus(-present.select(1, 0)) + F::softplus(absent.select(1, 0)))
                              .mean());
  if (spec_.edge_features > 0)
    losses.add("edge_features", weights.edges * F::mse_loss(present.narrow(1, 1, spec_.edge_features),
                                                            graph.edges));
}

void GraphDecoderImpl::statistics_losses(LossTerms& losses, const torch::Tensor& z,
                                         const GraphBatch& graph, const torch::Tensor& log_sizes,
                                         const VaeLossConfig& weights) {
  const auto target =
      torch::cat({log_sizes, type_histogram(graph, spec_.node_types), graph.globals}, 1);
  losses.add("statistics", weights.statistics * F::mse_loss(statistics_(z), target));
}

void GraphDecoderImpl::action_losses(LossTerms& losses, const torch::Tensor& z,
                                     const ObservationBatch& normal,
                                     const torch::Tensor& log_counts,
                                     const VaeLossConfig& weights) {
  const auto out = actions_(z).view({z.size(0), spec_.primary_actions(), -1});
  const auto valid = normal.counts > 0;
  losses.add("presence", weights.counts * F::binary_cross_entropy_with_logits(
                                              out.select(2, 0), valid.to(torch::kFloat)));
  losses.add("counts", weights.counts * masked_mean((out.select(2, 1) - log_counts).square(), valid));
  if (spec_.action_features == 0) return;
  const auto gains = out.narrow(2, 2, spec_.action_features) - normal.action_features;
  losses.add("gains", weights.gains * masked_mean(gains.square(), valid.unsqueeze(2)));
}

LossTerms GraphDecoderImpl::forward(const torch::Tensor& z, const ObservationBatch& normal,
                                    const torch::Tensor& log_counts,
                                    const torch::Tensor& log_sizes, const VaeLossConfig& weights,
                                    torch::Generator noise) {
  LossTerms losses;
  const auto queries = query(z, normal.graph);
  node_losses(losses, queries, normal.graph, weights);
  edge_losses(losses, queries, normal.graph, weights, noise);
  statistics_losses(losses, z, normal.graph, log_sizes, weights);
  action_losses(losses, z, normal, log_counts, weights);
  return losses;
}

Vae::Vae(const EncoderConfig& config, const EnvSpec& spec)
    : encoder(register_module("encoder", std::make_shared<GraphEncoder>(config, spec))),
      decoder(register_module("decoder", GraphDecoder(config, spec))) {}

LossTerms Vae::losses(const ObservationBatch& batch, const VaeLossConfig& weights, bool sample,
                      torch::Generator noise) {
  const Posterior posterior = encoder->posterior(batch);
  auto raw = posterior.mean;
  if (sample) {
    const auto epsilon = torch::randn(raw.sizes(), noise).to(raw.device());
    raw = raw + epsilon * torch::exp(0.5 * posterior.log_variance);
  }
  auto& normalizer = encoder->normalizer();
  LossTerms losses =
      decoder(torch::tanh(raw), normalizer.forward(batch), normalizer.counts(batch.counts),
              normalizer.sizes(log_sizes(batch.graph)), weights, noise);
  losses.add("divergence", weights.kl * gaussian_divergence(posterior));
  return losses;
}

}  // namespace reverie
