#include "worldmodel/encoder/observation_normalizer.h"

#include <algorithm>

namespace reverie {
namespace {

torch::Tensor log_of(const torch::Tensor& counts) { return torch::log1p(counts.to(torch::kFloat)); }

}  // namespace

torch::Tensor log_sizes(const GraphBatch& graph) {
  return torch::log1p(torch::stack({graph.node_counts, graph.edge_counts}, 1));
}

ObservationNormalizerImpl::ObservationNormalizerImpl(const EnvSpec& spec) {
  const int64_t actions = spec.primary_actions(),
                features_of = actions * std::ssize(spec.action_features);
  const auto add = [&](const char* name, int64_t columns) {
    return register_module(name, Normalizer(columns));
  };
  nodes = add("nodes", std::ssize(spec.node_features));
  edges = add("edges", std::ssize(spec.edge_features));
  graph_targets = add("graph_targets", spec.target_count(TargetLevel::kGraph));
  features = add("features", features_of);
  log_counts = add("log_counts", actions);
  sizes = add("sizes", 2);
  entity_features = add("entity_features", features_of);
  entity_counts = add("entity_counts", actions);
  entity_sizes = add("entity_sizes", 1);
  binary = register_buffer("binary", torch::zeros({spec.target_count(TargetLevel::kGraph)}));
  int64_t column = 0;
  for (const Target& target : spec.targets)
    if (target.level == TargetLevel::kGraph)
      binary[column++] = target.loss == TargetLoss::kBinary ? 1 : 0;
}

ObservationBatch ObservationNormalizerImpl::forward(const ObservationBatch& batch) {
  ObservationBatch normal = batch;
  normal.graph.nodes = nodes(batch.graph.nodes);
  normal.graph.edges = edges(batch.graph.edges);
  const auto& raw = batch.graph.graph_targets;
  normal.graph.graph_targets = graph_targets(raw) * (1 - binary) + raw * binary;
  normal.action_features =
      features(batch.action_features.flatten(1)).view_as(batch.action_features) *
      (batch.mask.totals > 0).unsqueeze(2);
  normal.entity_features =
      entity_features(batch.entity_features.flatten(2)).view_as(batch.entity_features) *
      (by_entity(batch.mask) > 0).unsqueeze(3);
  return normal;
}

torch::Tensor ObservationNormalizerImpl::counts(const torch::Tensor& counts) {
  return log_counts(log_of(counts));
}

torch::Tensor ObservationNormalizerImpl::counts_by_entity(const LatentMask& mask) {
  return entity_counts(log_of(by_entity(mask)));
}

torch::Tensor ObservationNormalizerImpl::usual_entity() {
  return torch::exp(entity_sizes->mean[0]);
}

ObservationStatistics::ObservationStatistics(const EnvSpec& spec)
    : nodes_(std::ssize(spec.node_features)),
      edges_(std::ssize(spec.edge_features)),
      graph_targets_(spec.target_count(TargetLevel::kGraph)),
      features_(spec.primary_actions() * std::ssize(spec.action_features)),
      log_counts_(spec.primary_actions()),
      sizes_(2),
      entity_features_(spec.primary_actions() * std::ssize(spec.action_features)),
      entity_counts_(spec.primary_actions()),
      entity_sizes_(1) {}

void ObservationStatistics::add(const ObservationBatch& batch) {
  nodes_.add(batch.graph.nodes);
  edges_.add(batch.graph.edges);
  graph_targets_.add(batch.graph.graph_targets);
  const auto valid = (batch.mask.totals > 0).unsqueeze(2).expand_as(batch.action_features);
  features_.add(batch.action_features.flatten(1), valid.flatten(1));
  log_counts_.add(log_of(batch.mask.totals));
  sizes_.add(log_sizes(batch.graph));
  const auto counts = by_entity(batch.mask).flatten(0, 1);
  const auto features = batch.entity_features.flatten(0, 1);
  entity_counts_.add(log_of(counts), counts > 0);
  entity_features_.add(features.flatten(1),
                       (counts > 0).unsqueeze(2).expand_as(features).flatten(1));
  const auto& sizes = batch.graph.entity_sizes;
  entity_sizes_.add(log_of(sizes.masked_select(sizes > 0)).unsqueeze(1));
  graphs_ += batch.graph.graphs();
  entities_ += (sizes > 0).sum().item<int64_t>();
}

double ObservationStatistics::usual_entities() const {
  return static_cast<double>(std::max<int64_t>(entities_, 1)) /
         static_cast<double>(std::max<int64_t>(graphs_, 1));
}

void ObservationStatistics::store(ObservationNormalizerImpl& normalizer) const {
  nodes_.store(*normalizer.nodes);
  edges_.store(*normalizer.edges);
  graph_targets_.store(*normalizer.graph_targets);
  features_.store(*normalizer.features);
  log_counts_.store(*normalizer.log_counts);
  sizes_.store(*normalizer.sizes);
  entity_features_.store(*normalizer.entity_features);
  entity_counts_.store(*normalizer.entity_counts);
  entity_sizes_.store(*normalizer.entity_sizes);
}

}  // namespace reverie
