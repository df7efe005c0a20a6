#include "controller/agents/regal.h"

#include <algorithm>
#include <cmath>

#include "controller/agents/categorical.h"
#include "controller/agents/initial_weights.h"
#include "controller/agents/placed_groups.h"
#include "controller/agents/rewards.h"
#include "controller/train/descend.h"

namespace reverie {
namespace {

constexpr double kGradientNorm = 1;

/// What is left of the budget, at most `evaluations`.
EvaluationBudget part_of(const Evaluator& evaluator, int64_t evaluations) {
  EvaluationBudget budget = evaluator.budget();
  if (budget.evaluations > 0)
    evaluations = std::min(evaluations, budget.evaluations - evaluator.evaluations());
  budget.evaluations = evaluations;
  if (budget.seconds > 0) budget.seconds = std::max(1e-9, budget.seconds - evaluator.seconds());
  return budget;
}

/// Of the numbers of classes, by logits [genes, classes]: double [genes].
torch::Tensor mean_class(const torch::Tensor& logits) {
  const auto shares = logits.to(torch::kDouble).softmax(-1);
  return (shares * torch::arange(shares.size(-1), torch::kDouble)).sum(-1);
}

}  // namespace

struct Regal::Graph {
  explicit Graph(Evaluator& one)
      : evaluator(&one),
        features(one.simulator()),
        usual(pipeline_bias(one.simulator(), one.objective())) {}

  Evaluator* evaluator;
  NodeFeatures features;
  GeneBias usual;
};

struct Regal::Samples {
  std::vector<torch::Tensor> means, variances;  ///< by sample: int64 [genes]
  torch::Tensor advantages;                     ///< [samples]; undefined where they are all equal
};

Regal::Regal(int devices, uint64_t seed, const RegalOptions& options, const RegalSizes& sizes)
    : devices_(devices), options_(options), rng_(Rng(seed).fork(1)), network_(devices, sizes) {
  Rng weights = Rng(seed).fork(0);
  draw_weights(*network_, weights);
  network_->begin_in_the_middle();
  adam_ = std::make_unique<torch::optim::Adam>(network_->parameters(),
                                               torch::optim::AdamOptions(options.rate));
}

GeneBias Regal::bias_of(const Graph& graph, const torch::Tensor& means,
                        const torch::Tensor& variances) const {
  const auto of_mean = means.to(torch::kDouble), of_variance = variances.to(torch::kDouble);
  const auto mean = of_mean.accessor<double, 1>(), variance = of_variance.accessor<double, 1>();
  GeneBias bias = graph.usual;
  for (int64_t gene = 0; gene < mean.size(0); ++gene) {
    double &alpha = bias.alpha[static_cast<size_t>(gene)],
           &beta = bias.beta[static_cast<size_t>(gene)];
    const Beta one = changed({alpha, beta}, {mean[gene], variance[gene]});
    alpha = one.alpha;
    beta = one.beta;
  }
  return bias;
}

double Regal::search(Evaluator& evaluator, const GeneBias& bias, uint64_t seed) {
  Evaluator part(evaluator.graph(), evaluator.topology(), evaluator.objective(),
                 part_of(evaluator, options_.evaluations));
  part.measure_by(evaluator.measure());
  brkga(part, options_.brkga, bias, Rng(seed));
  evaluator.evaluate(part.best(), Dispatch::kInOrder);
  evaluator.charge(part.evaluations() - 1);
  return part.cost(part.best_outcome());
}

Regal::Samples Regal::draw(Graph& graph) {
  Evaluator& evaluator = *graph.evaluator;
  const torch::NoGradGuard guard;
  const RegalNetworkImpl::Logits logits = network_->forward(graph.features);
  const uint64_t seed = rng_.bits();
  Samples samples;
  std::vector<float> rewards;
  while (std::ssize(rewards) < options_.samples && !evaluator.spent()) {
    const auto means = draw_actions(logits.means, rng_);
    const auto variances = draw_actions(logits.variances, rng_);
    const double cost = search(evaluator, bias_of(graph, means, variances), seed);
    if (evaluator.spent()) break;  // the search may have been cut short
    samples.means.push_back(means);
    samples.variances.push_back(variances);
    rewards.push_back(static_cast<float>(-cost));
  }
  samples.advantages = standardised(rewards);
  return samples;
}

torch::Tensor Regal::loss(const Graph& graph, const Samples& samples, double entropy) {
  const RegalNetworkImpl::Logits logits = network_->forward(graph.features);
  torch::Tensor sum = torch::zeros({});
  for (size_t i = 0; i < samples.means.size(); ++i) {
    const auto log_p = log_probability(logits.means, samples.means[i]).mean() +
                       log_probability(logits.variances, samples.variances[i]).mean();
    sum = sum - samples.advantages[static_cast<int64_t>(i)] * log_p;
  }
  return sum / static_cast<double>(samples.means.size()) -
         entropy * (mean_entropy(logits.means) + mean_entropy(logits.variances));
}

void Regal::update(std::span<Graph> graphs) {
  adam_->zero_grad();
  bool learned = false;
  for (Graph& graph : graphs) {
    if (graph.evaluator->spent()) continue;
    const Samples samples = draw(graph);
    if (!samples.advantages.defined()) continue;
    const double entropy = options_.entropy * (1 - graph.evaluator->used());
    (loss(graph, samples, entropy) / static_cast<double>(graphs.size())).backward();
    learned = true;
  }
  if (!learned) return;
  adam_->param_groups()[0].options().set_lr(options_.rate * (1 - graphs.front().evaluator->used()));
  clipped_step(*adam_, kGradientNorm);
}

void Regal::learn(std::span<Evaluator* const> evaluators) {
  const auto batch = static_cast<size_t>(options_.batch);
  in_batches<Graph>(evaluators, devices_, batch, [&](auto graphs) { update(graphs); });
}

GeneBias Regal::expected(Evaluator& evaluator) {
  const OneThread one_thread;
  const torch::NoGradGuard guard;
  const Graph graph(evaluator);
  const RegalNetworkImpl::Logits logits = network_->forward(graph.features);
  return bias_of(graph, mean_class(logits.means), mean_class(logits.variances));
}

void Regal::place(Evaluator& evaluator) {
  require_devices(evaluator, devices_);
  brkga(evaluator, options_.brkga, expected(evaluator), Rng(rng_.bits()));
}

}  // namespace reverie
