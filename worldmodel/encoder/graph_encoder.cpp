#include "worldmodel/encoder/graph_encoder.h"

#include "worldmodel/encoder/graph_network.h"

namespace reverie {
namespace {

constexpr double kMinLogVariance = -10;
constexpr double kMaxLogVariance = 4;

}  // namespace

torch::Tensor edges_within_entities(const GraphBatch& graph) {
  const auto from = graph.node_entity.index_select(0, graph.senders);
  const auto to = graph.node_entity.index_select(0, graph.receivers);
  return (from == to).nonzero().squeeze(1);
}

GraphBatch with_edges(GraphBatch graph, const torch::Tensor& edges) {
  for (torch::Tensor* ends : {&graph.senders, &graph.receivers, &graph.edge_graph})
    *ends = ends->index_select(0, edges);
  return graph;
}

GraphEncoder::GraphEncoder(const EncoderConfig& config, const EnvSpec& spec)
    : config_(config), spec_(spec) {
  const int width = config.width;
  normalizer_ = register_module("normalizer", ObservationNormalizer(spec));
  types_ = register_module("types", torch::nn::Embedding(std::ssize(spec.node_types), width));
  nodes_ = register_module("nodes", torch::nn::Linear(std::ssize(spec.node_features), width));
  edges_ = register_module("edges", torch::nn::Linear(std::ssize(spec.edge_features), width));
  const int64_t action_width = spec.primary_actions() * (1 + std::ssize(spec.action_features));
  actions_ = register_module("actions", torch::nn::Linear(action_width, width));
}

void GraphEncoder::add_outputs(int64_t columns) {
  const int width = config_.width;
  head_ = register_module("head", Mlp(columns + width, 2 * width, 2 * config_.latent));
  pool_ = register_module("pool", EntityPool(config_.latent, 2 * width));
}

torch::Tensor GraphEncoder::embed_nodes(const GraphBatch& normal) {
  return types_(normal.node_types) + nodes_(normal.nodes);
}

torch::Tensor GraphEncoder::embed_edges(const GraphBatch& normal) { return edges_(normal.edges); }

torch::Tensor GraphEncoder::sum_by_entity(const torch::Tensor& nodes, const GraphBatch& graph) {
  return segment_sum(nodes, graph.node_entity, graph.entity_sizes.size(0)) /
         normalizer_->usual_entity();
}

torch::Tensor GraphEncoder::mean_by_entity(const torch::Tensor& nodes, const GraphBatch& graph) {
  return segment_sum(nodes, graph.node_entity, graph.entity_sizes.size(0)) /
         graph.entity_sizes.unsqueeze(1).clamp_min(1);
}

torch::Tensor GraphEncoder::entity_actions(const ObservationBatch& normal) {
  const auto counts = torch::log1p(by_entity(normal.mask).to(torch::kFloat));
  return actions_(torch::cat({counts, normal.entity_features.flatten(2)}, 2)).flatten(0, 1);
}

Posterior GraphEncoder::posterior(const ObservationBatch& batch) {
  const ObservationBatch normal = normalizer_(batch);
  const auto out = head_(torch::cat({read(normal), entity_actions(normal)}, 1));
  const auto parts = out.unflatten(0, {normal.graph.graphs(), -1}).chunk(2, -1);
  return {parts[0], parts[1].clamp(kMinLogVariance, kMaxLogVariance)};
}

Latents GraphEncoder::latents(const torch::Tensor& unbounded, const GraphBatch& graph) {
  const auto empty = (graph.entity_sizes == 0).view({graph.graphs(), -1, 1});
  const auto entities = torch::tanh(unbounded).masked_fill(empty, 0);
  return {pool_(entities), entities, graph.neighbours};
}

Latents GraphEncoder::encode(const ObservationBatch& batch) {
  torch::NoGradGuard guard;
  return latents(posterior(batch).mean, batch.graph);
}

void GraphEncoder::set_statistics(const ObservationStatistics& statistics) {
  torch::NoGradGuard guard;
  statistics.store(*normalizer_);
  pool_->usual.fill_(statistics.usual_entities());
}

void GraphEncoder::store(Checkpoint& checkpoint) const {
  checkpoint.spec = spec_;
  checkpoint.configs["encoder"] = dump_config(config_);
  store_module(checkpoint, "encoder", *this);
}

}  // namespace reverie
