#include "worldmodel/encoder.h"

#include <algorithm>

namespace reverie {
namespace {

torch::Tensor log_of(const torch::Tensor& counts) { return torch::log1p(counts.to(torch::kFloat)); }

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
      sizes(register_module("sizes", Normalizer(2))) {
  if (spec.regions == 1) return;
  const int64_t actions = spec.primary_actions();
  region_features = register_module("region_features", Normalizer(actions * spec.action_features));
  region_counts = register_module("region_counts", Normalizer(actions));
  region_sizes = register_module("region_sizes", Normalizer(1));
}

ObservationBatch ObservationNormalizerImpl::forward(const ObservationBatch& batch) {
  ObservationBatch normal = batch;
  normal.graph.nodes = nodes(batch.graph.nodes);
  normal.graph.edges = edges(batch.graph.edges);
  normal.graph.globals = globals(batch.graph.globals);
  const auto valid = (batch.mask.counts > 0).unsqueeze(2);
  normal.action_features =
      features(batch.action_features.flatten(1)).view_as(batch.action_features) * valid;
  if (!region_features) return normal;
  normal.region_features =
      region_features(batch.region_features.flatten(2)).view_as(batch.region_features) *
      (by_region(batch.mask) > 0).unsqueeze(3);
  return normal;
}

torch::Tensor ObservationNormalizerImpl::counts(const torch::Tensor& counts) {
  return log_counts(log_of(counts));
}

torch::Tensor ObservationNormalizerImpl::counts_by_region(const LatentMask& mask) {
  return region_counts(log_of(by_region(mask)));
}

torch::Tensor ObservationNormalizerImpl::usual_region() {
  return torch::exp((region_sizes ? region_sizes : sizes)->mean[0]);
}

ObservationStatistics::ObservationStatistics(const EnvSpec& spec)
    : nodes_(spec.node_features),
      edges_(spec.edge_features),
      globals_(spec.global_features),
      features_(static_cast<int64_t>(spec.primary_actions()) * spec.action_features),
      log_counts_(spec.primary_actions()),
      sizes_(2),
      region_features_(static_cast<int64_t>(spec.primary_actions()) * spec.action_features),
      region_counts_(spec.primary_actions()),
      region_sizes_(1) {}

void ObservationStatistics::add(const ObservationBatch& batch) {
  nodes_.add(batch.graph.nodes);
  edges_.add(batch.graph.edges);
  globals_.add(batch.graph.globals);
  const auto valid = (batch.mask.counts > 0).unsqueeze(2).expand_as(batch.action_features);
  features_.add(batch.action_features.flatten(1), valid.flatten(1));
  log_counts_.add(log_of(batch.mask.counts));
  sizes_.add(log_sizes(batch.graph));
  if (batch.mask.regions.defined()) add_regions(batch);
}

void ObservationStatistics::add_regions(const ObservationBatch& batch) {
  const auto counts = by_region(batch.mask).flatten(0, 1);
  const auto features = batch.region_features.flatten(0, 1);
  region_counts_.add(log_of(counts), counts > 0);
  region_features_.add(features.flatten(1),
                       (counts > 0).unsqueeze(2).expand_as(features).flatten(1));
  const auto& sizes = batch.graph.region_sizes;
  region_sizes_.add(log_of(sizes.masked_select(sizes > 0)).unsqueeze(1));
  graphs_ += batch.graph.graphs();
  regions_ += (sizes > 0).sum().item<int64_t>();
}

double ObservationStatistics::usual_regions() const {
  return static_cast<double>(std::max<int64_t>(regions_, 1)) /
         static_cast<double>(std::max<int64_t>(graphs_, 1));
}

void ObservationStatistics::store(ObservationNormalizerImpl& normalizer) const {
  nodes_.store(*normalizer.nodes);
  edges_.store(*normalizer.edges);
  globals_.store(*normalizer.globals);
  features_.store(*normalizer.features);
  log_counts_.store(*normalizer.log_counts);
  sizes_.store(*normalizer.sizes);
  if (!normalizer.region_features) return;
  region_features_.store(*normalizer.region_features);
  region_counts_.store(*normalizer.region_counts);
  region_sizes_.store(*normalizer.region_sizes);
}

}  // namespace reverie
