#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/encoder/graph_network.h"

namespace reverie::encoders {
namespace {

/// Full graph-network blocks (Battaglia et al. 2018). Only the last passes messages from one entity
/// to another.
class GnEncoder : public GraphEncoder {
 public:
  GnEncoder(const EncoderConfig& config, const EnvSpec& spec) : GraphEncoder(config, spec) {
    blocks_ = register_module("blocks", torch::nn::ModuleList());
    for (int i = 0; i < config.blocks; ++i) blocks_->push_back(GnBlock(config.width));
    add_outputs(3 * config.width);
  }

 private:
  torch::Tensor read(const ObservationBatch& normal) override {
    const GraphBatch& graph = normal.graph;
    const auto nodes = pass_messages({embed_nodes(graph), embed_edges(graph)}, graph).nodes;
    return torch::cat({sum_by_entity(nodes, graph), mean_by_entity(nodes, graph),
                       sum_by_entity(nodes.relu(), graph)},
                      1);
  }

  GraphHidden block(size_t i, const GraphHidden& hidden, const GraphBatch& graph) {
    return blocks_[i]->as<GnBlockImpl>()->forward(hidden, graph);
  }

  GraphHidden pass_messages(const GraphHidden& hidden, const GraphBatch& graph) {
    const size_t blocks = blocks_->size();
    const auto within = edges_within_entities(graph);
    const GraphBatch cut = with_edges(graph, within);
    GraphHidden inner{hidden.nodes, hidden.edges.index_select(0, within)};
    for (size_t i = 0; i + 1 < blocks; ++i) inner = block(i, inner, cut);
    return block(blocks - 1, {inner.nodes, hidden.edges.index_copy(0, within, inner.edges)}, graph);
  }

  torch::nn::ModuleList blocks_{nullptr};
};

}  // namespace

RegisteredEncoder gn() {
  return {"gn", "full graph-network blocks", /*trained=*/true, make_kind<GnEncoder>};
}

}  // namespace reverie::encoders
