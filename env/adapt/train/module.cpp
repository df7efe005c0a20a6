#include "env/adapt/train/module.h"

#include <torch/nn/init.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr double kMomentum = 0.1;  // of batch normalisation

constexpr std::array kMembers = {
    std::pair{&BlockWeights::weight, "weight"}, std::pair{&BlockWeights::bias, "bias"},
    std::pair{&BlockWeights::scale, "scale"},   std::pair{&BlockWeights::shift, "shift"},
    std::pair{&BlockWeights::mean, "mean"},     std::pair{&BlockWeights::variance, "variance"}};
constexpr size_t kLearned = 4;  // of the members, the first

bool has_weights(const Block& block) {
  return block.kind == BlockKind::kConv || block.kind == BlockKind::kLinear;
}

OwnTensor parameter(torch::Tensor tensor) {
  return OwnTensor(std::move(tensor).set_requires_grad(true));
}

torch::Tensor uniform(torch::IntArrayRef sizes, double bound, Rng& rng) {
  auto tensor = torch::empty(sizes);
  float* const values = tensor.data_ptr<float>();
  std::generate_n(values, tensor.numel(),
                  [&] { return static_cast<float>(rng.uniform(-bound, bound)); });
  return tensor;
}

std::vector<int64_t> weight_sizes(const Block& block, const BlockShape& in) {
  if (block.kind == BlockKind::kLinear)
    return {block.width, int64_t{in.channels} * in.height * in.width};
  return {block.width, in.channels, block.kernel, block.kernel};
}

void add_normalisation(BlockWeights& weights, torch::Tensor scale, torch::Tensor shift,
                       torch::Tensor mean, torch::Tensor variance) {
  weights.scale = parameter(std::move(scale));
  weights.shift = parameter(std::move(shift));
  weights.mean = OwnTensor(std::move(mean));
  weights.variance = OwnTensor(std::move(variance));
}

BlockWeights random_weights(const Block& block, const BlockShape& in, Rng& rng) {
  BlockWeights weights;
  if (!has_weights(block)) return weights;
  const std::vector<int64_t> sizes = weight_sizes(block, in);
  const int64_t inputs =
      std::accumulate(sizes.begin() + 1, sizes.end(), int64_t{1}, std::multiplies<>());
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  weights.weight = parameter(uniform(sizes, bound, rng));
  weights.bias = parameter(uniform({block.width}, bound, rng));
  if (block.kind == BlockKind::kConv && block.batch_norm)
    add_normalisation(weights, torch::ones(block.width), torch::zeros(block.width),
                      torch::zeros(block.width), torch::ones(block.width));
  return weights;
}

BlockShape shape_read(const Network& network, const std::vector<BlockShape>& shapes, int block) {
  const int from = network.blocks[static_cast<size_t>(block)].from;
  return from < 0 ? network.image : shapes[static_cast<size_t>(from)];
}

/// A block that gives what it reads; `read` is what it reads on the calibration images.
BlockWeights identity(const Block& block, const torch::Tensor& read) {
  BlockWeights weights;
  auto weight = torch::eye(block.width);
  if (block.kind == BlockKind::kConv) {
    REVERIE_CHECK(block.kernel == 2 * block.padding + 1 && block.stride == 1);
    weight = torch::zeros({block.width, block.width, block.kernel, block.kernel});
    torch::nn::init::dirac_(weight);
  }
  weights.weight = parameter(weight);
  weights.bias = parameter(torch::zeros(block.width));
  if (block.kind == BlockKind::kConv && block.batch_norm) {
    const auto [variance, mean] =
        torch::var_mean(read.to(torch::kDouble), {0, 2, 3}, /*unbiased=*/false);
    add_normalisation(weights, (variance + kNormEpsilon).sqrt().to(torch::kFloat),
                      mean.to(torch::kFloat), mean.to(torch::kFloat), variance.to(torch::kFloat));
  }
  return weights;
}

/// Of each unit that a block gives, the old unit it comes from; empty where they are the old ones.
using Sources = std::vector<int64_t>;

Sources doubled(int64_t width) {
  Sources sources(static_cast<size_t>(2 * width));
  for (int64_t i = 0; i < 2 * width; ++i) sources[static_cast<size_t>(i)] = i % width;
  return sources;
}

torch::Tensor taken(const torch::Tensor& tensor, int64_t dimension, const Sources& sources) {
  return sources.empty() ? tensor.clone() : tensor.index_select(dimension, torch::tensor(sources));
}

/// [out, in, ...] with all inputs once more behind themselves, each weight shared out between the
/// two. Flattened inputs are in the order of their channels, so that this is the same for them.
torch::Tensor shared_out(const torch::Tensor& weight, double noise, Rng& rng) {
  const auto share = uniform(weight.sizes(), noise, rng) + 0.5;
  return torch::cat({weight * share, weight * (1 - share)}, 1);
}

BlockWeights widened(const BlockWeights& old, const Sources& read, const Sources& given,
                     double noise, Rng& rng) {
  BlockWeights weights;
  for (const auto& [member, unused] : kMembers) {
    const torch::Tensor& tensor = (old.*member).value;
    if (tensor.defined()) (weights.*member).value = taken(tensor.detach(), 0, given);
  }
  if (!read.empty()) weights.weight.value = shared_out(weights.weight.value, noise, rng);
  for (size_t i = 0; i < kLearned; ++i)
    if (auto& tensor = (weights.*kMembers[i].first).value; tensor.defined())
      tensor.set_requires_grad(true);
  return weights;
}

