#include "env/adapt/train/published_policy.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "env/adapt/train/lstm.h"

namespace reverie {
namespace {

constexpr int64_t kEmbedding = 16, kLayer = 50, kNetwork = 16, kTime = 8, kHidden = 128;
constexpr size_t kLstm = 4;  // tensors of each of the three LSTMs: input, hidden, and their biases

/// What the published vocabulary knew first, from id 1 on.
constexpr const char* kKnown[] = {
    "Conv2d(3, 32, kernel_size=(3, 3), stride=(1, 1))",
    "BatchNorm2d(32)",
    "ReLU()",
    "Conv2d(32, 32, kernel_size=(3, 3), stride=(1, 1))",
    "AvgPool2d(kernel_size=(2, 2), stride=(2, 2))",
    "AdaptiveAvgPool2d(output_size=(1, 1))",
    "Linear(in_features=32, out_features=10)",
    "Conv2d(32, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))",
    "Linear(in_features=10, out_features=10)",
    "Linear(in_features=3072, out_features=10)",
    "Linear(in_features=3072, out_features=32)",
    "Linear(in_features=32, out_features=32)"};

std::string sides(int size) { return fmt::format("({0}, {0})", size); }

std::string printed_pool(const char* kind, const Block& block) {
  return fmt::format("{}(kernel_size={}, stride={})", kind, sides(block.kernel),
                     sides(block.stride));
}

/// The first layer of a block, without what PyTorch prints of every such layer.
std::string printed_layer(const Block& block, const BlockShape& in) {
  switch (block.kind) {
    case BlockKind::kConv:
      return fmt::format("Conv2d({}, {}, kernel_size={}, stride={}{})", in.channels, block.width,
                         sides(block.kernel), sides(block.stride),
                         block.padding > 0 ? ", padding=" + sides(block.padding) : "");
    case BlockKind::kLinear:
      return fmt::format("Linear(in_features={}, out_features={})",
                         in.channels * in.height * in.width, block.width);
    case BlockKind::kMaxPool:
      return printed_pool("MaxPool2d", block);
    case BlockKind::kAveragePool:
      return printed_pool("AvgPool2d", block);
    case BlockKind::kGlobalPool:
      break;
  }
  return "AdaptiveAvgPool2d(output_size=(1, 1))";
}

void check_chain(const Network& network) {
  for (int i = 0; i < static_cast<int>(network.blocks.size()); ++i) {
    const Block& block = network.blocks[static_cast<size_t>(i)];
    if (block.add >= 0 || block.from != i - 1)
      throw InputError(
          "block '{}' is not part of a chain: the published agent reads chains of layers alone, no "
          "residual blocks; take another method",
          block.name);
  }
}

/// Layers that a deepening of one of its blocks puts in.
std::vector<std::string> layers_put_in(const Network& network) {
  std::vector<std::string> layers;
  for (int block = 0; block < static_cast<int>(network.blocks.size()); ++block) {
    const adapt::Change change{ChangeKind::kDeepen, block};
    if (!adapt::allows(network, change)) continue;
    const std::vector<std::string> all = printed_layers(adapt::changed(network, change));
    layers.insert(layers.end(), all.begin(), all.end());
  }
  return layers;
}

torch::Tensor uniform(torch::IntArrayRef sizes, int64_t inputs, Rng& rng) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  auto tensor = torch::empty(sizes);
  std::generate_n(tensor.data_ptr<float>(), tensor.numel(),
                  [&] { return static_cast<float>(rng.uniform(-bound, bound)); });
  return tensor.set_requires_grad(true);
}

void add_lstm(std::vector<torch::Tensor>& parameters, int64_t inputs, int64_t outputs, Rng& rng) {
  for (const int64_t columns : {inputs, outputs})
    parameters.push_back(uniform({4 * outputs, columns}, outputs, rng));
  for (int bias = 0; bias < 2; ++bias) parameters.push_back(uniform({4 * outputs}, outputs, rng));
}

void add_linear(std::vector<torch::Tensor>& parameters, int64_t inputs, int64_t outputs, Rng& rng) {
  parameters.push_back(uniform({outputs, inputs}, inputs, rng));
  parameters.push_back(uniform({outputs}, inputs, rng));
}

LstmWeights lstm_at(const std::vector<torch::Tensor>& parameters, size_t first) {
  return {parameters[first], parameters[first + 1], parameters[first + 2] + parameters[first + 3]};
}

}  // namespace

