#include "worldmodel/encoder.h"

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr double kMinLogVariance = -10;
constexpr double kMaxLogVariance = 4;

}  // namespace

Latents Encoder::encode(std::span<const Observation* const> observations) {
  return encode(batch_observations(observations, spec()).to(device()));
}

GraphEncoder::GraphEncoder(const EncoderConfig& config, const EnvSpec& spec)
    : config_(config), spec_(spec) {
  const int width = config.width;
  normalizer_ = register_module("normalizer", ObservationNormalizer(spec));
  types_ = register_module("types", torch::nn::Embedding(spec.node_types, width));
  nodes_ = register_module("nodes", torch::nn::Linear(spec.node_features, width));
  edges_ = register_module("edges", torch::nn::Linear(spec.edge_features, width));
  globals_ = register_module("globals", torch::nn::Linear(spec.global_features + 2, width));
  const int action_width = spec.primary_actions() * (1 + spec.action_features);
  actions_ = register_module("actions", torch::nn::Linear(action_width, width));
  blocks_ = register_module("blocks", torch::nn::ModuleList());
  for (int i = 0; i < config.blocks; ++i) blocks_->push_back(GnBlock(width));
  head_ = register_module("head", Mlp(4 * width, 2 * width, 2 * config.latent));
}

GraphHidden GraphEncoder::embed(const ObservationBatch& normal) {
  GraphHidden hidden;
  hidden.nodes = types_(normal.graph.node_types) + nodes_(normal.graph.nodes);
  hidden.edges = edges_(normal.graph.edges);
  hidden.globals = globals_(
      torch::cat({normal.graph.globals, normalizer_->sizes(log_sizes(normal.graph))}, 1));
  if (config_.see_actions)
    hidden.globals = hidden.globals +
                     actions_(torch::cat({normalizer_->counts(normal.counts),
                                          normal.action_features.flatten(1)},
                                         1));
  return hidden;
}

torch::Tensor GraphEncoder::read_out(const GraphHidden& hidden, const ObservationBatch& normal) {
  const auto& graph = normal.graph;
  // A sum beside the mean, scaled to the size of a usual graph: how often something occurs is what
  // a step changes.
  const auto usual = torch::exp(normalizer_->sizes->mean[0]);
  const auto sum = segment_sum(hidden.nodes, graph.node_graph, graph.graphs());
  const auto mean = sum / graph.node_counts.unsqueeze(1).clamp_min(1);
  const auto gated = segment_sum(hidden.nodes.relu(), graph.node_graph, graph.graphs()) / usual;
  return head_(torch::cat({sum / usual, mean, gated, hidden.globals}, 1));
}

Posterior GraphEncoder::posterior(const ObservationBatch& batch) {
  const ObservationBatch normal = normalizer_(batch);
  GraphHidden hidden = embed(normal);
  for (const auto& block : *blocks_) hidden = block->as<GnBlockImpl>()->forward(hidden, normal.graph);
  const auto parts = read_out(hidden, normal).chunk(2, 1);
  return {parts[0], parts[1].clamp(kMinLogVariance, kMaxLogVariance)};
}

Latents GraphEncoder::encode(const ObservationBatch& batch) {
  torch::NoGradGuard guard;
  return {torch::tanh(posterior(batch).mean), {}, {}};
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