int index_of(const Network& network, const std::string& name) {
  const auto found = std::ranges::find(network.blocks, name, &Block::name);
  return found == network.blocks.end() ? -1 : static_cast<int>(found - network.blocks.begin());
}

}  // namespace

OwnTensor::OwnTensor(const OwnTensor& other) {
  if (other.value.defined())
    value = other.value.detach().clone().set_requires_grad(other.value.requires_grad());
}

WeightedNetwork::WeightedNetwork(Network network, Rng& rng) : network_(std::move(network)) {
  const std::vector<BlockShape> shapes = network_.shapes();
  for (size_t i = 0; i < shapes.size(); ++i)
    weights_.push_back(
        random_weights(network_.blocks[i], shape_read(network_, shapes, static_cast<int>(i)), rng));
}

torch::Tensor WeightedNetwork::convolve(int index, const torch::Tensor& input,
                                        const torch::Tensor* added, Pass pass) {
  const Block& block = network_.blocks[static_cast<size_t>(index)];
  const BlockWeights& own = weights(index);
  auto result = torch::conv2d(input, own.weight.value, own.bias.value, block.stride, block.padding);
  if (block.batch_norm) {
    const bool running = pass != Pass::kStatistics;
    result = torch::batch_norm(
        result, own.scale.value, own.shift.value, running ? own.mean.value : torch::Tensor(),
        running ? own.variance.value : torch::Tensor(), pass != Pass::kEvaluate, kMomentum,
        kNormEpsilon, /*cudnn_enabled=*/false);
  }
  return added == nullptr ? result : result + *added;
}

std::vector<torch::Tensor> WeightedNetwork::outputs(const torch::Tensor& images, Pass pass) {
  std::vector<torch::Tensor> results;
  for (size_t i = 0; i < network_.blocks.size(); ++i) {
    const Block& block = network_.blocks[i];
    const torch::Tensor& input = block.from < 0 ? images : results[static_cast<size_t>(block.from)];
    torch::Tensor result;
    switch (block.kind) {
      case BlockKind::kConv:
        result = convolve(static_cast<int>(i), input,
                          block.add < 0 ? nullptr : &results[static_cast<size_t>(block.add)], pass);
        break;
      case BlockKind::kLinear:
        result = torch::linear(input.flatten(1), weights_[i].weight.value, weights_[i].bias.value);
        result = result.view({result.size(0), block.width, 1, 1});
        break;
      case BlockKind::kMaxPool:
        result = torch::max_pool2d(input, block.kernel, block.stride);
        break;
      case BlockKind::kAveragePool:
        result = torch::avg_pool2d(input, block.kernel, block.stride);
        break;
      case BlockKind::kGlobalPool:
        result = input.mean({2, 3}, /*keepdim=*/true);
        break;
    }
    results.push_back(has_weights(block) && block.relu ? result.relu_() : result);
  }
  return results;
}

torch::Tensor WeightedNetwork::forward(const torch::Tensor& images, Pass pass) {
  return outputs(images, pass).back().flatten(1);
}

std::vector<torch::Tensor> WeightedNetwork::parameters() const {
  std::vector<torch::Tensor> all;
  for (const BlockWeights& block : weights_)
    for (size_t i = 0; i < kLearned; ++i)
      if (const auto& tensor = (block.*kMembers[i].first).value; tensor.defined())
        all.push_back(tensor);
  return all;
}

void WeightedNetwork::each(const std::function<void(const std::string&, torch::Tensor&)>& visit) {
  for (size_t i = 0; i < weights_.size(); ++i)
    for (const auto& [member, name] : kMembers)
      if (auto& tensor = (weights_[i].*member).value; tensor.defined())
        visit(network_.blocks[i].name + "." + name, tensor);
}

WeightedNetwork WeightedNetwork::changed(const Network& changed, const torch::Tensor& calibration,
                                         double noise, Rng& rng) {
  const torch::NoGradGuard guard;
  const std::vector<torch::Tensor> given = outputs(calibration, Pass::kStatistics);
  WeightedNetwork result;
  result.network_ = changed;
  std::vector<Sources> sources;
  for (const Block& block : changed.blocks) {
    const int old = index_of(network_, block.name);
    const Sources read = block.from < 0 ? Sources() : sources[static_cast<size_t>(block.from)];
    if (old < 0) {  // put in: it reads an old block
      const int before = index_of(network_, changed.blocks[static_cast<size_t>(block.from)].name);
      result.weights_.push_back(identity(block, given[static_cast<size_t>(before)]));
      sources.push_back(read);
      continue;
    }
    const int width = network_.blocks[static_cast<size_t>(old)].width;
    sources.push_back(block.width == width ? Sources() : doubled(width));
    result.weights_.push_back(has_weights(block)
                                  ? widened(weights(old), read, sources.back(), noise, rng)
                                  : BlockWeights());
  }
  return result;
}

}  // namespace reverie
