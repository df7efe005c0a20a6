#include <numeric>

#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/network/graph_sage.h"
#include "worldmodel/network/segment_attention.h"

namespace reverie::encoders {
namespace {

constexpr int64_t kHeads = 4;  // as the agent has; fewer where the width is no multiple of it

/// What lies beside each of `to` [E] by way of an edge from `from` [E].
NeighbourRows beside(const torch::Tensor& to, const torch::Tensor& from, const torch::Tensor& edges,
                     int64_t nodes) {
  const auto order = to.argsort(/*stable=*/true);
  return {from.index_select(0, order), to.bincount({}, nodes), edges.index_select(0, order)};
}

/// [B, S, S]: whether an entity is another's neighbour, or itself.
torch::Tensor near(const torch::Tensor& neighbours) {
  const int64_t entities = neighbours.size(1);
  auto numbers = torch::zeros({neighbours.size(0), entities, entities + 1},
                              neighbours.options().dtype(torch::kBool));
  numbers.scatter_(2, neighbours.to(torch::kInt64), true);
  return numbers.narrow(2, 1, entities)
      .logical_or(torch::eye(entities, numbers.options()).unsqueeze(0));
}

/// GO's network (Zhou et al., "Transferable Graph Optimizers for ML Compilers", 2020): GraphSAGE
/// over the nodes, then attention. A latent may depend on its entity and the neighbours alone. So
/// only the last layer of GraphSAGE reads from one entity to another, the positions of attention
/// are entities, and each reads itself and its neighbours as they were before that layer. What
/// gates an entity's state is itself as it was then, where GO has the mean over the whole graph.
class GoEncoder : public GraphEncoder {
 public:
  GoEncoder(const EncoderConfig& config, const EnvSpec& spec) : GraphEncoder(config, spec) {
    const int64_t width = config.width;
    sage_ = register_module("sage", GraphSage(width, config.blocks));
    attention_ = register_module("attention", SegmentAttention(width, std::gcd(width, kHeads)));
    add_outputs(3 * width);
  }

 private:
  torch::Tensor read(const ObservationBatch& normal) override {
    const GraphBatch& graph = normal.graph;
    const auto edges = embed_edges(graph);
    const auto within = edges_within_entities(graph);
    auto nodes = embed_nodes(graph).relu();
    pass(nodes, with_edges(graph, within), edges.index_select(0, within), 0, sage_->layers() - 1);
    const auto before = by_graph(mean_by_entity(nodes, graph), graph);
    pass(nodes, graph, edges, sage_->layers() - 1, sage_->layers());
    const auto now = mean_by_entity(nodes, graph);
    const auto attended = attention_->among(by_graph(now, graph), before, near(graph.neighbours));
    return torch::cat({sum_by_entity(nodes, graph), now, attended.flatten(0, 1)}, 1);
  }

  /// [B * S, n] -> [B, S, n].
  static torch::Tensor by_graph(const torch::Tensor& rows, const GraphBatch& graph) {
    return rows.unflatten(0, {graph.graphs(), -1});
  }

  /// Takes the nodes through the layers `first` up to `end`.
  void pass(torch::Tensor& nodes, const GraphBatch& graph, const torch::Tensor& edges, size_t first,
            size_t end) {
    const NeighbourRows inputs = beside(graph.receivers, graph.senders, edges, graph.node_total()),
                        outputs = beside(graph.senders, graph.receivers, edges, graph.node_total());
    for (size_t i = first; i < end; ++i) nodes = sage_->layer(i, nodes, inputs, outputs);
  }

  GraphSage sage_{nullptr};
  SegmentAttention attention_{nullptr};
};

}  // namespace

RegisteredEncoder go() {
  return {"go", "GO's GraphSAGE and attention", /*trained=*/true, make_kind<GoEncoder>};
}

}  // namespace reverie::encoders
