#pragma once

#include <string>

#include "core/ir/graph.h"
#include "env/adapt/train/module.h"

namespace reverie {

inline constexpr char kImageInput[] = "image", kScoresOutput[] = "scores";

/// What the network computes with its weights at Pass::kEvaluate, of `batch` images: the input
/// kImageInput [batch, channels, height, width], the output kScoresOutput [batch, classes]. The
/// node that holds the weights of a block has the block's name.
Graph graph_of(const WeightedNetwork& network, int64_t batch);

/// max|a-b| / max|b| over the scores of these images, a those of the reference executor, b those of
/// the network.
double graph_error(WeightedNetwork network, const torch::Tensor& images);

/// Writes it for any number of images.
void write_network(const WeightedNetwork& network, const std::string& path);

}  // namespace reverie
