#include "worldmodel/encoder.h"

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr double kMinLogVariance = -10;
constexpr double kMaxLogVariance = 4;

torch::Tensor edges_within_regions(const GraphBatch& graph) {
  const auto from = graph.node_region.index_select(0, graph.senders);
  const auto to = graph.node_region.index_select(0, graph.receivers);
  return (from == to).nonzero().squeeze(1);
}

/// The graph with these edges alone, as far as messages go.
GraphBatch with_edges(GraphBatch graph, const torch::Tensor& edges) {
  for (torch::Tensor* ends : {&graph.senders, &graph.receivers, &graph.edge_graph})
    *ends = ends->index_select(0, edges);
  return graph;
}

}  // namespace

Latents Encoder::encode(std::span<const Observation* const> observations,
                         const EnvSpec& environment) {
  return encode(batch_observations(observations, environment).to(device()));
}

EncodedStates Encoder::see(std::span<const Observation> observations, const EnvSpec& environment) {
  const ObservationBatch batch = batch_observations(observations, environment).to(device());
  return {encode(batch), batch.mask};
}

GraphEncoder::GraphEncoder(const EncoderConfig& config, const EnvSpec& spec)
    : config_(config), spec_(spec) {
  const int width = config.width;
  const bool flat = spec.regions == 1;
  normalizer_ = register_module("normalizer", ObservationNormalizer(spec));
  types_ = register_module("types", torch::nn::Embedding(spec.node_types, width));
  nodes_ = register_module("nodes", torch::nn::Linear(spec.node_features, width));
  edges_ = register_module("edges", torch::nn::Linear(spec.edge_features, width));
  if (flat)
    globals_ = register_module("globals", torch::nn::Linear(spec.global_features + 2, width));
  const int action_width = spec.primary_actions() * (1 + spec.action_features);
  actions_ = register_module("actions", torch::nn::Linear(action_width, width));
  blocks_ = register_module("blocks", torch::nn::ModuleList());
  for (int i = 0; i < config.blocks; ++i) blocks_->push_back(GnBlock(width, flat));
  head_ = register_module("head", Mlp(4 * width, 2 * width, 2 * config.latent));
  if (!flat) pool_ = register_module("pool", RegionPool(config.latent, 2 * width));
}

GraphHidden GraphEncoder::embed(const ObservationBatch& normal) {
  GraphHidden hidden;
  hidden.nodes = types_(normal.graph.node_types) + nodes_(normal.graph.nodes);
  hidden.edges = edges_(normal.graph.edges);
  if (!globals_) return hidden;
  hidden.globals = globals_(
      torch::cat({normal.graph.globals, normalizer_->sizes(log_sizes(normal.graph))}, 1));
  hidden.globals = hidden.globals + actions_(torch::cat({normalizer_->counts(normal.mask.counts),
                                                         normal.action_features.flatten(1)},
                                                        1));
  return hidden;
}

GraphHidden GraphEncoder::block(size_t i, const GraphHidden& hidden, const GraphBatch& graph) {
  return blocks_[i]->as<GnBlockImpl>()->forward(hidden, graph);
}

GraphHidden GraphEncoder::pass_messages(GraphHidden hidden, const GraphBatch& graph) {
  const size_t blocks = blocks_->size();
  if (!pool_) {
    for (size_t i = 0; i < blocks; ++i) hidden = block(i, hidden, graph);
    return hidden;
  }
  const auto within = edges_within_regions(graph);
  const GraphBatch cut = with_edges(graph, within);
  GraphHidden inner{hidden.nodes, hidden.edges.index_select(0, within), {}};
  for (size_t i = 0; i + 1 < blocks; ++i) inner = block(i, inner, cut);
  return block(blocks - 1, {inner.nodes, hidden.edges.index_copy(0, within, inner.edges), {}}, graph);
}

torch::Tensor GraphEncoder::region_actions(const ObservationBatch& normal) {
  const auto counts = torch::log1p(by_region(normal.mask).to(torch::kFloat));
  return actions_(torch::cat({counts, normal.region_features.flatten(2)}, 2)).flatten(0, 1);
}

torch::Tensor GraphEncoder::read_out(const GraphHidden& hidden, const ObservationBatch& normal) {
  const auto& graph = normal.graph;
  const int64_t regions = graph.region_sizes.size(0);
  // A sum beside the mean, scaled to the size of a usual region: how often something occurs is what
  // a step changes.
  const auto usual = normalizer_->usual_region();
  const auto sum = segment_sum(hidden.nodes, graph.node_region, regions);
  const auto mean = sum / graph.region_sizes.unsqueeze(1).clamp_min(1);
  const auto gated = segment_sum(hidden.nodes.relu(), graph.node_region, regions) / usual;
  return head_(
      torch::cat({sum / usual, mean, gated, pool_ ? region_actions(normal) : hidden.globals}, 1));
}

Posterior GraphEncoder::posterior(const ObservationBatch& batch) {
  const ObservationBatch normal = normalizer_(batch);
  auto out = read_out(pass_messages(embed(normal), normal.graph), normal);
  if (pool_) out = out.unflatten(0, {normal.graph.graphs(), -1});
  const auto parts = out.chunk(2, -1);
  return {parts[0], parts[1].clamp(kMinLogVariance, kMaxLogVariance)};
}

Latents GraphEncoder::latents(const torch::Tensor& unbounded, const GraphBatch& graph) {
  const auto bounded = torch::tanh(unbounded);
  if (!pool_) return {bounded, {}, {}};
  const auto empty = (graph.region_sizes == 0).view({graph.graphs(), -1, 1});
  const auto regions = bounded.masked_fill(empty, 0);
  return {pool_(regions), regions, graph.neighbours};
}

Latents GraphEncoder::encode(const ObservationBatch& batch) {
  torch::NoGradGuard guard;
  return latents(posterior(batch).mean, batch.graph);
}

void GraphEncoder::set_statistics(const ObservationStatistics& statistics) {
  torch::NoGradGuard guard;
  statistics.store(*normalizer_);
  if (pool_) pool_->usual.fill_(statistics.usual_regions());
}

void GraphEncoder::store(Checkpoint& checkpoint) const {
  checkpoint.spec = spec_;
  checkpoint.configs["encoder"] = dump_config(config_);
  store_module(checkpoint, "encoder", *this);
}

std::shared_ptr<Encoder> load_encoder(const Checkpoint& checkpoint) {
  if (!checkpoint.configs.contains("encoder"))
    throw InputError("the {} checkpoint holds no encoder; give one from train_vae", checkpoint.kind);
  EncoderConfig config;
  ConfigFields(config).load_text(checkpoint.configs.at("encoder"), "encoder of the checkpoint");
  auto encoder = std::make_shared<GraphEncoder>(config, checkpoint.spec);
  restore_module(checkpoint, "encoder", *encoder);
  encoder->eval();
  return encoder;
}

}  // namespace reverie
