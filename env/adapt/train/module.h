#pragma once

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "env/adapt/network.h"

namespace reverie {

/// A tensor that belongs to what holds it: a copy has elements of its own.
struct OwnTensor {
  torch::Tensor value;

  OwnTensor() = default;
  explicit OwnTensor(torch::Tensor tensor) : value(std::move(tensor)) {}
  OwnTensor(const OwnTensor& other);
  OwnTensor(OwnTensor&&) = default;
  OwnTensor& operator=(const OwnTensor& other) { return *this = OwnTensor(other); }
  OwnTensor& operator=(OwnTensor&&) = default;
};

/// Of a convolution or linear block; of pools all are undefined, and without batch normalisation
/// the last four.
struct BlockWeights {
  OwnTensor weight;          ///< [out, in, kernel, kernel]; linear: [out, in x height x width]
  OwnTensor bias;            ///< [out]
  OwnTensor scale, shift;    ///< [out], of batch normalisation
  OwnTensor mean, variance;  ///< [out], its running statistics, not learned
};

inline constexpr double kNormEpsilon = 1e-5;  ///< of batch normalisation

/// How batch normalisation (Ioffe and Szegedy 2015) sees a batch.
enum class Pass {
  kTrain,       ///< its statistics, which move the running ones by a tenth
  kStatistics,  ///< its statistics, the running ones stay
  kEvaluate     ///< the running statistics
};

/// A network with weights. A value: a copy shares none. Not for concurrent use.
class WeightedNetwork {
 public:
  /// Weights and biases uniform within 1 / sqrt(inputs of a unit), as LibTorch begins; scale 1,
  /// shift 0, running mean 0 and variance 1.
  WeightedNetwork(Network network, Rng& rng);

  const Network& network() const { return network_; }
  const BlockWeights& weights(int block) const { return weights_[static_cast<size_t>(block)]; }

  /// [batch, classes] of float images [batch, channels, height, width].
  torch::Tensor forward(const torch::Tensor& images, Pass pass);
  /// What is learned, in the order of the blocks: weight, bias, scale, shift.
  std::vector<torch::Tensor> parameters() const;
  /// Calls `visit` with every tensor and its name, "<block>.<member>".
  void each(const std::function<void(const std::string& name, torch::Tensor& tensor)>& visit);

  /// With what it computes kept (Chen, Goodfellow and Shlens 2016): to the sum of rounding errors,
  /// with running statistics for every input, with those of the batch on `calibration`, images like
  /// those of `forward`.
  ///
  /// A deepening puts in a convolution or linear layer that is the identity. Its batch
  /// normalisation has the mean and variance that go into it on `calibration`, sqrt(variance +
  /// epsilon) as scale and the mean as shift. A widening copies each unit of the block and of those
  /// tied to it, batch normalisation included. A weight w that reads a unit becomes (1/2 + e) w for
  /// the unit and (1/2 - e) w for its copy, e uniform within `noise` (0 to 1/2): with 0 a unit and
  /// its copy get the same gradients and stay the same.
  WeightedNetwork changed(const Network& changed, const torch::Tensor& calibration, double noise,
                          Rng& rng);

 private:
  WeightedNetwork() = default;
  std::vector<torch::Tensor> outputs(const torch::Tensor& images, Pass pass);
  torch::Tensor convolve(int block, const torch::Tensor& input, const torch::Tensor* added,
                         Pass pass);

  Network network_;
  std::vector<BlockWeights> weights_;  ///< of each block
};

}  // namespace reverie
