#pragma once

#include "env/environment.h"
#include "worldmodel/batch/graph_batch.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Statistics of observations over the training split, as part of the model.
struct ObservationNormalizerImpl : torch::nn::Module {
  explicit ObservationNormalizerImpl(const EnvSpec& spec);
  ObservationBatch forward(const ObservationBatch& batch);
  /// log(1 + count), normalised: [B, A].
  torch::Tensor counts(const torch::Tensor& counts);
  /// The same by entity, normalised over the entities where it is not 0: [B, S, A].
  torch::Tensor counts_by_entity(const LatentMask& mask);
  /// Nodes of a usual entity that has any. A scalar.
  torch::Tensor usual_entity();

  Normalizer nodes{nullptr}, edges{nullptr}, graph_targets{nullptr}, features{nullptr},
      log_counts{nullptr}, sizes{nullptr};
  Normalizer entity_features{nullptr}, entity_counts{nullptr}, entity_sizes{nullptr};
  torch::Tensor binary;  ///< [targets of graphs]: 1 for those that stay as they are, being 0 or 1
};
TORCH_MODULE(ObservationNormalizer);

/// Gathers the statistics of an ObservationNormalizer.
class ObservationStatistics {
 public:
  explicit ObservationStatistics(const EnvSpec& spec);
  void add(const ObservationBatch& batch);
  void store(ObservationNormalizerImpl& normalizer) const;
  /// Mean number of entities with nodes.
  double usual_entities() const;

 private:
  ColumnStatistics nodes_, edges_, graph_targets_, features_, log_counts_, sizes_;
  ColumnStatistics entity_features_, entity_counts_, entity_sizes_;
  int64_t graphs_ = 0;
  int64_t entities_ = 0;
};

/// log(1 + nodes) and log(1 + edges) of each graph, [B, 2].
torch::Tensor log_sizes(const GraphBatch& graph);

}  // namespace reverie
