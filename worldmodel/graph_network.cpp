#include "worldmodel/graph_network.h"

namespace reverie {

torch::Tensor segment_sum(const torch::Tensor& values, const torch::Tensor& index, int64_t count) {
  auto shape = values.sizes().vec();
  shape[0] = count;
  return torch::zeros(shape, values.options()).index_add(0, index, values);
}

torch::Tensor segment_mean(const torch::Tensor& values, const torch::Tensor& index,
                           int64_t count) {
  const auto sizes = segment_sum(torch::ones({values.size(0), 1}, values.options()), index, count);
  return segment_sum(values, index, count) / sizes.clamp_min(1);
}

GnBlockImpl::GnBlockImpl(int width, bool globals) {
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
  if (globals) edge_global = linear("edge_global", false);
  edge_out = linear("edge_out", true);
  node_self = linear("node_self", true);
  node_in = linear("node_in", false);
  node_back = linear("node_back", false);
  if (globals) node_global = linear("node_global", false);
  node_out = linear("node_out", true);
  if (globals) {
    global_self = linear("global_self", true);
    global_nodes = linear("global_nodes", false);
    global_edges = linear("global_edges", false);
    global_out = linear("global_out", true);
  }
  edge_norm = norm("edge_norm");
  node_norm = norm("node_norm");
  if (globals) global_norm = norm("global_norm");
}

torch::Tensor GnBlockImpl::update_edges(const GraphHidden& in, const GraphBatch& graph) {
  auto hidden = edge_self(in.edges) + edge_sender(in.nodes).index_select(0, graph.senders) +
                edge_receiver(in.nodes).index_select(0, graph.receivers);
  if (edge_global)
    hidden = hidden + edge_global(in.globals).index_select(0, graph.edge_graph);
  return edge_norm(in.edges + edge_out(torch::silu(hidden)));
}

torch::Tensor GnBlockImpl::update_nodes(const GraphHidden& in, const torch::Tensor& edges,
                                        const GraphBatch& graph) {
  const int64_t count = graph.node_total();
  auto hidden = node_self(in.nodes) + node_in(segment_mean(edges, graph.receivers, count)) +
                node_back(segment_mean(edges, graph.senders, count));
  if (node_global)
    hidden = hidden + node_global(in.globals).index_select(0, graph.node_graph);
  return node_norm(in.nodes + node_out(torch::silu(hidden)));
}

torch::Tensor GnBlockImpl::update_globals(const GraphHidden& in, const torch::Tensor& nodes,
                                          const torch::Tensor& edges, const GraphBatch& graph) {
  const int64_t count = graph.graphs();
  const auto hidden = global_self(in.globals) +
                      global_nodes(segment_mean(nodes, graph.node_graph, count)) +
                      global_edges(segment_mean(edges, graph.edge_graph, count));
  return global_norm(in.globals + global_out(torch::silu(hidden)));
}

GraphHidden GnBlockImpl::forward(const GraphHidden& in, const GraphBatch& graph) {
  GraphHidden out;
  out.edges = update_edges(in, graph);
  out.nodes = update_nodes(in, out.edges, graph);
  if (global_self) out.globals = update_globals(in, out.nodes, out.edges, graph);
  return out;
}

}  // namespace reverie
