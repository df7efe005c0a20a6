#include "controller/agents/regal.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

}  // namespace

struct Regal::Graph {
  explicit Graph(Evaluator& one)
      : evaluator(&one), features(one.simulator()), layout(one.graph(), one.topology().size()) {}

  Evaluator* evaluator;
  NodeFeatures features;
  GeneLayout layout;
  double plain = 0;  ///< the cost that BRKGA reaches alone; 0: not known yet
};

struct Regal::Samples {
  std::vector<torch::Tensor> means, variances;  ///< by sample: int64 [genes]
  torch::Tensor advantages;                     ///< [samples]; undefined where they are all equal
};

Regal::Regal(int devices, uint64_t seed, const RegalOptions& options, const RegalSizes& sizes)
    : devices_(devices),
      options_(options),
      rng_(Rng(seed).fork(1)),
      network_(devices, options.edges, sizes) {
  Rng weights = Rng(seed).fork(0);
  draw_weights(*network_, weights);
  network_->begin_in_the_middle();
  adam_ = std::make_unique<torch::optim::Adam>(network_->parameters(),
                                               torch::optim::AdamOptions(options.rate));
}

GeneBias Regal::bias_of(const torch::Tensor& means, const torch::Tensor& variances,
                        int affinities) const {
  const auto mean = means.accessor<int64_t, 1>(), variance = variances.accessor<int64_t, 1>();
  GeneBias bias;
  for (int64_t gene = 0; gene < mean.size(0); ++gene) {
    const bool decided = gene < affinities ? options_.placement : options_.scheduling;
    const QuantisedBeta one =
        decided ? QuantisedBeta(mean[gene], variance[gene])
                : QuantisedBeta(QuantisedBeta::kMiddleMean, QuantisedBeta::kMiddleVariance);
    bias.alpha.push_back(one.alpha);
    bias.beta.push_back(one.beta);
  }
  return bias;
}

double Regal::search(Evaluator& evaluator, const GeneBias& bias) {
  Evaluator part(evaluator.graph(), evaluator.topology(), evaluator.objective(),
                 part_of(evaluator, options_.evaluations));
  part.measure_by(evaluator.measure());
  brkga(part, options_.brkga, bias, Rng(rng_.bits()));
  evaluator.evaluate(part.best(), Dispatch::kInOrder);
  evaluator.charge(part.evaluations() - 1);
  return part.cost(part.best_outcome());
}

Regal::Samples Regal::draw(Graph& graph) {
  Evaluator& evaluator = *graph.evaluator;
  if (graph.plain == 0) graph.plain = std::max(1.0, search(evaluator, {}));
  const torch::NoGradGuard guard;
  const RegalNetworkImpl::Logits logits = network_->forward(graph.features);
  Samples samples;
  std::vector<float> rewards;
  while (std::ssize(rewards) < options_.samples && !evaluator.spent()) {
    const auto means = draw_actions(logits.means, rng_);
    const auto variances = draw_actions(logits.variances, rng_);
    const double cost = search(evaluator, bias_of(means, variances, graph.layout.priority(0)));
    if (evaluator.spent()) break;  // the search may have been cut short
    samples.means.push_back(means);
    samples.variances.push_back(variances);
    rewards.push_back(static_cast<float>(-cost / graph.plain));
  }
  samples.advantages = standardised(rewards);
  return samples;
}

torch::Tensor Regal::loss(const Graph& graph, const Samples& samples, double entropy) {
  const RegalNetworkImpl::Logits logits = network_->forward(graph.features);
  const int64_t first = options_.placement ? 0 : graph.layout.priority(0);
  const int64_t end = options_.scheduling ? graph.layout.genes() : graph.layout.priority(0);
  const auto decided = [&](const torch::Tensor& of_genes) { return of_genes.slice(0, first, end); };
  torch::Tensor sum = torch::zeros({});
  for (size_t i = 0; i < samples.means.size(); ++i) {
    const auto log_p = decided(log_probability(logits.means, samples.means[i])).mean() +
                       decided(log_probability(logits.variances, samples.variances[i])).mean();
    sum = sum - samples.advantages[static_cast<int64_t>(i)] * log_p;
  }
  return sum / static_cast<double>(samples.means.size()) -
         entropy * (mean_entropy(decided(logits.means)) + mean_entropy(decided(logits.variances)));
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
  clipped_step(*adam_, kGradientNorm);
}

void Regal::learn(std::span<Evaluator* const> evaluators) {
  const auto batch = static_cast<size_t>(options_.batch);
  in_batches<Graph>(evaluators, devices_, batch, [&](auto graphs) { update(graphs); });
}

GeneBias Regal::likeliest(const Simulator& simulator) {
  const OneThread one_thread;
  const torch::NoGradGuard guard;
  const RegalNetworkImpl::Logits logits = network_->forward(NodeFeatures(simulator));
  const GeneLayout layout(simulator.graph(), devices_);
  return bias_of(logits.means.argmax(-1), logits.variances.argmax(-1), layout.priority(0));
}

void Regal::place(Evaluator& evaluator) {
  require_devices(evaluator, devices_);
  const GeneBias bias = likeliest(evaluator.simulator());
  brkga(evaluator, options_.brkga, bias, Rng(rng_.bits()));
}

}  // namespace reverie
