#pragma once

#include <string>
#include <utility>
#include <vector>

#include "worldmodel/network/torch.h"

namespace reverie {

/// Source of noise for tensors on the CPU, seeded.
torch::Generator make_generator(uint64_t seed);

/// New modules draw their weights from LibTorch's default generator on the CPU. While this lives
/// that is seeded; then it goes on where it was. For one thread at a time.
class SeededWeights {
 public:
  explicit SeededWeights(uint64_t seed);
  ~SeededWeights();
  SeededWeights(const SeededWeights&) = delete;
  SeededWeights& operator=(const SeededWeights&) = delete;

 private:
  torch::Tensor before_;
};

/// What `make` makes; equal seeds give it equal weights.
template <class Make>
auto with_torch_seed(uint64_t seed, Make&& make) {
  const SeededWeights seeded(seed);
  return make();
}

/// Two layers with SiLU between them: [*, in] -> [*, out].
struct MlpImpl : torch::nn::Module {
  MlpImpl(int in, int width, int out);
  torch::Tensor forward(const torch::Tensor& x);

  torch::nn::Linear first{nullptr};
  torch::nn::Linear second{nullptr};
};
TORCH_MODULE(Mlp);

/// (x - mean) / deviation per column, clamped to [-kClamp, kClamp]. The statistics are buffers, so
/// that they travel with the weights; the identity until they are set.
struct NormalizerImpl : torch::nn::Module {
  static constexpr double kClamp = 10;

  explicit NormalizerImpl(int64_t columns);
  torch::Tensor forward(const torch::Tensor& x) const;
  torch::Tensor inverse(const torch::Tensor& x) const;

  torch::Tensor mean;       ///< [columns]
  torch::Tensor deviation;  ///< [columns], 1 for a constant column
};
TORCH_MODULE(Normalizer);

/// Running mean and deviation of columns in double precision, rows of weight 0 ignored.
class ColumnStatistics {
 public:
  explicit ColumnStatistics(int64_t columns);
  /// x: [rows, columns]; weight: same shape or undefined.
  void add(const torch::Tensor& x, const torch::Tensor& weight = {});
  void store(NormalizerImpl& normalizer) const;
  torch::Tensor mean() const;
  torch::Tensor deviation() const;

 private:
  torch::Tensor count_, sum_, squares_;
};

/// Named parts of a loss; the total is their sum, weights applied already.
struct LossTerms {
  std::vector<std::pair<std::string, torch::Tensor>> terms;  ///< scalars

  void add(std::string name, torch::Tensor value) {
    terms.emplace_back(std::move(name), std::move(value));
  }
  torch::Tensor total() const;
};

/// Mean of x where mask is not zero (both of one shape, or mask broadcasts); 0 where it is all
/// zero.
torch::Tensor masked_mean(const torch::Tensor& x, const torch::Tensor& mask);

}  // namespace reverie