std::vector<std::string> printed_layers(const Network& network) {
  check_chain(network);
  const std::vector<BlockShape> shapes = network.shapes();
  std::vector<std::string> layers;
  for (size_t i = 0; i < network.blocks.size(); ++i) {
    const Block& block = network.blocks[i];
    layers.push_back(printed_layer(block, i > 0 ? shapes[i - 1] : network.image));
    if (block.kind == BlockKind::kConv && block.batch_norm)
      layers.push_back(fmt::format("BatchNorm2d({})", block.width));
    if ((block.kind == BlockKind::kConv || block.kind == BlockKind::kLinear) && block.relu)
      layers.push_back("ReLU()");
  }
  return layers;
}

LayerVocabulary::LayerVocabulary(PublishedKind kind, const std::vector<Network>& networks) {
  if (kind == PublishedKind::kPublished)
    for (const char* layer : kKnown) ids_.emplace(layer, static_cast<int64_t>(ids_.size()) + 1);
  for (const Network& network : networks) {
    std::vector<std::string> layers = printed_layers(network);
    add(kind, layers);
    for (const std::string& layer : layers_put_in(network))
      if (!ids_.contains(layer) && std::ranges::count(layers, layer) == 0) layers.push_back(layer);
    add(kind, layers);
  }
}

void LayerVocabulary::add(PublishedKind kind, const std::vector<std::string>& layers) {
  auto next =
      static_cast<int64_t>(kind == PublishedKind::kPublished ? layers.size() : ids_.size() + 1);
  for (const std::string& layer : layers)
    if (ids_.emplace(layer, next).second) ++next;
}

std::vector<int64_t> LayerVocabulary::ids(const Network& network) const {
  std::vector<int64_t> ids = {0};
  for (const std::string& layer : printed_layers(network)) {
    const auto found = ids_.find(layer);
    if (found == ids_.end())
      throw InputError(
          "the agent does not know the layer {}; name its network when the agent is made", layer);
    ids.push_back(found->second);
  }
  return ids;
}

int64_t LayerVocabulary::size() const {
  int64_t highest = 0;
  for (const auto& [layer, id] : ids_) highest = std::max(highest, id);
  return highest + 1;
}

std::vector<float> time_features(PublishedKind kind, double left) {
  std::vector<float> features;
  const bool cosines = kind == PublishedKind::kMended;
  for (int i = 1; std::ssize(features) < kTime; ++i) {
    const double angle = 2 * std::numbers::pi * i * left;
    features.push_back(static_cast<float>(5 * std::sin(angle)));
    if (cosines) features.push_back(static_cast<float>(5 * std::cos(angle)));
  }
  return features;
}

PublishedPolicy::PublishedPolicy(PublishedKind kind, LayerVocabulary vocabulary, int actions,
                                 const Rng& rng)
    : kind_(kind),
      vocabulary_(std::move(vocabulary)),
      embedding_(torch::empty({vocabulary_.size(), kEmbedding})) {
  Rng of_embedding = rng.fork(0), of_weights = rng.fork(1);
  std::generate_n(embedding_.data_ptr<float>(), embedding_.numel(),
                  [&] { return static_cast<float>(of_embedding.normal()); });
  for (int direction = 0; direction < 2; ++direction)
    add_lstm(parameters_, kEmbedding, kLayer, of_weights);
  add_lstm(parameters_, 2 * kLayer, kNetwork, of_weights);
  add_linear(parameters_, kTime + kNetwork, kHidden, of_weights);
  add_linear(parameters_, kHidden, kHidden, of_weights);
  add_linear(parameters_, kHidden, actions, of_weights);
}

torch::Tensor PublishedPolicy::encode(const Network& network) const {
  const auto layers = embedding_.index_select(0, torch::tensor(vocabulary_.ids(network)));
  const auto forward = lstm(layers, lstm_at(parameters_, 0));
  const auto backward = lstm(layers.flip(0), lstm_at(parameters_, kLstm)).flip(0);
  return lstm(torch::cat({forward, backward}, 1), lstm_at(parameters_, 2 * kLstm))[-1];
}

torch::Tensor PublishedPolicy::probabilities(const Network& network, double left,
                                             double temperature) const {
  auto x = torch::cat({torch::tensor(time_features(kind_, left)), encode(network)});
  for (size_t i = 3 * kLstm; i < parameters_.size(); i += 2) {
    x = torch::addmv(parameters_[i + 1], parameters_[i], x);
    if (i + 2 < parameters_.size()) x = x.relu();
  }
  if (kind_ == PublishedKind::kMended) return (x / temperature).softmax(0);
  const auto published = x.softmax(0);
  return temperature > 1 ? (published / temperature).softmax(0) : published;
}

}  // namespace reverie
