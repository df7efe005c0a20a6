#include "worldmodel/encoder/encoder.h"

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr double kMinLogVariance = -10;
constexpr double kMaxLogVariance = 4;

torch::Tensor edges_within_entities(const GraphBatch& graph) {
  const auto from = graph.node_entity.index_select(0, graph.senders);
  const auto to = graph.node_entity.index_select(0, graph.receivers);
  return (from == to).nonzero().squeeze(1);
}

/// The graph with these edges alone, as far as messages go.
GraphBatch with_edges(GraphBatch graph, const torch::Tensor& edges) {
  for (torch::Tensor* ends : {&graph.senders, &graph.receivers, &graph.edge_graph})
    *ends = ends->index_select(0, edges);
  return graph;
}

}  // namespace

Latents Encoder::encode(std::span<const Observation* const> observations) {
  return encode(batch_observations(observations, spec()).to(device()));
}

EncodedStates Encoder::see(std::span<const Observation> observations) {
  const ObservationBatch batch = batch_observations(observations, spec()).to(device());
  return {encode(batch), batch.mask};
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
  blocks_ = register_module("blocks", torch::nn::ModuleList());
  for (int i = 0; i < config.blocks; ++i) blocks_->push_back(GnBlock(width));
  head_ = register_module("head", Mlp(4 * width, 2 * width, 2 * config.latent));
  pool_ = register_module("pool", EntityPool(config.latent, 2 * width));
}

GraphHidden GraphEncoder::embed(const ObservationBatch& normal) {
  return {types_(normal.graph.node_types) + nodes_(normal.graph.nodes), edges_(normal.graph.edges)};
}

GraphHidden GraphEncoder::block(size_t i, const GraphHidden& hidden, const GraphBatch& graph) {
  return blocks_[i]->as<GnBlockImpl>()->forward(hidden, graph);
}

GraphHidden GraphEncoder::pass_messages(GraphHidden hidden, const GraphBatch& graph) {
  const size_t blocks = blocks_->size();
  const auto within = edges_within_entities(graph);
  const GraphBatch cut = with_edges(graph, within);
  GraphHidden inner{hidden.nodes, hidden.edges.index_select(0, within)};
  for (size_t i = 0; i + 1 < blocks; ++i) inner = block(i, inner, cut);
  return block(blocks - 1, {inner.nodes, hidden.edges.index_copy(0, within, inner.edges)}, graph);
}

torch::Tensor GraphEncoder::entity_actions(const ObservationBatch& normal) {
  const auto counts = torch::log1p(by_entity(normal.mask).to(torch::kFloat));
  return actions_(torch::cat({counts, normal.entity_features.flatten(2)}, 2)).flatten(0, 1);
}

torch::Tensor GraphEncoder::read_out(const GraphHidden& hidden, const ObservationBatch& normal) {
  const auto& graph = normal.graph;
  const int64_t entities = graph.entity_sizes.size(0);
  // A sum beside the mean, scaled to the size of a usual entity: how often something occurs is what
  // a step changes.
  const auto usual = normalizer_->usual_entity();
  const auto sum = segment_sum(hidden.nodes, graph.node_entity, entities);
  const auto mean = sum / graph.entity_sizes.unsqueeze(1).clamp_min(1);
  const auto gated = segment_sum(hidden.nodes.relu(), graph.node_entity, entities) / usual;
  return head_(torch::cat({sum / usual, mean, gated, entity_actions(normal)}, 1));
}

Posterior GraphEncoder::posterior(const ObservationBatch& batch) {
  const ObservationBatch normal = normalizer_(batch);
  const auto out = read_out(pass_messages(embed(normal), normal.graph), normal);
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

std::shared_ptr<Encoder> load_encoder(const Checkpoint& checkpoint) {
  if (!checkpoint.configs.contains("encoder"))
    throw InputError("the {} checkpoint holds no encoder; give one from train_vae",
                     checkpoint.kind);
  EncoderConfig config;
  ConfigFields(config).load_text(checkpoint.configs.at("encoder"), "encoder of the checkpoint");
  auto encoder = std::make_shared<GraphEncoder>(config, checkpoint.spec);
  restore_module(checkpoint, "encoder", *encoder);
  encoder->eval();
  return encoder;
}

}  // namespace reverie
