#include "worldmodel/network/cut_minibatch.h"

#include <gmock/gmock.h>

#include "controller/train/ppo.h"

namespace reverie {
namespace {

TEST(CutMinibatch, ChunksAreAllExamplesAndSmallOnesAreNotCut) {
  const CutMinibatch cut({.chunks = 4}, 10);
  ASSERT_EQ(cut.own().size(), 4u);
  double shares = 0;
  int next = 0;
  for (const Part& part : cut.own()) {
    const auto [first, end] = part.range(10);
    EXPECT_EQ(first, next);
    next = end;
    shares += cut.share(part);
  }
  EXPECT_EQ(next, 10);
  EXPECT_DOUBLE_EQ(shares, 1);
  const CutMinibatch small({.chunks = 4}, 3);
  EXPECT_FALSE(small.is_cut());
  EXPECT_EQ(small.own().size(), 1u);
}

/// A linear policy over two actions, and a critic, learn from made-up steps.
struct Steps {
  torch::Tensor inputs = torch::linspace(-1, 1, 21 * 3).view({21, 3});
  torch::Tensor taken = torch::arange(21).remainder(2);
  torch::Tensor weights = torch::full({3, 3}, 0.1).requires_grad_();

  Evaluation evaluate(const torch::Tensor& index) const {
    const auto out = inputs.index_select(0, index).matmul(weights);
    const auto logs = out.slice(1, 0, 2).log_softmax(1);
    const auto taken_log = logs.gather(1, taken.index_select(0, index).unsqueeze(1)).squeeze(1);
    Evaluation now;
    now.log_probability = taken_log;
    now.entropy = -(logs.exp() * logs).sum(1);
    now.value = out.select(1, 2);
    return now;
  }
  PpoBatch batch() const {
    PpoBatch batch;
    {
      torch::NoGradGuard no_grad;
      batch.log_probability = evaluate(torch::arange(21)).log_probability;
    }
    batch.advantage = torch::sin(torch::arange(21).to(torch::kFloat));
    batch.target = torch::cos(torch::arange(21).to(torch::kFloat));
    batch.evaluate = [this](const torch::Tensor& index) { return evaluate(index); };
    return batch;
  }
};

TEST(CutMinibatch, PpoLearnsTheSameFromChunks) {
  PpoConfig config;
  config.minibatch = 7;
  config.epochs = 3;
  config.learning_rate = config.final_learning_rate = 0.01;
  std::vector<torch::Tensor> weights;
  std::vector<Metrics> metrics;
  for (const int chunks : {1, 2, 3, 7}) {
    const Steps steps;
    PpoLearner learner({steps.weights}, config);
    learner.share({.chunks = chunks});
    Rng rng(4);
    metrics.push_back(learner.update(steps.batch(), 0, rng));
    weights.push_back(steps.weights.detach().clone());
  }
  EXPECT_GT((weights[0] - 0.1).abs().max().item<double>(), 0.01);
  for (size_t i = 1; i < weights.size(); ++i) {
    EXPECT_LT((weights[i] - weights[0]).abs().max().item<double>(), 1e-5);
    for (size_t m = 0; m < metrics[0].size(); ++m)
      EXPECT_NEAR(metrics[i][m].second, metrics[0][m].second, 1e-4) << metrics[0][m].first;
  }
}

}  // namespace
}  // namespace reverie
