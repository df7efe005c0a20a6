#include "controller/agents/go_network.h"

#include "core/base/error.h"
#include "env/placement/search/placing_steps.h"

namespace reverie {
namespace {

using torch::nn::Linear;

constexpr double kFirstHead = 0.1;  // of what was drawn: chosen
constexpr double kSmall = 1e-3;     // beside variances

/// Two layers.
torch::nn::Sequential head(int64_t width, int64_t actions) {
  return torch::nn::Sequential(torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})),
                               Linear(width, width), torch::nn::ReLU(), Linear(width, actions));
}

}  // namespace

GoNetworkImpl::GoNetworkImpl(int devices, std::vector<GoTask> tasks, const GoSizes& sizes)
    : tasks_(std::move(tasks)),
      sizes_(sizes),
      operators_(register_module("operators", torch::nn::Embedding(kOperatorNumbers, sizes.width))),
      tasks_embedding_(
          register_module("tasks", torch::nn::Embedding(std::ssize(tasks_), sizes.width))),
      input_(register_module("input", Linear(node_columns(devices), sizes.width))),
      entity_(register_module("entity", Linear(sizes.width, sizes.width))),
      device_(register_module("device", Linear(PlacingSteps::kColumns, sizes.width))),
      choice_(register_module("choice", Linear(sizes.width, 1))),
      sage_(register_module("sage", GraphSage(sizes.width, sizes.samplings))),
      attentions_(register_module("attentions", torch::nn::ModuleList())),
      embeddings_(register_module("embeddings", torch::nn::ModuleList())),
      heads_(register_module("heads", torch::nn::ModuleList())),
      shared_(register_module("shared", SegmentAttention(sizes.width, sizes.heads))),
      norm_(register_module("norm",
                            torch::nn::LayerNorm(torch::nn::LayerNormOptions({sizes.width})))) {
  for (int64_t layer = 0; layer < sizes.attentions; ++layer)
    attentions_->push_back(SegmentAttention(sizes.width, sizes.heads));
  for (const GoTask task : tasks_) {
    const int64_t actions = task == GoTask::kPlacement ? devices : sizes.levels;
    embeddings_->push_back(torch::nn::Embedding(actions, sizes.width));
    heads_->push_back(head(sizes.width, actions));
  }
}

void GoNetworkImpl::begin_evenly() {
  const torch::NoGradGuard guard;
  for (const auto& head : *heads_)
    head->as<torch::nn::Sequential>()->ptr(3)->as<Linear>()->weight.mul_(kFirstHead);
  choice_->weight.mul_(kFirstHead);
}

torch::Tensor GoNetworkImpl::sampled(const NodeFeatures& features) {
  auto states = (input_(features.values) + operators_(features.operators)).relu();
  for (size_t layer = 0; layer < sage_->layers(); ++layer)
    states = sage_->layer(layer, states, features.inputs, features.outputs);
  return states;
}

GoNetworkImpl::Encoded GoNetworkImpl::encode(const NodeFeatures& features) {
  const auto sampled = this->sampled(features);
  const auto graph = sampled.mean(0);
  const auto apart = sampled - graph;
  auto states = (apart / (apart.square().mean(0) + kSmall).sqrt()).unsqueeze(0);
  for (const auto& layer : *attentions_)
    states = layer->as<SegmentAttention>()->forward(states, graph, sizes_.segment);
  return {states, graph};
}

GoNetworkImpl::Entities GoNetworkImpl::entities(const NodeFeatures& features,
                                                const Encoded& encoded) {
  REVERIE_CHECK(tasks_.front() == GoTask::kPlacement);
  const auto states =
      shared_->forward(encoded.states + tasks_embedding_->weight[0], encoded.graph, sizes_.segment);
  return {features.mean_of_entities(heads_[0]->as<torch::nn::Sequential>()->forward(states)),
          features.mean_of_entities(entity_(norm_(states)))};
}

torch::Tensor GoNetworkImpl::devices(const torch::Tensor& logits, const torch::Tensor& states,
                                     const torch::Tensor& columns) {
  return logits + choice_((states.unsqueeze(-2) + device_(columns)).relu()).squeeze(-1);
}

torch::Tensor GoNetworkImpl::levels(const NodeFeatures& features, const Encoded& encoded,
                                    const std::vector<torch::Tensor>& decided) {
  const size_t next = decided.size();
  REVERIE_CHECK(next > 0 && next < tasks_.size());
  auto states = encoded.states + tasks_embedding_->weight[static_cast<int64_t>(next)];
  for (size_t task = 0; task < next; ++task) {
    const auto residual = embeddings_[task]->as<torch::nn::Embedding>()->forward(decided[task]);
    states = states + (task == 0 ? features.of_nodes(residual) : residual);
  }
  states = shared_->forward(states, encoded.graph, sizes_.segment);
  return heads_[next]->as<torch::nn::Sequential>()->forward(states);
}

}  // namespace reverie
