#include "worldmodel/encoder.h"

namespace reverie {
namespace {

torch::Tensor log_counts_of(const torch::Tensor& counts) {
  return torch::log1p(counts.to(torch::kFloat));
}

}  // namespace

torch::Tensor log_sizes(const GraphBatch& graph) {
  return torch::log1p(torch::stack({graph.node_counts, graph.edge_counts}, 1));
}

ObservationNormalizerImpl::ObservationNormalizerImpl(const EnvSpec& spec)
    : nodes(register_module("nodes", Normalizer(spec.node_features))),
      edges(register_module("edges", Normalizer(spec.edge_features))),
      globals(register_module("globals", Normalizer(spec.global_features))),
      features(register_module("features",
                               Normalizer(spec.primary_actions() * spec.action_features))),
      log_counts(register_module("log_counts", Normalizer(spec.primary_actions()))),
      sizes(register_module("sizes", Normalizer(2))) {}

ObservationBatch ObservationNormalizerImpl::forward(const ObservationBatch& batch) {
  ObservationBatch normal = batch;
  normal.graph.nodes = nodes(batch.graph.nodes);
  normal.graph.edges = edges(batch.graph.edges);
  normal.graph.globals = globals(batch.graph.globals);
  const auto valid = (batch.counts > 0).unsqueeze(2);
  normal.action_features =
      features(batch.action_features.flatten(1)).view_as(batch.action_features) * valid;
  return normal;
}

torch::Tensor ObservationNormalizerImpl::counts(const torch::Tensor& counts) {
  return log_counts(log_counts_of(counts));
}

ObservationStatistics::ObservationStatistics(const EnvSpec& spec)
    : nodes_(spec.node_features),
      edges_(spec.edge_features),
      globals_(spec.global_features),
      features_(static_cast<int64_t>(spec.primary_actions()) * spec.action_features),
      log_counts_(spec.primary_actions()),
      sizes_(2) {}

void ObservationStatistics::add(const ObservationBatch& batch) {
  nodes_.add(batch.graph.nodes);
  edges_.add(batch.graph.edges);
  globals_.add(batch.graph.globals);
  const auto valid = (batch.counts > 0).unsqueeze(2).expand_as(batch.action_features);
  features_.add(batch.action_features.flatten(1), valid.flatten(1));
  log_counts_.add(log_counts_of(batch.counts));
  sizes_.add(log_sizes(batch.graph));
}

void ObservationStatistics::store(ObservationNormalizerImpl& normalizer) const {
  nodes_.store(*normalizer.nodes);
  edges_.store(*normalizer.edges);
  globals_.store(*normalizer.globals);
  features_.store(*normalizer.features);
  log_counts_.store(*normalizer.log_counts);
  sizes_.store(*normalizer.sizes);
}

}  // namespace reverie
