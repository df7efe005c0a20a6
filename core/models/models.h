#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/ir/graph.h"

namespace reverie {

/// Sizes of a benchmark network. 0: the network's own; a network has the options that its defaults
/// give a value.
struct ModelOptions {
  int64_t image = 0;  ///< side of the square input image
  double width = 0;   ///< multiplies the numbers of channels
  int64_t classes = 0;
  int64_t layers = 0;  ///< encoder layers, time steps, cells per stack, or fire modules
  int64_t hidden = 0;
  int64_t heads = 0;
  int64_t inner = 0;   ///< width inside of the feed-forward part
  int64_t length = 0;  ///< of the sequence
  int64_t vocabulary = 0;
  uint64_t seed = 0;
  /// Large weights are fills, so that a file is small while every operator and shape stays.
  bool light = false;

  bool operator==(const ModelOptions&) const = default;

  template <class V>
  void fields(V& v) {
    v.field("image", image, "Side of the input image");
    v.field("width", width, "Factor on the numbers of channels");
    v.field("classes", classes, "Number of classes");
    v.field("layers", layers, "Encoder layers, time steps, cells per stack, or fire modules");
    v.field("hidden", hidden, "Width of the hidden state");
    v.field("heads", heads, "Attention heads");
    v.field("inner", inner, "Width inside of the feed-forward part");
    v.field("length", length, "Length of the sequence");
    v.field("vocabulary", vocabulary, "Number of tokens");
    v.field("seed", seed, "Seed of the weights");
    v.field("light", light, "Store large weights as one number each");
  }
};

struct ModelKind {
  std::string_view name;
  std::string_view description;
  ModelOptions defaults;
  Graph (*build)(const ModelOptions&);
};

std::span<const ModelKind> all_models();

/// The network with random weights: scales and variances in [0.5, 1.5), all else centred, scaled by
/// fan-in so that activations stay bounded. They are drawn when they are needed, each from its own
/// stream of `seed`; building is instant. InputError for an unknown name, an option that the
/// network does not have, or sizes that do not fit.
Graph build_model(std::string_view name, ModelOptions options = {});

/// Elements of all named weights, batch statistics excepted: what is published as the number of
/// parameters. For graphs that build_model gives.
int64_t parameter_count(const Graph& graph);

}  // namespace reverie
