#include "worldmodel/encoder/graph_network.h"

namespace reverie {

torch::Tensor segment_sum(const torch::Tensor& values, const torch::Tensor& index, int64_t count) {
  auto shape = values.sizes().vec();
  shape[0] = count;
  return torch::zeros(shape, values.options()).index_add(0, index, values);
}

torch::Tensor segment_mean(const torch::Tensor& values, const torch::Tensor& index, int64_t count) {
  const auto sizes = segment_sum(torch::ones({values.size(0), 1}, values.options()), index, count);
  return segment_sum(values, index, count) / sizes.clamp_min(1);
}

GnBlockImpl::GnBlockImpl(int width) {
  const auto linear = [&](const char* name, bool bias) {
    return register_module(name,
                           torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(bias)));
  };
  const auto norm = [&](const char* name) {
    return register_module(name, torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  };
  edge_self = linear("edge_self", true);
  edge_sender = linear("edge_sender", false);
  edge_receiver = linear("edge_receiver", false);
  edge_out = linear("edge_out", true);
  node_self = linear("node_self", true);
  node_in = linear("node_in", false);
  node_back = linear("node_back", false);
  node_out = linear("node_out", true);
  edge_norm = norm("edge_norm");
  node_norm = norm("node_norm");
}

torch::Tensor GnBlockImpl::update_edges(const GraphHidden& in, const GraphBatch& graph) {
  const auto hidden = edge_self(in.edges) + edge_sender(in.nodes).index_select(0, graph.senders) +
                      edge_receiver(in.nodes).index_select(0, graph.receivers);
  return edge_norm(in.edges + edge_out(torch::silu(hidden)));
}

torch::Tensor GnBlockImpl::update_nodes(const GraphHidden& in, const torch::Tensor& edges,
                                        const GraphBatch& graph) {
  const int64_t count = graph.node_total();
  const auto hidden = node_self(in.nodes) + node_in(segment_mean(edges, graph.receivers, count)) +
                      node_back(segment_mean(edges, graph.senders, count));
  return node_norm(in.nodes + node_out(torch::silu(hidden)));
}

GraphHidden GnBlockImpl::forward(const GraphHidden& in, const GraphBatch& graph) {
  const auto edges = update_edges(in, graph);
  return {update_nodes(in, edges, graph), edges};
}

}  // namespace reverie
